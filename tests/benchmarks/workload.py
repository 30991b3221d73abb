"""The workload of R1: the commands of sixteen sessions that open, allocate and commit in turn.

Every id in them is known before a sequencer has run, because a new ledger gives them out densely.
"""

from collections import Counter, deque
from collections.abc import Iterator

from ledger.core.commands import (
    AllocateWriteIds,
    CoarseWrite,
    Column,
    Command,
    CommitTxn,
    CreateTable,
    Layout,
    OpenSession,
    OpenTxn,
    TableDefinition,
    TableWrite,
)

SESSIONS = 16
TABLE = 1
NEVER = 2**62
# Fenced, LedgerCreated, CatalogCreated and Resigned of a first leader come before the first answer,
# and the Fenced of the leader that gives it.
FIRST_POSITION = 6
PARTITIONS = 12


class Asked:
    """Numbers the commands of the sessions, which are known by their place in the opening."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def next(self, session: int) -> tuple[int, int, int]:
        """Return what the next command of a session begins with."""
        self._counts[session] += 1
        return FIRST_POSITION + session, self._counts[session], NEVER


def opening(asked: Asked, layout: Layout) -> Iterator[Command]:
    """Yield the commands that open sixteen sessions and create the table."""
    for number in range(SESSIONS):
        yield OpenSession(0, 0, NEVER, bytes([number]) * 16, "ada", "host", "bench", 0)
    columns = (Column("id", "bigint", False, 1), Column("month", "int", False, 2))  # noqa: FBT003
    definition = TableDefinition("managed", layout, "file:///lake/t", columns, ("month",), ())
    yield CreateTable(*asked.next(0), 0, 0, "main", "db.t", definition)


def commands(txns: int) -> Iterator[Command]:
    """Yield the commands of `txns` transactions, of which sixteen are open at a time."""
    asked = Asked()
    yield from opening(asked, "directories")
    open_txns: deque[tuple[int, int]] = deque()
    for txn in range(1, txns + 1):
        session = txn % SESSIONS
        yield OpenTxn(*asked.next(session), "default", 1, 0)
        yield AllocateWriteIds(*asked.next(session), (txn,), (TABLE,))
        open_txns.append((txn, session))
        if len(open_txns) == SESSIONS:
            yield commit(open_txns.popleft(), asked)
    for opened in open_txns:
        yield commit(opened, asked)


def commit(opened: tuple[int, int], asked: Asked) -> CommitTxn:
    """Return the commit of one open txn, which inserted into one partition."""
    txn, session = opened
    write = CoarseWrite("partition", f"month={txn % PARTITIONS}", "insert")
    return CommitTxn(*asked.next(session), txn, (TableWrite(TABLE, 0, (write,)),))
