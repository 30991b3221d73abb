"""Statements at once over rows of one file: over different rows all commit, over one row only one.

All see the same rows. Their conditions name values of a key column, and rewrites of files that
change no row may come between them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.properties.column_lists import KEY as KEY_PROPERTY
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.tables.laws.model import ModelColumn, TableModel
from tests.tables.laws.statements import (
    Delete,
    Merge,
    ModelClause,
    Optimize,
    Statement,
    Update,
    World,
    counted,
    given,
)
from tests.tables.laws.terms import (
    Term,
    added,
    among,
    column,
    compared,
    conjunction,
    literal,
    negation,
)

NAME: Final = "db.pairs"
LEVELS: Final = ("WriteSerializable", "SnapshotIsolation")
KEY, NUMBER, TEXT, PART = 1, 2, 3, 4
ROWS: Final = (40, 100, 300)


def key_of(kind: str, number: int) -> Any:
    """Return the key of a row; greater numbers have greater keys."""
    match kind:
        case "string":
            return f"a key that is longer than thirty-two letters: {number:06}"
        case "date":
            return date(2024, 1, 1) + timedelta(days=number)
        case "timestamp":
            return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        case "decimal(7,2)":
            return Decimal(number) / 4
        case _:
            return number


KINDS: Final = ("int", "bigint", "string", "date", "timestamp", "decimal(7,2)")
MERGED: Final = KINDS[:4]
"""Types of keys by whose values a merge names what it reads; by others it reads all rows."""

SMALL: Final = 2_000
LARGE: Final = 1 << 28


class Meant(NamedTuple):
    """A statement, and the numbers of the rows that it may match."""

    made: Statement
    numbers: frozenset[int]


class Removal(Delete):
    """All files are removed by their paths, and nothing is said of their rows."""

    def run(self, txn: Transaction, world: World) -> Any:  # noqa: ARG002 - all rows go
        files = txn.read(self.table)
        txn.remove_files(self.table, [file.path for file in files])


class PairHunt:
    """A table of one file, and statements that read the same version of it.

    `steps` says in words what was done; `outcomes` counts what became of the statements.
    """

    def __init__(self, ledger: Ledger, folder: Path, seed: int, *, rows: str = "marks") -> None:
        self.rng = rng = Random(seed)  # noqa: S311 - a hunt must come back from its seed
        self.ledger = ledger
        self.steps: list[str] = []
        self.outcomes: Counter[str] = Counter()
        self.kind, self.size = rng.choice(KINDS), rng.choice(ROWS)
        columns = [("k", self.kind), ("n", "int"), ("s", "string"), ("p", "int")]
        self.model = TableModel([ModelColumn(at, *each) for at, each in enumerate(columns, 1)])
        by = ["p"] if rng.random() < 0.3 else []
        self.level = rng.choice(LEVELS)
        properties = {"lakeledger.rows": rows, "delta.isolationLevel": self.level}
        if rng.random() < 0.3:
            properties[KEY_PROPERTY] = "k"
        ledger.create_table(
            NAME, columns, partition_columns=by, location=folder, properties=properties
        )
        self.steps.append(f"create {columns} by {by}, {self.size} rows, {properties}")
        self.model.put(
            {
                KEY: key_of(self.kind, at),
                NUMBER: at % 5,
                TEXT: rng.choice([None, "x"]),
                PART: at % 2,
            }
            for at in range(self.size)
        )
        ledger.append(NAME, given(list(self.model.rows.values()), self.model, "arrow"))
        self.fresh = self.size

    def play(self, *, must_commit: bool) -> None:
        """Let statements over different rows commit, and then statements that meet."""
        for _ in range(3):
            self._at_once(self._apart(self.rng.randint(2, 4)), must_commit=must_commit)
        for _ in range(2):
            self._at_once(self._meeting(), must_commit=False)
        self._check()
        self._at_once(self._beside_removal(), must_commit=False)
        self._check()

    def _apart(self, count: int) -> list[Meant]:
        """Return statements whose keys differ."""
        sizes = [self.rng.randint(1, 3) for _ in range(count)]
        numbers = self.rng.sample(range(self.size), k=sum(sizes))
        found = []
        for size in sizes:
            found.append(self._statement(frozenset(numbers[:size])))
            numbers = numbers[size:]
        if self.rng.random() < 0.3:
            found.append(self._range({number for each in found for number in each.numbers}))
        if self.rng.random() < 0.4:
            optimize = Optimize(NAME, None, self.rng.choice([SMALL, LARGE]))
            found.insert(self.rng.randint(0, len(found)), Meant(optimize, frozenset()))
        return found

    def _meeting(self) -> list[Meant]:
        """Return statements that may match one row."""
        shared = self.rng.randrange(self.size)
        more = self.rng.sample([each for each in range(self.size) if each != shared], k=3)
        if self.kind in MERGED and self.rng.random() < 0.4:
            return self._leaving(shared, more)
        sets = [frozenset([shared, *more[: self.rng.randint(0, 2)]]) for _ in range(2)]
        return [self._statement(each) for each in sets]

    def _leaving(self, shared: int, more: Sequence[int]) -> list[Meant]:
        """Return a delete, and a merge that may match the row and leave it as it is."""
        keys = [key_of(self.kind, number) for number in (shared, *more)]
        where = compared("<", column(("target", NUMBER)), literal(3))
        clauses = [
            ModelClause("matched", "delete", None, where),
            ModelClause("not_matched", "insert", None, None),
        ]
        made = Merge(NAME, self._source(keys), joined(), clauses, "arrow")
        delete = Delete(NAME, compared("=", column(KEY), literal(keys[0])))
        return [Meant(delete, frozenset([shared])), Meant(made, frozenset([shared, *more]))]

    def _beside_removal(self) -> list[Meant]:
        """Return the removal of all files, as a program has it that knows no rows, and others."""
        numbers = self.rng.sample(range(self.size), k=3)
        every = Meant(Removal(NAME, None), frozenset(range(self.size)))
        several = [every, *(self._statement(frozenset([number])) for number in numbers)]
        self.rng.shuffle(several)
        return several

    def _range(self, taken: set[int]) -> Meant:
        """Return a statement over a range of keys that the others do not have."""
        first = self.rng.randrange(self.size)
        end = first
        while end < self.size and end not in taken and end - first < 4:
            end += 1
        above = compared(">=", column(KEY), literal(key_of(self.kind, first)))
        where = conjunction(above, compared("<", column(KEY), literal(key_of(self.kind, end))))
        return Meant(Delete(NAME, where), frozenset(range(first, end)))

    def _statement(self, numbers: frozenset[int]) -> Meant:
        rng = self.rng
        keys = [key_of(self.kind, number) for number in sorted(numbers)]
        draw = rng.random()
        if draw < 0.3 and self.kind in MERGED:
            return Meant(
                Merge(NAME, self._source(keys), joined(), self._clauses(), "arrow"), numbers
            )
        where = self._narrowed(among(column(KEY), keys))
        if len(keys) == 1 and rng.random() < 0.5:
            where = self._narrowed(compared("=", column(KEY), literal(keys[0])))
        if draw < 0.6:
            return Meant(Delete(NAME, where), numbers)
        sets: dict[int, Any] = {NUMBER: added(column(NUMBER), 1)}
        if rng.random() < 0.5:
            sets[TEXT] = literal(rng.choice([None, "y"]))
        return Meant(Update(NAME, sets, where), numbers)

    def _narrowed(self, where: Term) -> Term:
        """Return a condition that may leave out some of the rows of its keys."""
        draw = self.rng.random()
        if draw < 0.15:
            return conjunction(where, compared("<", column(NUMBER), literal(4)))
        if draw < 0.25:
            return conjunction(where, negation(compared("=", column(TEXT), literal("x"))))
        if draw < 0.35:
            return conjunction(where, compared("=", column(PART), literal(1)))
        return where

    def _source(self, keys: Sequence[Any]) -> list[dict[int, Any]]:
        keys = list(keys)
        if self.rng.random() < 0.4:
            keys.append(key_of(self.kind, self.fresh))
            self.fresh += 1
        return [{KEY: key, NUMBER: 9, TEXT: "m", PART: 1} for key in keys]

    def _clauses(self) -> list[ModelClause]:
        rng = self.rng
        where = compared("<", column(("target", NUMBER)), literal(3))
        narrowed = where if rng.random() < 0.3 else None
        action = rng.choice(["update", "delete"])
        sets: Mapping[int, Any] | None = {NUMBER: added(column(("target", NUMBER)), 1)}
        clauses = [
            ModelClause("matched", action, sets if action == "update" else None, narrowed),
            ModelClause("not_matched", "insert", None, None),
        ]
        return clauses[: rng.choice([1, 2, 2])]

    def _at_once(self, several: Sequence[Meant], *, must_commit: bool) -> None:
        """Let statements read one version, and commit one after the other."""
        before = self.model.copy()
        txns: list[Transaction] = []
        self.steps.append("at once:")
        taken: dict[int, Statement] = {}
        for made, _ in several:
            self._rewrite()
            self.steps.append(f"  {made}")
            txns.append(self.ledger.begin())
            made.run(txns[-1], {NAME: before})
        for txn, (made, _) in zip(txns, several, strict=True):
            self._rewrite()
            own = before.copy()
            made.apply({NAME: own})
            changed = before.rows.keys() - own.rows.keys()
            meets = [taken[at] for at in changed if at in taken]
            try:
                txn.commit()
            except ConflictError as error:
                self.steps.append(f"  {made} loses: {error.explain()}")
                self.outcomes["lost"] += 1
                assert not must_commit, f"{made} met no other statement in a row, and lost"
                continue
            self.outcomes["committed"] += 1
            assert not meets, f"{made} and {meets} changed one row, and both committed"
            taken.update(dict.fromkeys(changed, made))
            found = self.model.later(before, own)
            self._check_order(made, found)
            self.model = found

    def _rewrite(self) -> None:
        """Put the rows into other files now and then."""
        if self.rng.random() < 0.25:
            self.steps.append("  optimize")
            self.ledger.optimize(NAME, target_bytes=self.rng.choice([SMALL, LARGE]))

    def _check_order(self, made: Statement, found: TableModel) -> None:
        """Assert that the statement would have done the same at its place in the log."""
        again = self.model.copy()
        made.apply({NAME: again})
        # A txn that changed nothing may stand where it read.
        if self.level == "WriteSerializable" and found.rows.keys() != self.model.rows.keys():
            assert again.counted() == found.counted(), f"the order does not explain {made}"

    def _check(self) -> None:
        assert counted(self.ledger.scan(NAME).to_arrow()) == self.model.counted()


def joined() -> Term:
    return compared("=", column(("target", KEY)), column(("source", KEY)))


def hunt_pairs(
    folder: Path, seed: int, *, rows: str = "marks", must_commit: bool = True
) -> Counter[str]:
    """Play the pairs of a seed, and return what became of them."""
    with InMemoryLedger() as memory:
        hunt = PairHunt(memory.connect(), folder, seed, rows=rows)
        try:
            hunt.play(must_commit=must_commit)
        except BaseException as error:
            steps = "\n  ".join(hunt.steps)
            error.add_note(f"pairs of seed {seed}, {rows}:\n  {steps}")
            raise
    return hunt.outcomes
