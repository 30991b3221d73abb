"""How txns open, with their snapshot, and get write ids, as tables.

The refusals of a command stand in the order they are checked: what a row does wrong, the rows above
it do wrong as well, as far as one command can.
"""

from collections.abc import Sequence

import pytest

from ledger.core.commands import AllocateWriteIds, OpenTxn, TxnType
from ledger.core.events.events import CommandRefused, CommandRepeated, TxnOpened, WriteIdsAllocated
from ledger.core.events.parts import AllocatedId
from ledger.core.limits import DEFAULT_LIMITS, DURATION_MAX_MS, TABLES_PER_TXN_MAX
from ledger.core.refusals import Reason
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import NEVER, Driver

MANY = DEFAULT_LIMITS._replace(txns_per_open_max=200, tables_per_command_max=TABLES_PER_TXN_MAX)
OPEN = [
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "size must be 1 to 3 txns, got 0",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 0, -1),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "size must be 1 to 3 txns, got 4",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 4, -1),
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        f"deadline_ms must be 0 to {DURATION_MAX_MS}, got -1",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 3, -1),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "open_txns_max is 5",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 3, 0, [MISSING] * 4),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 tables, got 4",
        lambda s: OpenTxn(*s.asks(s.ada), "read_only", 1, 0, [MISSING] * 4),
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "read-only txn",
        lambda s: OpenTxn(*s.asks(s.ada), "read_only", 1, 0, [MISSING]),
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 1, 0, [s.flights, MISSING]),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 4",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 1, 0, [s.gone]),
        lambda s: s.gone,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: OpenTxn(*s.asks(s.bob), "default", 1, 0, [s.draft]),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.TABLE_EXTERNAL,
        "weather is an external table",
        lambda s: OpenTxn(*s.asks(s.ada), "default", 1, 0, [s.flights, s.weather]),
        lambda s: s.weather,
    ),
]
ALLOCATE = [
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 txns, got 0",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [], []),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 txns, got 4",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [MISSING] * 4, []),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 tables, got 0",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [MISSING], []),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 tables, got 4",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [MISSING], [MISSING] * 4),
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [MISSING], [MISSING]),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it committed at position",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.committed, s.others], [MISSING]),
        lambda s: s.committed,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it was aborted at position",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.failed, s.others], [MISSING]),
        lambda s: s.failed,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it ended too long ago to be remembered",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.forgotten, s.others], [MISSING]),
        lambda s: s.forgotten,
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.others], [MISSING]),
        lambda s: s.others,
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.mine, s.reading], [MISSING]),
        lambda s: s.reading,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.mine], [MISSING]),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 4",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.mine], [s.flights, s.gone]),
        lambda s: s.gone,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.mine], [s.flights, s.draft]),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: AllocateWriteIds(*s.asks(s.bob), [s.others, s.open_txn(s.bob)], [s.draft]),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.TABLE_EXTERNAL,
        "weather is an external table",
        lambda s: AllocateWriteIds(*s.asks(s.ada), [s.mine], [s.flights, s.weather]),
        lambda s: s.weather,
    ),
]
REFUSALS = [*OPEN, *ALLOCATE]
test_refused = refuses(REFUSALS)


def opened(
    scene: Scene, kind: TxnType, size: int, deadline_ms: int, ids: Sequence[AllocatedId] = ()
) -> TxnOpened:
    """Return the event that opens txns in the scene."""
    return TxnOpened(
        kind,
        size,
        min_open=scene.mine,
        deadline=scene.now + deadline_ms,
        inline=True,
        open=[scene.mine, scene.others],
        aborted=[scene.failed, scene.empty_failed],
        digest=scene.digest,
        ids=ids,
    )


ACCEPTED = [
    Accepted(
        "a txn opens with the list of what it may not see",
        lambda s: s.ask(OpenTxn(*s.asks(s.ada), "default", 2, 0)),
        lambda s: opened(s, "default", 2, 60_000),
    ),
    Accepted(
        "txns open with write ids by table as asked and by txn ascending",
        lambda s: s.ask(OpenTxn(*s.asks(s.ada), "default", 2, 0, [s.planes, s.flights, s.planes])),
        lambda s: opened(
            s,
            "default",
            2,
            60_000,
            ids=[
                AllocatedId(s.planes, s.others + 1, 3),
                AllocatedId(s.planes, s.others + 2, 4),
                AllocatedId(s.flights, s.others + 1, 2),
                AllocatedId(s.flights, s.others + 2, 3),
            ],
        ),
    ),
    Accepted(
        "a txn's own deadline counts from now",
        lambda s: s.ask(OpenTxn(*s.asks(s.ada), "read_only", 1, 5)),
        lambda s: opened(s, "read_only", 1, 5),
    ),
    Accepted(
        "a replicated txn has a deadline of its own kind",
        lambda s: s.ask(OpenTxn(*s.asks(s.ada), "replicated", 1, 0)),
        lambda s: opened(s, "replicated", 1, 600_000),
    ),
    Accepted(
        "write ids come by table as asked and by txn ascending",
        lambda s: s.allocate(s.ada, [s.open_txn(s.ada), s.mine], [s.planes, s.flights]),
        lambda s: WriteIdsAllocated(
            [
                AllocatedId(s.planes, s.mine, 3),
                AllocatedId(s.planes, s.others + 1, 4),
                AllocatedId(s.flights, s.mine, 2),
                AllocatedId(s.flights, s.others + 1, 3),
            ]
        ),
    ),
    Accepted(
        "a txn or table named twice gets one write id",
        lambda s: s.allocate(s.ada, [s.mine, s.mine], [s.planes, s.planes]),
        lambda s: WriteIdsAllocated([AllocatedId(s.planes, s.mine, 3)]),
    ),
    Accepted(
        "a txn keeps its write id, and another one gets the next",
        lambda s: last(
            s.allocate(s.ada, [s.mine], [s.planes]),
            s.allocate(s.ada, [s.open_txn(s.ada), s.mine], [s.planes]),
        ),
        lambda s: WriteIdsAllocated(
            [AllocatedId(s.planes, s.mine, 3), AllocatedId(s.planes, s.others + 1, 4)]
        ),
    ),
    Accepted(
        "the creator takes write ids of its own table",
        lambda s: s.allocate(s.bob, [s.others], [s.draft]),
        lambda s: WriteIdsAllocated([AllocatedId(s.draft, s.others, 1)]),
    ),
]
test_accepted = accepts(ACCEPTED)


