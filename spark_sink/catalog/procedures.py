"""Procedures: `CALL ledger.system.history('db.sales')`."""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from spark_sink.catalog import reports
from spark_sink.catalog.read.metadata_tables import CONFLICTS, HISTORY, Columns, Rows, answer
from spark_sink.catalog.session import begun_txns
from spark_sink.catalog.session.open_statements import CatalogState, Question, unsupported
from spark_sink.catalog.write import maintenance
from spark_sink.catalog.write.counting import LAST, last_statement
from spark_sink.catalog.write.partition_fields import PARTITIONED, partition_field

SYSTEM: Final = "system"
TABLE: Final = ("table", "string", False)
BEGINS: Final = "begins"
ENDS: Final = "ends"
SCRIPT: Final = "script"


class Procedure(NamedTuple):
    """A procedure: its parameters as (name, type, whether it may be left out), and what it does.

    Without `columns` the rows come with theirs. `txn` says what becomes of the txn of the session:
    it begins, ends, or is that of a script.
    """

    description: str
    parameters: Sequence[tuple[str, str, bool]]
    columns: Columns | None
    run: Callable[..., Any]
    txn: str = ""


PROCEDURES: Final[Mapping[str, Procedure]] = {
    "history": Procedure(
        "The versions of a table, newest first.",
        [TABLE, ("limit", "bigint", True)],
        HISTORY,
        reports.history,
    ),
    "detail": Procedure("What a table is, and how large.", [TABLE], reports.DETAIL, reports.detail),
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
        [
            *(TABLE, ("where", "string", True), ("target_bytes", "bigint", True)),
            ("sort_by", "string", True),
        ],
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
    "rollback_to_timestamp": Procedure(
        "Gives a table the columns and rows that it had at a time, by a new version.",
        [TABLE, ("timestamp", "timestamp", False)],
        (("files_removed", "bigint"), ("files_added", "bigint")),
        maintenance.rollback_to_timestamp,
    ),
    "undrop": Procedure(
        "Brings back a dropped table with its last columns and rows, as a new table.",
        [TABLE],
        (("table", "string"), ("id", "bigint")),
        maintenance.undrop,
    ),
    "partition_field": Procedure(
        "Divides new files by a transform more, by one less, or by one in the place of another.",
        [TABLE, ("add", "string", True), ("drop", "string", True)],
        PARTITIONED,
        partition_field,
    ),
    "last_statement": Procedure(
        "How many rows the last statement of this session changed.", [], LAST, last_statement
    ),
    "begin": Procedure(
        "Opens a transaction, which the statements of this session join.",
        [("level", "string", True)],
        begun_txns.OPENED,
        begun_txns.begin,
        BEGINS,
    ),
    "commit": Procedure(
        "Commits the transaction of this session.",
        [],
        begun_txns.COMMITTED,
        begun_txns.commit,
        ENDS,
    ),
    "rollback": Procedure(
        "Ends the transaction of this session without effect.",
        [],
        begun_txns.OPENED,
        begun_txns.rollback,
        ENDS,
    ),
    "atomic": Procedure(
        "Runs the statements of a script in one transaction.",
        [("script", "string", False)],
        begun_txns.COMMITTED,
        begun_txns.commit,
        SCRIPT,
    ),
}

HELPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rewrite_data_files", "rewrite_manifests"), "optimize"),
    **dict.fromkeys(("expire_snapshots", "remove_orphan_files"), "vacuum"),
    **dict.fromkeys(("rollback_to_snapshot", "set_current_snapshot"), "rollback_to_version"),
    **dict.fromkeys(("create_changelog_view", "table_changes"), "changes"),
    "ancestors_of": "history",
}
"""Procedures of Iceberg and functions of Delta, and what does their work here."""


def names(*_: Any) -> Sequence[str]:
    """Answer which procedures there are."""
    return sorted(PROCEDURES)


def find(asked: Question) -> tuple[str, Procedure]:
    """Return the procedure of a question; raises Refusal for an unknown one."""
    name = str(asked["name"]).lower().removeprefix(f"{SYSTEM}.")
    found = PROCEDURES.get(name)
    if found is None:
        help_ = f"; {SYSTEM}.{HELPS[name]} does that here" if name in HELPS else ""
        raise unsupported(
            f"there is no procedure {asked['name']}{help_}: the procedures are "
            f"{', '.join(f'{SYSTEM}.{procedure}' for procedure in sorted(PROCEDURES))}"
        )
    return name, found


def describe(_: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer what a procedure takes."""
    name, found = find(asked)
    return {
        "name": name,
        "description": found.description,
        "txn": found.txn,
        "parameters": [
            {"name": each, "type": kind, "nullable": is_optional}
            for each, kind, is_optional in found.parameters
        ],
    }


def call(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Run a procedure and answer its rows."""
    name, found = find(asked)
    names = [parameter[0] for parameter in found.parameters]
    given = {**dict(zip_longest(names, asked["values"])), "session": asked.get("session")}
    made = found.run(state, state.find(asked), given)
    columns: Columns
    rows: Rows
    columns, rows = made if found.columns is None else (found.columns, made)
    answered = answer(name, columns, rows)
    if found.txn == BEGINS:
        return {**answered, "key": begun_txns.key_of(state, rows)}
    return answered
