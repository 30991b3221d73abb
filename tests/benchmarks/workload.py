"""The workload of R1: the commands of sixteen sessions that open, allocate and commit in turn.

Every id in them is known before a sequencer has run, because a new ledger gives them out densely.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator

from ledger.core.commands import (
    AllocateWriteIds,
    CoarseWrite,
    Column,
    Command,
    CommitTxn,
    CreateTable,
    OpenSession,
    OpenTxn,
    TableDefinition,
    TableWrite,
)

SESSIONS = 16
TABLE = 1
NEVER = 2**62
# Fenced, LedgerCreated and CatalogCreated come before the first answer.
FIRST_POSITION = 4
PARTITIONS = 12

Asks = Callable[[int], tuple[int, int, int]]


def commands(txns: int) -> Iterator[Command]:
    """Yield the commands of `txns` transactions, of which sixteen are open at a time."""
    asked: Counter[int] = Counter()
    sessions = range(FIRST_POSITION, FIRST_POSITION + SESSIONS)

    def asks(session: int) -> tuple[int, int, int]:
        asked[session] += 1
        return session, asked[session], NEVER

    for number in range(SESSIONS):
        yield OpenSession(0, 0, NEVER, bytes([number]) * 16, "ada", "host", "bench", 0)
    columns = (Column("id", "bigint", False, 1), Column("month", "int", False, 2))  # noqa: FBT003
    definition = TableDefinition(
        "managed", "directories", "file:///lake/t", columns, ("month",), ()
    )
    yield CreateTable(*asks(sessions[0]), 0, 0, "main", "db.t", definition)
    open_txns: deque[tuple[int, int]] = deque()
    for txn in range(1, txns + 1):
        session = sessions[txn % SESSIONS]
        yield OpenTxn(*asks(session), "default", 1, 0)
        yield AllocateWriteIds(*asks(session), (txn,), (TABLE,))
        open_txns.append((txn, session))
        if len(open_txns) == SESSIONS:
            yield commit(open_txns.popleft(), asks)
    for opened in open_txns:
        yield commit(opened, asks)


def commit(opened: tuple[int, int], asks: Asks) -> CommitTxn:
    """Return the commit of one open txn, which inserted into one partition."""
    txn, session = opened
    write = CoarseWrite("partition", f"month={txn % PARTITIONS}", "insert")
    return CommitTxn(*asks(session), txn, (TableWrite(TABLE, 0, (write,)),))
