"""Explains a conflict: the winner, its time, the rule, the unit, the scan, and what helps.

The evidence in the log has tables by id and files by hash; the client adds the names it knows. The
text is for people. The dictionary is for programs, and its keys stay.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from ledger.clock import time_text
from ledger.core.events.parts import Evidence
from ledger.core.partitions.names import partition_values
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.core.predicates.sql_text import sql_of
from ledger.errors import ConflictError, LedgerError
from ledger.reads.port import Reads

RULES: Final[Mapping[str, str]] = {
    "feature_beyond_known": "the winner gave the table a feature that is not known here",
    "protocol_twice": "both change the protocol of the table",
    "replaced_twice": "both create or replace the table",
    "feature_dropped": "the winner changed which features the table has",
    "feature_drop_overtaken": "the loser drops a feature, the winner may have used it",
    "name_claimed": "the winner holds the name that the loser gives",
    "metadata_twice": "both change the metadata of the table",
    "metadata_changed": "the winner changed the table, the loser planned with it as it was before",
    "table_dropped": "the winner dropped the table",
    "domain_twice": "both write one domain of metadata",
    "app_progressed": "the winner recorded progress of an application that the loser looked up",
    "file_added": "the winner added files where the loser read",
    "file_read_removed": "the winner removed a file that the loser read",
    "row_read_changed": "the winner changed a row that the loser matched",
    "row_changed_twice": "both change or delete the same row",
    "file_removed_twice": "both remove the same file",
    "coarse_write_write": "both change or delete rows of the same unit",
}
NAMED_KINDS: Final = frozenset({"file", "partition", "domain", "app"})
ROWS: Final = re.compile(r"rows ([0-9, ]+)(?: and ([0-9]+) more)? of file ([0-9a-f]+)")

PathsOf = Callable[[int, bytes], Sequence[str]]
"""Returns the known paths of a table that have a hash."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A lost conflict in words; `txn` lost (0 = no txn), by the abort at `position`.

    `table` is the table's name, `columns` are its partition columns, `paths` are the paths with the
    hash of the file; each is empty if unknown.
    """

    evidence: Evidence
    txn: int
    position: int
    table: str = ""
    columns: Sequence[str] = ()
    paths: Sequence[str] = ()

    @property
    def path_hash(self) -> bytes:
        """The hash of the file in conflict, b"" if the unit is neither a file nor rows of one."""
        unit = self._unit()
        return bytes.fromhex(unit["name"]) if unit["kind"] in ("file", "rows") else b""

    @property
    def summary(self) -> str:
        """The conflict in two sentences: the winner, the unit, and what helps."""
        winner = self.evidence.winner
        loser = f"txn {self.txn}" if self.txn else "the commit"
        first = f"txn {winner.txn}" if winner.txn else "another change"
        return (
            f"{loser} was aborted: {first} ({winner.operation}) came first, to {self.unit_text} of "
            f"{self._table()}. To go on, {self.evidence.remedy}"
        )

    @property
    def unit_text(self) -> str:
        """The unit in conflict, in words."""
        match self._unit():
            case {"kind": "file" | "rows", "paths": [*paths]} if paths:
                what, _, _ = self.evidence.unit.rpartition(" ")
                return f"{what} {' or '.join(paths)}"
            case {"kind": "partition", "values": dict(values)}:
                texts = (
                    f"{key}={'NULL' if text is None else text}" for key, text in values.items()
                )
                return f"partition {', '.join(texts)}"
            case {"kind": "table"}:
                return "the whole"
            case {"kind": "unpartitioned"}:
                return "the rows"
            case {"kind": "files"}:
                return "files, of which the winner removed too many to tell them apart"
            case _:
                return self.evidence.unit

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation for programs, in types of JSON; times are UTC in ISO 8601."""
        found = self.evidence
        winner = found.winner
        return {
            "rule": found.rule,
            "because": RULES.get(found.rule, ""),
            "level": found.level,
            "loser": {
                "txn": self.txn,
                "operation": found.operation,
                "read_at": found.read_at,
                "position": self.position,
            },
            "winner": {
                "txn": winner.txn,
                "operation": winner.operation,
                "author": winner.author,
                "position": winner.position,
                "at": time_text(winner.at) if winner.at else "",
            },
            "table": {"id": found.table, "name": self.table},
            "unit": self._unit(),
            "predicate": {"tree": found.predicate, "sql": scan_text(found.predicate)},
            "remedy": found.remedy,
        }

    def _lines(self) -> Iterator[str]:
        found = self.evidence
        plan = f"{found.operation or 'a commit'} planned at position {found.read_at}"
        level = f", judged as {found.level}" if found.level else ""
        because = RULES.get(found.rule)
        yield f"{found.exception}: {f'txn {self.txn}' if self.txn else 'the commit'} lost"
        yield f"  to      {self._winner()}"
        yield f"  over    {self._table()}, {self.unit_text}"
        if found.predicate:
            yield f"  scan    {scan_text(found.predicate)}"
        yield f"  with    {plan}{level}"
        yield f"  by rule {found.rule}{f': {because}' if because else ''}"
        yield f"  helps   {found.remedy}"

    def _winner(self) -> str:
        winner = self.evidence.winner
        who = f"txn {winner.txn}" if winner.txn else "a change outside a txn"
        author = f" by {winner.author}" if winner.author else ""
        where = f" at position {winner.position}" if winner.position else ""
        at = f", {time_text(winner.at)}" if winner.at else ""
        return f"{who}: {winner.operation}{author}{where}{at}"

    def _table(self) -> str:
        number = f"table {self.evidence.table}"
        return f"{number} {self.table}" if self.table else number

    def _unit(self) -> dict[str, Any]:
        """Return the unit in conflict: its kind, and its name."""
        if rows := ROWS.fullmatch(self.evidence.unit):
            numbers, more, name = rows.groups()
            found = {"rows": [int(each) for each in numbers.split(", ")], "more": int(more or 0)}
            return {"kind": "rows", "name": name, **found, "paths": list(self.paths)}
        kind, _, rest = self.evidence.unit.partition(" ")
        if kind not in NAMED_KINDS:
            return {"kind": self.evidence.unit}
        unit: dict[str, Any] = {"kind": kind, "name": rest}
        if kind == "file":
            unit["paths"] = list(self.paths)
        values = partition_values(rest) if kind == "partition" else None
        if values is not None and len(values) == len(self.columns):
            unit["values"] = dict(zip(self.columns, values, strict=True))
        return unit


