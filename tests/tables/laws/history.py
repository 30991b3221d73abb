"""Random histories of txns over two tables, played on a ledger and on a model side by side."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.session.receipt import Receipt
from ledger.transaction.transaction import Transaction
from tests.tables.laws.altering import Alteration
from tests.tables.laws.drawing import some_rows, statement
from tests.tables.laws.model import ModelColumn, TableModel
from tests.tables.laws.statements import Insert, Statement, given
from tests.tables.laws.terms import NESTED, VALUES

LEVELS = ["Serializable", "WriteSerializable"]
KEYS = ["int", "string", "double", "date", "decimal(7,2)"]
MAPPING = "delta.columnMapping.mode"
STATEMENTS = 20
OPEN_MAX = 2


class Seen(NamedTuple):
    """What a version of a table shows."""

    position: int
    model: TableModel


class OpenTxn:
    """A txn with the world as it sees it, and what it did so far."""

    def __init__(self, txn: Transaction, world: Mapping[str, TableModel]) -> None:
        self.txn = txn
        for name in world:
            # A name that is looked up late may have belonged to another table meanwhile.
            txn.valid_write_ids(name)
        self.before = dict(world)
        self.world = {name: each.copy() for name, each in world.items()}
        self.statements: list[Statement] = []
        self.appended: dict[str, set[int]] = {name: set() for name in world}

    @property
    def own(self) -> Mapping[str, bool]:
        own = {each.table for each in self.statements if each.makes_files}
        return {name: name in own for name in self.world}

    def do(self, made: Statement) -> None:
        """Run a statement and compare its counts; it counts only if nothing is raised."""
        after = {name: each.copy() for name, each in self.world.items()}
        expected = made.apply(after)
        if expected is None:
            with pytest.raises(ValueError, match="MERGE_CARDINALITY"):
                made.run(self.txn, self.world)
            # What it read stays noted.
            self.statements.append(made)
            return
        found = made.run(self.txn, self.world)
        if isinstance(found, tuple):
            shown = tuple(found)
            assert shown in (expected, (*expected[:2], None)), f"{shown} instead of {expected}"
        self.world = after
        self.statements.append(made)

    def changed(self, table: str) -> bool:
        before, after = self.before[table], self.world[table]
        return before.rows.keys() != after.rows.keys() or before.definition != after.definition

    def is_blind(self, table: str) -> bool:
        """Return whether the txn only inserted into a table."""
        mine = [each for each in self.statements if each.table == table]
        read = {getattr(each, "origin", "") for each in self.statements}
        return table not in read and all(each.is_blind for each in mine)


class History:
    """A history that comes back from its seed; `steps` says in words what was done.

    With `vacuums` the tables are vacuumed now and then, beside open txns.
    """

    names: Sequence[str] = ("db.one", "two")
    open_max = OPEN_MAX
    statements_max = STATEMENTS
    shares: Sequence[float] = (0.15, 0.30, 0.40, 0.46, 0.65)

    def __init__(self, ledger: Ledger, folder: Path, seed: int, *, vacuums: bool = False) -> None:
        self.vacuums = vacuums
        self.rng = Random(seed)  # noqa: S311 - a history must come back from its seed
        self.ledger = ledger
        self.steps: list[str] = []
        self.world: dict[str, TableModel] = {}
        self.numbers: dict[int, str] = {}
        self.versions: dict[str, dict[int, Seen]] = {}
        self.blind: list[tuple[int, str, frozenset[int]]] = []
        self.open: list[OpenTxn] = []
        self.left = self.statements_max
        self.outcomes: Counter[str] = Counter()
        self.level = self.rng.choice([*LEVELS, "SnapshotIsolation"])
        for name in self.names:
            self._create(name, folder / name)

    def drawn_table(self) -> tuple[TableModel, dict[str, str]]:
        """Return a table to be made, with its properties."""
        kinds = self.rng.sample(list(VALUES), k=self.rng.randint(2, 4))
        columns = [("id", "bigint"), ("key", self.rng.choice(KEYS))]
        columns += [(f"c{at}", kind) for at, kind in enumerate(kinds)]
        model = TableModel([ModelColumn(at, *each) for at, each in enumerate(columns, start=1)])
        model.by = self.rng.sample(range(3, len(columns) + 1), k=self.rng.randint(0, 2))
        if self.rng.random() < 0.4:
            columns.append(("nested", self.rng.choice(list(NESTED))))
            model.columns = [*model.columns, ModelColumn(len(columns), *columns[-1])]
            model.highest += 1
        is_mapped = self.rng.random() < 0.3
        return model, {MAPPING: "name"} if is_mapped else {}

    def _create(self, name: str, folder: Path) -> None:
        model, properties = self.drawn_table()
        columns = [(column.name, column.type) for column in model.columns]
        by = [model.columns[each - 1].name for each in model.by]
        row = self.ledger.create_table(
            name,
            columns,
            partition_columns=by,
            location=folder,
            properties={"delta.isolationLevel": self.level} | properties,
        )
        self.steps.append(f"create {name} {columns} by {by} {self.level} {properties}")
        self.world[name] = model
        self.numbers[row.table] = name
        self.versions[name] = {0: Seen(row.changed, model)}

    def play(self) -> None:
        while self.left > 0:
            self._step()
        for each in list(self.open):
            self._end(each)

    def _step(self, *, may_run: bool = True) -> None:
        if self.vacuums and self.rng.random() < 0.15:
            table = self.rng.choice(list(self.world))
            self.steps.append(f"vacuum {table}")
            self.outcomes["vacuumed"] += len(self.ledger.vacuum(table, older_than_h=0.0))
        draw = self.rng.random()
        begins, ends, appends, alters, runs = self.shares
        if draw < begins and len(self.open) < self.open_max:
            self.open.append(OpenTxn(self.ledger.begin(), self.world))
            self.steps.append(f"begin {self.open[-1].txn.id}")
        elif draw < ends and self.open:
            self._end(self.rng.choice(self.open))
        elif draw < appends:
            self._append()
        elif draw < alters:
            self._alter()
        elif draw < runs and may_run:
            self._run(self._several())
        elif self.open:
            self._do(self.rng.choice(self.open))

    def _several(self) -> Callable[[OpenTxn, int], None]:
        """Return work of a few statements, between which others commit at its first attempt."""
        count = self.rng.randint(1, 3)
        kept: list[Statement] = []

        def work(mine: OpenTxn, attempt: int) -> None:
            if attempt == 0:
                for _ in range(count):
                    made = self._draw(mine)
                    kept.append(made)
                    self._do(mine, made)
                    while self.rng.random() < 0.5 and self.left > 0:
                        self._step(may_run=False)
                return
            for each in kept:
                if each.fits(mine.world) and not (
                    isinstance(each, Alteration) and mine.own[each.table]
                ):
                    self._do(mine, each)

        return work

    def _run(self, work: Callable[[OpenTxn, int], None]) -> None:
        """Let `Ledger.run` do work until it is committed."""
        attempts: list[OpenTxn] = []

        def attempt(txn: Transaction) -> None:
            attempts.append(OpenTxn(txn, self.world))
            self.steps.append(f"attempt {len(attempts)} in {txn.id}")
            work(attempts[-1], len(attempts) - 1)

        receipts: list[Receipt] = []
        self.ledger.run(attempt, on_commit=receipts.append)
        self.steps.append(f"{attempts[-1].txn.id} commits")
        self.outcomes["run again"] += len(attempts) - 1
        self._committed(attempts[-1], receipts[0])

    def _draw(self, mine: OpenTxn) -> Statement:
        self.left -= 1
        made = self.drawn(mine)
        made.kinds = mine.world[made.table].types
        return made

    def may(self, made: Statement) -> bool:  # noqa: ARG002 - some histories have no use for some
        """Return whether a statement is one for this history."""
        return True

    def drawn(self, mine: OpenTxn) -> Statement:
        """Return what the txn does next to the world as it sees it."""
        return statement(self.rng, mine.world, mine.own)

    def new_rows(self, model: TableModel) -> list[dict[int, Any]]:
        """Return rows for an append."""
        return some_rows(self.rng, model, self.rng.randint(1, 3))

    def _do(self, mine: OpenTxn, made: Statement | None = None) -> None:
        """Do a statement in a txn; a txn that lost already is over."""
        made = made or self._draw(mine)
        self.steps.append(f"{mine.txn.id}: {made}")
        try:
            mine.do(made)
        except ConflictError as error:
            self.steps.append(f"{mine.txn.id} lost: {type(error).__name__}")
            if mine not in self.open:
                raise
            self.outcomes["lost early"] += 1
            mine.txn.abort()
            self.open.remove(mine)

    def _append(self) -> None:
        """Append rows in one round trip."""
        self.left -= 1
        table = self.rng.choice(list(self.world))
        self.append(table, self.new_rows(self.world[table]))

    def append(self, table: str, rows: Sequence[dict[int, Any]]) -> None:
        """Append given rows in one round trip."""
        model = self.world[table]
        made = Insert(table, rows, "dicts")
        mine = OpenTxn(self.ledger.begin("read_only"), self.world)
        mine.txn.abort()
        made.apply(mine.world)
        mine.statements.append(made)
        self.steps.append(f"append: {made if len(rows) < 9 else f'{len(rows)} rows to {table}'}")
        self._committed(mine, self.ledger.append(table, given(made.rows, model, "dicts")))

    def _alter(self) -> None:
        """Alter a table at once."""
        table = self.rng.choice(list(self.world))
        mine = OpenTxn(self.ledger.begin("read_only"), self.world)
        mine.txn.abort()
        made = statement(self.rng, {table: mine.world[table]}, {table: False})
        if not isinstance(made, Alteration) or not self.may(made):
            return
        self.left -= 1
        self.steps.append(f"at once: {made}")
        receipt = made.run_at_once(self.ledger, self.world)
        made.apply(mine.world)
        mine.statements.append(made)
        self._committed(mine, receipt)

    def _end(self, mine: OpenTxn) -> None:
        """Commit a txn, or abort it; after a conflict it may be done again."""
        self.open.remove(mine)
        number = mine.txn.id
        if self.rng.random() < 0.15:
            mine.txn.abort()
            self.outcomes["aborted"] += 1
            self.steps.append(f"{number} aborts")
            return
        try:
            receipt = mine.txn.commit()
        except ConflictError as error:
            self.steps.append(f"{number} loses: {type(error).__name__}")
            self.outcomes["lost"] += 1
            self.lost(mine, error)
            if self.rng.random() < 0.5:
                self._run(lambda new, _: self._again(mine, new))
            return
        self.steps.append(f"{number} commits")
        self._committed(mine, receipt)

    def lost(self, mine: OpenTxn, error: ConflictError) -> None:
        """Judge a conflict; here every one is lawful."""

    def _again(self, lost: OpenTxn, mine: OpenTxn) -> None:
        """Do the statements of a txn that lost, as far as they still have a meaning."""
        for each in lost.statements:
            is_late = isinstance(each, Alteration) and mine.own[each.table]
            if each.fits(mine.world) and not is_late:
                self._do(mine, each)

    def _committed(self, mine: OpenTxn, receipt: Receipt) -> None:
        """Note what a commit made of the world, and that an order of txns explains it."""
        self.outcomes["committed"] += 1
        found = {
            name: each.later(mine.before[name], mine.world[name])
            for name, each in self.world.items()
        }
        self._check_order(mine, found)
        versions = receipt.versions
        for number, name in self.numbers.items():
            changed = found[name].rows.keys() ^ self.world[name].rows.keys()
            if number in versions:
                self.versions[name][versions[number]] = Seen(receipt.position, found[name])
            else:
                assert not changed
                assert found[name].definition == self.world[name].definition
            new = found[name].rows.keys() - self.world[name].rows.keys()
            if new and mine.is_blind(name):
                self.blind.append((receipt.position, name, frozenset(new)))
        self.world = found

    def _check_order(self, mine: OpenTxn, found: Mapping[str, TableModel]) -> None:
        """Assert that the statements, done at the commit, would have done the same.

        Below Serializable, blind appends since the open of the txn count as later, and what was
        only read is not judged. A txn that changed nothing may stand at its open. At
        SnapshotIsolation no update may be lost, which `later` asserts.
        """
        if self.level == "SnapshotIsolation" or not any(map(mine.changed, self.world)):
            return
        later: dict[str, set[int]] = {name: set() for name in self.world}
        if self.level != "Serializable":
            if any(hasattr(each, "origin") for each in mine.statements):
                return
            for position, name, rows in self.blind:
                if position > mine.txn.opened:
                    later[name] |= rows
        world = {name: each.copy() for name, each in self.world.items()}
        kept = {
            name: {at: each.rows.pop(at) for at in later[name] if at in each.rows}
            for name, each in world.items()
        }
        for made in mine.statements:
            made.apply(world)
        for name, each in world.items():
            if self.level != "Serializable" and not mine.changed(name):
                continue
            each.rows.update(kept[name])
            assert each.counted() == found[name].counted(), f"no order explains {name}"


@contextmanager
def replayable(seed: int, history: History) -> Iterator[None]:
    """Add to an error how to get it again, and what was done before it."""
    try:
        yield
    except BaseException as error:
        steps = "\n  ".join(history.steps)
        error.add_note(f"history of seed {seed}:\n  {steps}")
        raise
