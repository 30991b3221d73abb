"""Bounds of new rows: whatever they are, they never hide a conflict that is real.

A statement L reads. Then W, which is no blind append, commits new rows. If the condition of L holds
for one of them, as the ledger's own scan says, L must lose at WriteSerializable.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.errors import ConflictError, LedgerError
from ledger.properties.column_lists import CONFLICTS
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from ledger.work.merge_clauses import MergeClause
from tests.tables.lake import Lake
from tests.tables.laws.row_values import TOLD, VALUES, WEIGHTS, WIDER, Columns, Drawing, exact

NAME: Final = "db.bounds"
ZONES: Final = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati")
BASE: Final = 40
PAIRS: Final = 6


class Column(NamedTuple):
    """A column of the table that is hunted in."""

    name: str
    type: str


class BoundHunt:
    """A table, and pairs of statements that read the same version of it.

    `steps` says in words what was done; `outcomes` counts what became of the pairs.
    """

    def __init__(
        self, memory: InMemoryLedger, folder: Path, seed: int, *, rows: str = "marks"
    ) -> None:
        self.rng = rng = Random(seed)  # noqa: S311 - a hunt must come back from its seed
        self.draw = Drawing(rng)
        self.folder = folder
        self.steps: list[str] = []
        self.outcomes: Counter[str] = Counter()
        zones = [rng.choice(ZONES) for _ in range(2)]
        self.one: Ledger
        self.other: Ledger
        self.one, self.other = (memory.connect(time_zone=zone) for zone in zones)
        kinds = rng.choices(list(VALUES), [WEIGHTS.get(each, 1) for each in VALUES], k=2)
        kinds.append(rng.choice(kinds))
        self.columns = {f"c{at}": kind for at, kind in enumerate(kinds)}
        by = ["c0"] if rng.random() < 0.25 and kinds[0] != "string" else []
        columns = [("tag", "string"), *self.columns.items()]
        properties = {
            "lakeledger.rows": rows,
            "delta.isolationLevel": "WriteSerializable",
            "delta.columnMapping.mode": "name",
        }
        told = [name for name, kind in self.columns.items() if kind in TOLD and name not in by]
        if told and rng.random() < 0.5:
            # Then every new row tells them, also where no condition names them.
            properties[CONFLICTS] = ", ".join(told)
        self.one.create_table(
            NAME, columns, partition_columns=by, location=folder, properties=properties
        )
        self.steps.append(f"create {columns} by {by}, zones {zones}")
        self.one.append(NAME, [self.row("base") for _ in range(BASE)])
        self._alter(by)

    def _alter(self, by: Sequence[str]) -> None:
        """Rename a column, and widen one; then add rows under the new definition."""
        definition = self.one.table(NAME).definition
        new: dict[str, Column] = {}
        for name, kind in self.columns.items():
            is_wider = kind in WIDER and self.rng.random() < 0.3 and name not in by
            now = f"`n {name}`" if self.rng.random() < 0.2 else name
            new[name] = Column(now, WIDER[kind] if is_wider else kind)
        columns = [
            column._replace(name=new[column.name].name.strip("`"), type=new[column.name].type)
            if column.name in new
            else column
            for column in definition.columns
        ]
        by = [new[each].name.strip("`") for each in by]
        self.one.alter_table(NAME, definition._replace(columns=columns, partition_columns=by))
        self.columns = {each.name: each.type for each in new.values()}
        self.steps.append(f"now {self.columns}")
        self.one.append(NAME, [self.row("later") for _ in range(4)])

    def row(self, tag: str) -> dict[str, Any]:
        row = {name.strip("`"): self.draw.value(kind) for name, kind in self.columns.items()}
        return {"tag": tag, **row}

    def play(self) -> None:
        for number in range(PAIRS):
            self._pair(number)

    def _pair(self, number: int) -> None:
        """Let one statement read, another commit, and the first one commit."""
        rng = self.rng
        count = 1 if rng.random() < 0.6 else len(self.columns)
        chosen = rng.sample(list(self.columns), k=count)
        columns = {name: self.columns[name] for name in chosen}
        tag = f"w{number}"
        loser, winner = self.one.begin(), self.other.begin()
        lines = [f"pair {number}"]
        try:
            held = rng.choice(LOSERS)(self, loser, columns, lines)
            rng.choice(WINNERS)(self, winner, columns, tag, lines)
        except (ValueError, LedgerError):
            # Not every condition can be computed on rows, and two rows may meet one in a merge.
            self.outcomes["refused"] += 1
            loser.abort()
            winner.abort()
            return
        # What it only matched would leave the loser without any change.
        loser.insert(NAME, [self.row("l")])
        self.steps += lines
        winner.commit()
        version = self.one.table(NAME).version
        met = [each for each in held if self._meets(each, tag, version)]
        try:
            loser.commit()
        except ConflictError as error:
            self.outcomes["lost, and met" if met else "lost, and did not meet"] += 1
            self.steps.append(f"loses: {type(error).__name__}")
            return
        self.outcomes["committed"] += 1
        assert not met, f"{met[0]} holds for a row of {tag}, and both committed"

    def _meets(self, where: str, tag: str, version: int) -> bool:
        text = f"({where}) AND tag = '{tag}'"
        return self.one.scan(NAME, text, version=version).count() > 0

    def depth(self, columns: Columns) -> int:
        """Return how deep a condition may go: one column is mostly tested once."""
        return 2 if len(columns) > 1 or self.rng.random() < 0.3 else 0

    def keys(self, columns: Columns) -> tuple[str, str]:
        """Return a column to join by, and the comparison."""
        return self.rng.choice(list(columns)), self.rng.choice(["=", "=", "=", "<=>"])

    def source(self, tag: str) -> list[dict[str, Any]]:
        return [self.row(tag) for _ in range(self.rng.randint(1, 3))]


Loser = Callable[[BoundHunt, Transaction, Columns, list[str]], Sequence[str]]
Winner = Callable[[BoundHunt, Transaction, Columns, str, list[str]], None]


def deletes(hunt: BoundHunt, txn: Transaction, columns: Columns, said: list[str]) -> Sequence[str]:
    where = hunt.draw.condition(columns, hunt.depth(columns))
    said.append(f"L deletes where {where}")
    txn.delete(NAME, where)
    return [where]


def updates(hunt: BoundHunt, txn: Transaction, columns: Columns, said: list[str]) -> Sequence[str]:
    where = hunt.draw.condition(columns, hunt.depth(columns))
    said.append(f"L updates where {where}")
    txn.update(NAME, {"tag": "'l'"}, where)
    return [where]


def overwrites(
    hunt: BoundHunt, txn: Transaction, columns: Columns, said: list[str]
) -> Sequence[str]:
    where = hunt.draw.condition(columns, hunt.depth(columns))
    said.append(f"L overwrites where {where}")
    txn.overwrite(NAME, [], where)
    return [where]


def merges(hunt: BoundHunt, txn: Transaction, columns: Columns, said: list[str]) -> Sequence[str]:
    """Merge rows of a source; a target row meets it where the keys are equal."""
    (key, sign), source = hunt.keys(columns), hunt.source("l")
    plain = key.strip("`")
    source = list({repr(row[plain]): row for row in source}.values())
    said.append(f"L merges {source} on {key} {sign}")
    txn.merge(
        NAME,
        typed(hunt, source),
        f"target.{key} {sign} source.{key}",
        clauses=[MergeClause.delete(), MergeClause.insert()],
    )
    kind = hunt.columns[key]
    return [f"{key} {sign} {exact(row[plain], kind)}" for row in source]


def typed(hunt: BoundHunt, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows with the types of the table, so that NULL alone has one too."""
    schema = hunt.one.scan(NAME).schema
    import pyarrow as pa  # noqa: PLC0415 - only here

    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def winner_updates(
    hunt: BoundHunt, txn: Transaction, columns: Columns, tag: str, said: list[str]
) -> None:
    """Give some rows other values."""
    rng = hunt.rng
    where = hunt.draw.condition(columns, hunt.depth(columns) // 2)
    names = rng.sample(list(hunt.columns), k=rng.randint(0, len(hunt.columns)))
    if rng.random() < 0.7:
        names = list(columns)
    sets: dict[str, Any] = {
        name.strip("`"): exact(hunt.draw.value(hunt.columns[name]), hunt.columns[name])
        for name in names
    }
    said.append(f"W updates {sets} where {where}")
    txn.update(NAME, {"tag": f"'{tag}'", **sets}, where)


def winner_merges(
    hunt: BoundHunt, txn: Transaction, columns: Columns, tag: str, said: list[str]
) -> None:
    """Insert the rows of a source that meet nothing, and update the others."""
    key, sign = hunt.keys(columns)
    source = list({repr(row[key.strip("`")]): row for row in hunt.source(tag)}.values())
    said.append(f"W merges {source} on {key} {sign}")
    txn.merge(
        NAME,
        typed(hunt, source),
        f"target.{key} {sign} source.{key}",
        when_matched_update=True,
        when_not_matched_insert=True,
    )


def winner_overwrites(
    hunt: BoundHunt, txn: Transaction, columns: Columns, tag: str, said: list[str]
) -> None:
    """Put rows in the place of those that are equal in one column."""
    name = hunt.rng.choice(list(columns))
    rows = hunt.source(tag)
    value = rows[0][name.strip("`")]
    where = f"{name} <=> {exact(value, hunt.columns[name])}"
    rows = [{**row, name.strip("`"): value} for row in rows]
    said.append(f"W overwrites by {rows} where {where}")
    txn.overwrite(NAME, typed(hunt, rows), where)


def winner_updates_and_adds_files(
    hunt: BoundHunt, txn: Transaction, columns: Columns, tag: str, said: list[str]
) -> None:
    """Change rows, and add files of another program, of whose rows nothing is known."""
    winner_updates(hunt, txn, columns, tag, said)
    rows = hunt.source(tag)
    said.append(f"W adds files of {rows}")
    txn.add_files(NAME, Lake(hunt.one, hunt.folder).files(NAME, rows))


def winner_reads_and_inserts(
    hunt: BoundHunt, txn: Transaction, columns: Columns, tag: str, said: list[str]
) -> None:
    """Insert rows after a scan, so that it is no blind append."""
    where = hunt.draw.condition(columns, hunt.depth(columns) // 2)
    rows = hunt.source(tag)
    said.append(f"W scans {where} and inserts {rows}")
    txn.scan(NAME, where).count()
    txn.insert(NAME, typed(hunt, rows))


LOSERS: Final[Sequence[Loser]] = (deletes, deletes, updates, overwrites, merges)
WINNERS: Final[Sequence[Winner]] = (
    winner_updates,
    winner_updates,
    winner_merges,
    winner_overwrites,
    winner_reads_and_inserts,
    winner_updates_and_adds_files,
)


def hunt_bounds(folder: Path, seed: int, *, rows: str = "marks") -> Counter[str]:
    """Play the pairs of a seed, and return what became of them."""
    with InMemoryLedger() as memory:
        hunt = BoundHunt(memory, folder, seed, rows=rows)
        try:
            hunt.play()
        except BaseException as error:
            steps = "\n  ".join(hunt.steps)
            error.add_note(f"bounds of seed {seed}, {rows}:\n  {steps}")
            raise
    return hunt.outcomes
