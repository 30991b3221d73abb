"""The read routes of a Unity Catalog, by which an engine attaches a whole ledger at once.

Their answers are loaded with the first request: they need an extra that a follower may lack.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from ledger.errors import SettingsError
from ledger.reads.port import Reads
from projections.web.asked import Asked
from projections.web.questions import GET, Ask, Question, whole

UNITY_PATH: Final = "/api/2.1/unity-catalog"
ANSWERS: Final = "projections.web.unity_answers"


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


UNITY_QUESTIONS: Final[Sequence[Question[Reads]]] = tuple(
    Question(path, answered_by(name), methods, whole, UNITY_PATH)
    for path, name, methods in (
        ("/catalogs", "catalogs", GET),
        ("/catalogs/{named}", "catalog", GET),
        ("/schemas", "schemas", GET),
        ("/schemas/{named:path}", "schema", GET),
        ("/tables", "tables", GET),
        ("/tables/{named:path}", "table", GET),
        ("/temporary-table-credentials", "credentials", ("POST",)),
    )
)
