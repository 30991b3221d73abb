"""The forms of requests and answers of the catalog, as its document says them.

Metadata of tables, updates and requirements are objects here: their forms are those of Iceberg.
"""

from typing import Any, Literal, NotRequired, TypedDict

CatalogConfig = TypedDict(
    "CatalogConfig",
    {
        "defaults": dict[str, str],
        "overrides": dict[str, str],
        "endpoints": list[str],
        "idempotency-key-lifetime": str,
    },
)
CatalogConfig.__doc__ = "What the server has: its paths, and the prefix of them."

NamespaceList = TypedDict(
    "NamespaceList", {"namespaces": list[list[str]], "next-page-token": NotRequired[str]}
)
NamespaceList.__doc__ = "A page of namespaces."


class NamespaceForm(TypedDict):
    """A namespace with its properties."""

    namespace: list[str]
    properties: dict[str, str]


class NamespaceWanted(TypedDict):
    """A namespace to create."""

    namespace: list[str]
    properties: NotRequired[dict[str, str]]


class PropertiesWanted(TypedDict):
    """Properties of a namespace to set and to remove."""

    removals: NotRequired[list[str]]
    updates: NotRequired[dict[str, str]]


class PropertiesAltered(TypedDict):
    """The properties that were set, removed, and not there."""

    updated: list[str]
    removed: list[str]
    missing: list[str]


class IdentifierForm(TypedDict):
    """A table by its namespace and its name."""

    namespace: list[str]
    name: str


TableList = TypedDict(
    "TableList", {"identifiers": list[IdentifierForm], "next-page-token": NotRequired[str]}
)
TableList.__doc__ = "A page of the tables in a namespace."

LoadedTable = TypedDict(
    "LoadedTable",
    {
        "metadata-location": NotRequired[str],
        "metadata": dict[str, Any],
        "config": NotRequired[dict[str, str]],
    },
)
LoadedTable.__doc__ = "The metadata of a table, and the file with it unless it is a staged one."

TableWanted = TypedDict(
    "TableWanted",
    {
        "name": str,
        "location": NotRequired[str],
        "schema": dict[str, Any],
        "partition-spec": NotRequired[dict[str, Any]],
        "write-order": NotRequired[dict[str, Any]],
        "stage-create": NotRequired[bool],
        "properties": NotRequired[dict[str, str]],
    },
)
TableWanted.__doc__ = "A table to create at once or, staged, with a later commit."


class TableChanged(TypedDict):
    """What must hold of a table, and what changes then."""

    identifier: NotRequired[IdentifierForm]
    requirements: list[dict[str, Any]]
    updates: list[dict[str, Any]]


class NamedTableChanged(TypedDict):
    """What must hold of a named table, and what changes then."""

    identifier: IdentifierForm
    requirements: list[dict[str, Any]]
    updates: list[dict[str, Any]]


TablesChanged = TypedDict("TablesChanged", {"table-changes": list[NamedTableChanged]})
TablesChanged.__doc__ = "Changes of several tables that happen together or not at all."


class RenameWanted(TypedDict):
    """The name of a table, and its new one."""

    source: IdentifierForm
    destination: IdentifierForm


MetricsReport = TypedDict("MetricsReport", {"report-type": Literal["scan-report", "commit-report"]})
MetricsReport.__doc__ = "The report of a client about a scan or a commit."

ScanWanted = TypedDict(
    "ScanWanted",
    {
        "snapshot-id": NotRequired[int],
        "select": NotRequired[list[str]],
        "filter": NotRequired[Any],
        "case-sensitive": NotRequired[bool],
        "use-snapshot-schema": NotRequired[bool],
        "start-snapshot-id": NotRequired[int],
        "end-snapshot-id": NotRequired[int],
    },
)
ScanWanted.__doc__ = "A scan whose files are wanted."

PlannedScan = TypedDict(
    "PlannedScan",
    {
        "status": str,
        "file-scan-tasks": NotRequired[list[dict[str, Any]]],
        "delete-files": NotRequired[list[dict[str, Any]]],
        "plan-tasks": NotRequired[list[str]],
    },
)
PlannedScan.__doc__ = "The files that a scan reads."

TableRegistered = TypedDict(
    "TableRegistered", {"name": str, "metadata-location": str, "overwrite": NotRequired[bool]}
)
TableRegistered.__doc__ = "A table of another catalog by its metadata file."


class ErrorText(TypedDict):
    """The text of an error, its name and its status."""

    message: str
    type: str
    code: int


class IcebergError(TypedDict):
    """What each refusal has in its body."""

    error: ErrorText