def name_conflict(error: ConflictError, open_reads: Callable[[], Reads], paths_of: PathsOf) -> None:
    """Add names to a conflict: of the table, of its partition columns, of the file.

    Names come from `paths_of`, which the loser knows, else from the read model. Names are optional:
    if they cannot be read now, the numbers stay.
    """
    found = error.explanation
    if not isinstance(found, Explanation):
        return
    number = found.evidence.table
    if found.path_hash:
        found = replace(found, paths=paths_of(number, found.path_hash))
    with suppress(LedgerError):
        reads = open_reads()
        row = reads.table(number)
        if row is not None:
            name, columns = f"{row.catalog}.{row.name}", row.definition.partition_columns
            found = replace(found, table=name, columns=columns)
        if found.path_hash and not found.paths:
            found = replace(found, paths=reads.file_paths(number, found.path_hash))
    error.explanation, error.args = found, (found.summary,)


def name_of(reads: Reads, table: int) -> str:
    """Return the name of a table with its catalog, or its id if the table is not known."""
    row = reads.table(table)
    return f"{row.catalog}.{row.name}" if row is not None else str(table)


def explanation(reads: Reads, evidence: Evidence, txn: int, position: int) -> Explanation:
    """Return in words how a txn (0 for a one-shot) lost at a position, with names of tables."""
    table = evidence.table
    then = reads.definition(table, position)
    explained = Explanation(
        evidence,
        txn,
        position,
        table=name_of(reads, table),
        columns=then.partition_columns if then is not None else (),
    )
    if not explained.path_hash:
        return explained
    return replace(explained, paths=reads.file_paths(table, explained.path_hash))


def scan_text(predicate: str) -> str:
    """Return a predicate as SQL; a scan without a condition is "the whole table"."""
    return "the whole table" if predicate == TRUE_PREDICATE else sql_of(predicate)
