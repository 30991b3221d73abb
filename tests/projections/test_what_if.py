"""What the rows say about another level is what a replay of the log says."""

from collections import Counter
from random import Random

from ledger.core.commands import TableWrite
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.log.replay import what_if
from projections.reads.what_if import WEAKER, at_write_serializable
from projections.store.memory import MemoryStore
from tests.core.parts import equals, table_of
from tests.projections.followed import Followed
from tests.web.lake import file_of, write

SEEDS = 40
STEPS = 30
DAYS = ("1", "2")


class Writing(Followed):
    """Writers that read at an old position, now and then at Serializable, in two tables."""

    def __init__(self, seed: int) -> None:
        super().__init__(MemoryStore())
        self.draw = Random(seed)  # noqa: S311 - a history from a seed
        self.session = self.open_session()
        self.tables = [
            self.create_table(
                self.session,
                f"t{number}",
                made=table_of(("day", "string"), by=["day"] if number else []),
            )
            for number in range(2)
        ]
        self.live: list[str] = []
        self.open: list[int] = []

    def step(self, number: int) -> None:
        """Write once, or open a txn."""
        draw = self.draw
        if draw.random() < 0.2:
            self.open.append(self.open_txn(self.session))
            return
        txn = self.open.pop() if self.open and draw.random() < 0.5 else 0
        if draw.random() < 0.05:
            made = table_of(("day", "string"), (f"c{number}", "int"), by=["day"])
            self.alter_table(self.session, self.tables[1], made, "ADD COLUMNS", txn=txn)
        tables = draw.sample(self.tables, draw.choice((1, 1, 2)))
        parts = [self.part(table, number) for table in tables]
        self.commit(self.session, txn, *parts, level=draw.choice(("", "Serializable")))

    def part(self, table: int, number: int) -> TableWrite:
        """Return what one table part reads and writes."""
        draw = self.draw
        read_at = max(1, self.head.position - draw.choice((0, 0, 1, 2, 5)))
        day = draw.choice(DAYS)
        added = [file_of(f"{table}/{number}", day)] if table == self.tables[1] else []
        kind = draw.choice(("append", "append", "update", "delete", "read", "scan"))
        self.live += [each.path for each in added]
        some = [draw.choice(self.live)] if self.live and kind in {"update", "delete"} else []
        reads = [TRUE_PREDICATE if draw.random() < 0.3 else equals("day", day)]
        if kind == "append":
            return write(table, added, read_at=read_at)
        if kind == "read":
            return write(table, read_at=read_at, operation="", reads=reads)
        operation = "DELETE" if kind == "delete" else "UPDATE"
        return write(
            table,
            [] if kind == "delete" else added,
            some,
            read_at=read_at,
            operation=operation,
            reads=reads,
            read=some,
        )


def test_where_the_rows_decide_they_decide_as_the_core_does() -> None:
    found = Counter[bool | None]()
    for seed in range(SEEDS):
        domain = Writing(seed)
        for number in range(STEPS):
            domain.step(number)
        reads = domain.reads
        exact = {each.position: each.would_commit for each in what_if(domain.log, WEAKER)}
        for row in reads.conflicts(0, 1_000):
            told = at_write_serializable(reads, row)
            found[told.passes] += 1
            if told.passes is not None:
                assert told.passes == exact[row.position], (seed, row, told)
    assert found[True] > 10
    assert found[False] > 20
    assert found[None] < found.total() / 4