@pytest.mark.parametrize("open_txns", [2, 3])
def test_snapshot_is_inline_while_it_is_small(open_txns: int) -> None:
    driver = Driver(limits=Driver().state.limits._replace(snapshot_inline_max=2))
    session = driver.open_session()
    driver.open_txn(session, size=open_txns)
    digest = driver.state.txns.digest
    opened = driver.ask(OpenTxn(*driver.asks(session), "default", 1, 0)).body
    inline = {2: [1, 2], 3: []}[open_txns]

    assert isinstance(opened, TxnOpened)
    assert (opened.inline, opened.open, opened.digest) == (bool(inline), inline, digest)


@pytest.mark.parametrize(
    "tables", [[1, 2], [2, 1], [2, 2, 1]], ids=["ascending", "descending", "twice"]
)
def test_repeated_allocation_names_the_same_ids(tables: list[int]) -> None:
    driver = Driver()
    session = driver.open_session()
    driver.create_table(session, "a")
    driver.create_table(session, "b")
    txn = driver.open_txn(session, size=2)
    command = AllocateWriteIds(*driver.asks(session), [txn + 1, txn], tables)
    first, again = driver.ask(command), driver.ask(command)

    assert isinstance(first.body, WriteIdsAllocated)
    assert CommandRepeated(
        b"", first.control.position, "WriteIdsAllocated", 0, 1, first.body.ids
    ) == (again.body)


def test_repeated_allocation_cannot_grow() -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "a")
    txn = driver.open_txn(session)
    session, n, _ = driver.asks(session)
    driver.ask(AllocateWriteIds(session, n, NEVER, [txn], [table]))
    again = driver.ask(AllocateWriteIds(session, n, NEVER, [txn] * 100, [table] * 100))

    assert isinstance(again.body, CommandRepeated)
    assert again.body.ids == [AllocatedId(table, txn, 1)]


def test_repeated_opening_names_the_ids_of_txns_still_open() -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "a")
    command = OpenTxn(*driver.asks(session), "default", 2, 0, [table])
    first = driver.ask(command)
    assert isinstance(first.body, TxnOpened)
    at, txn = first.control.position, first.control.txn
    ids = first.body.ids

    assert driver.ask(command).body == CommandRepeated(b"", at, "TxnOpened", txn, 2, ids)
    driver.commit(session, txn)
    assert driver.ask(command).body == CommandRepeated(b"", at, "TxnOpened", txn, 2, ids[1:])


def test_opening_allocates_as_allocation_does() -> None:
    states = []
    for tables in ([1, 2], []):
        driver = Driver()
        session = driver.open_session()
        driver.create_table(session, "a")
        driver.create_table(session, "b")
        txn = driver.ask(OpenTxn(*driver.asks(session), "default", 2, 0, tables)).control.txn
        if not tables:
            driver.ask(AllocateWriteIds(*driver.asks(session), [txn, txn + 1], [1, 2]))
        open_txns = [(each.txn, each.write_ids) for each in driver.state.txns.open.values()]
        states.append((open_txns, [t.last_write_id for t in driver.state.tables.by_id.values()]))

    assert states[0] == states[1]


@pytest.mark.parametrize(("size", "answer"), [(100, TxnOpened), (101, CommandRefused)])
def test_an_opening_names_no_more_ids_than_fit_an_answer(size: int, answer: type) -> None:
    """Each count may be within its bound while their product is not."""
    driver = Driver(limits=MANY)
    session = driver.open_session()
    table = driver.create_table(session, "a")
    body = driver.ask(OpenTxn(*driver.asks(session), "default", size, 0, [table] * 100)).body

    assert isinstance(body, answer)
    if isinstance(body, CommandRefused):
        assert body.reason == Reason.LIMIT_EXCEEDED
        assert "10000 write ids at most, got 10100" in body.message
