"""The reads over HTTP as one table: client, server and the page about HTTP follow from it.

`Reads` declares each read: its parameters, its answer and its text. This table adds the path, names
that differ over HTTP, and what a page of a listing continues from. Three paths have forms of their
own: `/position`, `/reached` and `/metadata`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, Signature, signature
from types import UnionType
from typing import Any, Final, get_args, get_origin

from ledger.reads.port import Reads
from ledger.reads.whole_numbers import LIMIT

WHERE: Final = "where"
"""The name of a condition, which may be long: it is in the query or in the body."""

PLACES: Final = ("version", "position", "at")
"""The parameters that say as of when a read answers; one request names at most one of them."""


@dataclass(frozen=True)
class Route:
    """A path below `/v1` and its read.

    Attributes:
        names: the names over HTTP of parameters that have another one in Python.
        behind: of a listing in pages, the parameters of the next page, and the fields of the last
            row that give their values.
        body: the parameter that a `POST` brings in its body, "" = only a `GET`.
    """

    path: str
    read: Callable[..., Any]
    names: Mapping[str, str] = field(default_factory=dict)
    behind: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @property
    def name(self) -> str:
        """Return the name of the read."""
        return self.read.__name__

    @cached_property
    def signature(self) -> Signature:
        """Return the signature of the read."""
        return signature(self.read)

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """Return the parameters by their names over HTTP."""
        given = list(self.signature.parameters.values())[1:]
        return {self.names.get(each.name, each.name): each for each in given}

    @cached_property
    def kind(self) -> Any:
        """Return the kind of answer; a sequence is a list over HTTP."""
        kind = self.signature.return_annotation
        if isinstance(kind, UnionType):
            kind = get_args(kind)[0]
        return list[get_args(kind)] if get_origin(kind) is Sequence else kind  # type: ignore[misc]

    @property
    def may_list_all(self) -> bool:
        """Return whether all rows are listed without a limit."""
        return LIMIT in self.parameters and not is_required(self.parameters[LIMIT])

    @property
    def may_find_nothing(self) -> bool:
        """Return whether None is an answer."""
        return isinstance(self.signature.return_annotation, UnionType)

    def is_in_path(self, name: str) -> bool:
        """Return whether a parameter is a part of the path."""
        return f"{{{name}}}" in self.path

    @property
    def is_listing(self) -> bool:
        """Return whether rows are listed; a list of texts is short."""
        return get_origin(self.kind) is list and get_args(self.kind) != (str,)

    def next_page(self, last: Any) -> dict[str, Any]:
        """Return the parameters of the page that follows a row, None = the first page."""
        names = self.behind if last is not None else {}
        return {name: getattr(last, of_row) for name, of_row in names.items()}


def is_required(parameter: Parameter) -> bool:
    """Return whether a read cannot be called without a parameter."""
    return parameter.default is Parameter.empty


ROUTES: Final[Sequence[Route]] = (
    Route("/identity", Reads.identity),
    Route("/snapshot", Reads.valid_txns),
    Route("/watermark", Reads.watermark),
    Route("/counts", Reads.counts),
    Route("/history", Reads.history, behind={"after": "position"}),
    Route("/conflicts", Reads.conflicts, behind={"after": "position"}),
    Route("/anomalies", Reads.anomalies),
    Route("/blocks", Reads.blocks),
    Route("/progress", Reads.progress),
    Route("/txns/open", Reads.open_txns),
    Route("/txns/aborted", Reads.aborted_txns),
    Route("/txns/{txn}", Reads.txn),
    Route("/txns/{txn}/conflict", Reads.conflict),
    Route("/sessions/opened-with", Reads.session_of),
    Route("/sessions/{session}", Reads.session),
    Route("/sessions/{session}/outcomes/{n}", Reads.outcome),
    Route("/namespaces", Reads.namespaces),
    Route("/tables", Reads.tables),
    Route("/tables/named", Reads.table_named),
    Route("/tables/newest-versions", Reads.newest_versions),
    Route("/tables/{table}", Reads.table),
    Route("/tables/{table}/definition", Reads.definition),
    Route("/tables/{table}/definitions", Reads.definitions, behind={"after": "position"}),
    Route("/tables/{table}/mappings", Reads.mappings),
    Route("/tables/{table}/valid-write-ids", Reads.write_ids_at),
    Route("/tables/{table}/valid-write-ids", Reads.valid_write_ids, body="txns"),
    Route(
        "/tables/{table}/files",
        Reads.files,
        behind={"path": "path", "vector": "vector"},
        body=WHERE,
    ),
    Route("/tables/{table}/partitions", Reads.partitions, behind={"after": "number"}, body=WHERE),
    Route(
        "/tables/{table}/changes", Reads.file_changes, behind={"first": "version", "place": "place"}
    ),
    Route("/tables/{table}/paths", Reads.file_paths, names={"path_hash": "hash"}),
    Route("/tables/{table}/version", Reads.version_row),
    Route("/tables/{table}/versions", Reads.versions, behind={"below": "version"}),
    Route("/tables/{table}/reads", Reads.table_reads, behind={"below": "position"}),
    Route("/tables/{table}/apps", Reads.apps),
    Route("/tables/{table}/apps/named", Reads.app, names={"app": "name"}),
    Route("/tables/{table}/mark", Reads.table_mark),
    Route("/tables/{table}/released-files", Reads.released_files),
    Route("/tables/{table}/aborted-write-ids", Reads.aborted_write_ids),
    Route("/tables/{table}/protocol", Reads.protocol),
    Route("/tables/{table}/domains", Reads.domains),
)
"""The routes in their order: the first path that fits a request is taken."""

BY_READ: Final[Mapping[str, Route]] = {route.name: route for route in ROUTES}
