"""Procedures: `CALL ledger.system.history('db.sales')`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from spark_sink.catalog import reports
from spark_sink.catalog.read.metadata_tables import CONFLICTS, HISTORY, Columns, Rows, answer
from spark_sink.catalog.session.open_statements import CatalogState, Question, unsupported
from spark_sink.catalog.write import maintenance

SYSTEM: Final = "system"
TABLE: Final = ("table", "string", False)


class Procedure(NamedTuple):
    """A procedure: its parameters as (name, type, whether it may be left out), and what it does.

    Without `columns` the rows come with theirs.
    """

    description: str
    parameters: Sequence[tuple[str, str, bool]]
    columns: Columns | None
    run: Callable[..., Any]


PROCEDURES: Final[Mapping[str, Procedure]] = {
    "history": Procedure(
        "The versions of a table, newest first.", [TABLE], HISTORY, reports.history
    ),
    "conflicts": Procedure(
        "The commits that lost to an earlier commit, of a table or of all tables.",
        [("table", "string", True)],
        CONFLICTS,
        reports.conflicts,
    ),
    "explain_conflict": Procedure(
        "Why a txn lost.", [("txn", "bigint", False)], reports.EXPLAINED, reports.explain_conflict
    ),
    "changes": Procedure(
        "The rows that the commits after a version have changed.",
        [TABLE, ("after", "bigint", True), ("until", "bigint", True)],
        None,
        reports.changes,
    ),
    "optimize": Procedure(
        "Puts the rows of small files into larger ones.",
        [TABLE, ("where", "string", True), ("target_bytes", "bigint", True)],
        (("files_removed", "bigint"), ("files_added", "bigint")),
        maintenance.optimize,
    ),
    "vacuum": Procedure(
        "Deletes the files that no reader needs, of a table or of the whole catalog.",
        [("table", "string", True), ("older_than_h", "double", True), ("dry_run", "boolean", True)],
        (("path", "string"), ("size", "bigint")),
        maintenance.vacuum,
    ),
    "rollback_to_version": Procedure(
        "Gives a table the rows that it had at a version, by a new version.",
        [TABLE, ("version", "bigint", False)],
        (("files_removed", "bigint"), ("files_added", "bigint")),
        maintenance.rollback_to_version,
    ),
}


def names(*_: Any) -> Sequence[str]:
    """Answer which procedures there are."""
    return sorted(PROCEDURES)


def find(asked: Question) -> tuple[str, Procedure]:
    """Return the procedure of a question; raises Refusal for an unknown one."""
    name = str(asked["name"]).lower().removeprefix(f"{SYSTEM}.")
    found = PROCEDURES.get(name)
    if found is None:
        raise unsupported(
            f"there is no procedure {asked['name']}: the procedures are "
            f"{', '.join(f'{SYSTEM}.{procedure}' for procedure in sorted(PROCEDURES))}"
        )
    return name, found


def describe(_: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer what a procedure takes."""
    name, found = find(asked)
    return {
        "name": name,
        "description": found.description,
        "parameters": [
            {"name": each, "type": kind, "nullable": is_optional}
            for each, kind, is_optional in found.parameters
        ],
    }


def call(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Run a procedure and answer its rows."""
    name, found = find(asked)
    given = dict(
        zip((parameter[0] for parameter in found.parameters), asked["values"], strict=True)
    )
    made = found.run(state, state.find(asked), given)
    columns: Columns
    rows: Rows
    columns, rows = made if found.columns is None else (found.columns, made)
    return answer(name, columns, rows)
