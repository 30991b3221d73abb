"""The read routes of a Unity Catalog, by which an engine attaches a whole ledger at once.

Their answers are loaded with the first request: they need an extra that a follower may lack.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from ledger.errors import SettingsError
from ledger.reads.port import Reads
from projections.web.answers.asked import Asked
from projections.web.answers.questions import GET, Ask, Question, size_whole
from projections.web.answers.unity_forms import (
    CredentialsWanted,
    UnityCatalog,
    UnityCatalogs,
    UnityCredentials,
    UnitySchema,
    UnitySchemas,
    UnityTableForm,
    UnityTables,
)

UNITY_PATH: Final = "/api/2.1/unity-catalog"
ANSWERS: Final = "projections.web.answers.unity_answers"
PAGING: Final = ("max_results", "page_token")
"""The parameters of a list; other parameters must be given."""


class UnityRoute(NamedTuple):
    """A path below `UNITY_PATH`, the function that answers, and the form of its answer.

    A request with a body is a `POST`.
    """

    path: str
    name: str
    kind: type
    parameters: Sequence[str] = ()
    body: type | None = None

    @property
    def methods(self) -> Sequence[str]:
        """Return the methods of the path."""
        return GET if self.body is None else ("POST",)


def answered_by(name: str) -> Ask:
    """Return a question that a function of the module of answers answers."""

    def ask(reads: Reads, asked: Asked) -> Any:
        try:
            answers = import_module(ANSWERS)
        except ImportError as problem:
            raise SettingsError(
                f"the routes of a Unity Catalog need {problem.name}, which is not installed beside "
                "this follower. Install it with: pip install 'lakeledger[delta]'"
            ) from problem
        return getattr(answers, name)(reads, asked)

    return ask


UNITY_ROUTES: Final[Sequence[UnityRoute]] = (
    UnityRoute("/catalogs", "catalogs", UnityCatalogs, PAGING),
    UnityRoute("/catalogs/{named}", "catalog", UnityCatalog),
    UnityRoute("/schemas", "schemas", UnitySchemas, ("catalog_name", *PAGING)),
    UnityRoute("/schemas/{named:path}", "schema", UnitySchema),
    UnityRoute("/tables", "tables", UnityTables, ("catalog_name", "schema_name", *PAGING)),
    UnityRoute("/tables/{named:path}", "table", UnityTableForm),
    UnityRoute(
        "/temporary-table-credentials", "credentials", UnityCredentials, body=CredentialsWanted
    ),
)

UNITY_QUESTIONS: Final[Sequence[Question[Reads]]] = tuple(
    Question(route.path, answered_by(route.name), route.methods, size_whole, UNITY_PATH)
    for route in UNITY_ROUTES
)
