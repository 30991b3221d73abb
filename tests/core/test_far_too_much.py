"""Whatever a txn names, its end fits one record, and no command holds up the leader for long."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.core.commands import (
    AllocateWriteIds,
    AppVersion,
    CloseSession,
    CoarseWrite,
    Domain,
    Footprint,
    OpenTxn,
    StageWrites,
    TableWrite,
)
from ledger.core.decide.decide import ids_of_open
from ledger.core.decide.txns import close_session
from ledger.core.events.events import (
    AbortedForgotten,
    Body,
    CommandRefused,
    CommandRepeated,
    TxnAborted,
    TxnCommitted,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.limits import (
    COARSE_WRITES_MAX,
    DEFAULT_LIMITS,
    HASH_BYTES,
    IDS_PER_COMMAND_MAX,
    OPERATION_CHARS_MAX,
    PARTITION_CHARS_MAX,
    PARTS_PER_CLOSE_MAX,
    TABLES_PER_TXN_MAX,
    TEXT_CHARS_MAX,
    WINNER_PARTITIONS_MAX,
    WINNER_REMOVES_MAX,
)
from ledger.core.refusals import Reason, Refused
from tests.core.arena import Arena, day
from tests.core.parts import after, equals, footprint, part, partition
from tests.driver import NEVER, Driver

SHORT = DEFAULT_LIMITS._replace(tables_per_command_max=2)
FAR = range(10**6, 10**6 + TABLES_PER_TXN_MAX)


def arena_with(ids: int = 0, chunks: int = 0) -> Arena:
    """Return an arena in which ada's txn has write ids and chunks in so many other tables."""
    arena = Arena()
    mine = arena.state.txns.open[arena.mine]
    mine.write_ids |= dict.fromkeys(FAR[:ids], 1)
    mine.staged |= {table: [] for table in FAR[:chunks]}
    return arena


def allocate(arena: Arena) -> Body:
    """Let ada's txn ask for a write id."""
    return arena.allocate(arena.ada, [arena.mine], [arena.table]).body


def allocate_again(arena: Arena) -> Body:
    arena.state.txns.open[arena.mine].write_ids[arena.table] = 1
    return allocate(arena)


def stage(arena: Arena) -> Body:
    said = footprint(files=b"x")
    return arena.ask(StageWrites(*arena.asks(arena.ada), arena.mine, arena.table, 1, said)).body


def stage_again(arena: Arena) -> Body:
    """Let it stage a second chunk."""
    held = arena.state.txns.open[arena.mine].staged
    held[arena.table] = [footprint(files=b"w")]
    asks = arena.asks(arena.ada)
    return arena.ask(StageWrites(*asks, arena.mine, arena.table, 2, footprint(files=b"x"))).body


@pytest.mark.parametrize(
    ("others", "does", "answer"),
    [
        ({"ids": TABLES_PER_TXN_MAX - 1}, allocate, WriteIdsAllocated),
        ({"ids": TABLES_PER_TXN_MAX}, allocate, CommandRefused),
        ({"ids": TABLES_PER_TXN_MAX - 1}, allocate_again, WriteIdsAllocated),
        ({"chunks": TABLES_PER_TXN_MAX - 1}, stage, WritesStaged),
        ({"chunks": TABLES_PER_TXN_MAX}, stage, CommandRefused),
        ({"chunks": TABLES_PER_TXN_MAX - 1}, stage_again, WritesStaged),
    ],
)
def test_a_txn_touches_no_more_tables_than_its_end_can_name(
    others: dict[str, int], does: Callable[[Arena], Body], answer: type
) -> None:
    arena = arena_with(**others)
    body = does(arena)

    assert isinstance(body, answer)
    if isinstance(body, CommandRefused):
        assert (body.reason, body.subject) == (Reason.LIMIT_EXCEEDED, arena.mine)
        assert "10000 tables at most" in body.message


@pytest.mark.parametrize(("more", "answer"), [(0, TxnAborted), (1, CommandRefused)])
def test_tables_of_an_abort(more: int, answer: type) -> None:
    arena = Arena()
    wrote = [arena.table] * (TABLES_PER_TXN_MAX + more)

    assert isinstance(arena.abort(arena.ada, arena.mine, wrote).body, answer)


@pytest.mark.parametrize(("more", "answer"), [(0, AbortedForgotten), (1, CommandRefused)])
def test_txns_that_left_data_in_many_tables_are_forgotten_in_steps(more: int, answer: type) -> None:
    driver = Driver()
    session = driver.open_session()
    first = driver.open_txn(session, size=2)
    half = IDS_PER_COMMAND_MAX // 2
    for txn, tables in (first, FAR[:half]), (first + 1, FAR[: half + more]):
        driver.abort(session, txn)
        aborted = driver.state.txns.aborted[txn]
        aborted.write_ids |= dict.fromkeys(tables, txn)
        aborted.wrote |= set(tables)
        for table in tables:
            driver.state.txns.writers.setdefault(table, {})[txn] = txn
    body = driver.forget(session, [first, first + 1]).body

    assert isinstance(body, answer)
    if isinstance(body, CommandRefused):
        assert "name fewer txns" in body.message


def test_a_repeat_with_longer_lists_is_told_no_more_than_the_first_could_name() -> None:
    driver = Driver(limits=SHORT)
    session = driver.open_session()
    table = driver.create_table(session, "a")
    session, n, _ = driver.asks(session)
    txn = driver.ask(OpenTxn(session, n, NEVER, "default", 1, 0, [table])).control.txn
    again = [
        driver.ask(OpenTxn(session, n, NEVER, "default", 1, 0, tables)).body
        for tables in ([8, table], [8, 9, table])
    ]
    assert [len(each.ids) for each in again if isinstance(each, CommandRepeated)] == [1, 0]

    session, n, _ = driver.asks(session)
    driver.ask(AllocateWriteIds(session, n, NEVER, [txn], [table]))
    body = driver.ask(AllocateWriteIds(session, n, NEVER, [-1, 0, txn], [table])).body
    assert isinstance(body, CommandRepeated)
    assert body.ids == []


ELSEWHERE = {
    "scan": lambda arena: arena.part("DELETE", reads=[equals("day", "-1", "int")]),
    "coarse": lambda arena: arena.coarse(day("-1")),
}


def many_days(count: int, first: int, met_by: str) -> Footprint:
    """Return a chunk that adds files to so many days, or removes one from each."""
    days = [partition(str(number)) for number in range(first, first + count)]
    if met_by == "scan":
        return footprint("WRITE", adds=days, files=b"x", not_blind=True)
    return footprint("DELETE", removes_in=days, remove=["x"], files=b"x")


@pytest.mark.parametrize(("more", "answer"), [(0, TxnCommitted), (1, TxnAborted)])
@pytest.mark.parametrize("met_by", ELSEWHERE)
def test_partitions_of_a_commit(met_by: str, more: int, answer: type) -> None:
    arena = Arena()
    half = WINNER_PARTITIONS_MAX // 2
    chunk, rest = many_days(half, 1, met_by), many_days(half + more, half + 1, met_by)
    asks = arena.asks(arena.bob)
    arena.ask(StageWrites(*asks, arena.theirs, arena.table, 1, chunk))
    whole = after([chunk], rest)
    arena.won(arena.commit(arena.bob, arena.theirs, TableWrite(arena.table, 0, [], whole)))

    assert isinstance(arena.follows(ELSEWHERE[met_by](arena)), answer)


CHARS_MAX = {"operation": OPERATION_CHARS_MAX, "coarse": PARTITION_CHARS_MAX}
LONG: dict[str, Callable[[str], TableWrite]] = {
    "operation": lambda text: part(1, text),
    "application": lambda text: part(1, apps=[AppVersion(text, 1)]),
    "application looked up": lambda text: part(1, read_apps=[text]),
    "domain": lambda text: part(1, domains=[Domain(text, "", removed=False)]),
    "coarse": lambda text: TableWrite(1, 0, [CoarseWrite("partition", text, "insert")]),
}


@pytest.mark.parametrize(("more", "answer"), [(0, TxnCommitted), (1, CommandRefused)])
@pytest.mark.parametrize("what", LONG)
def test_the_texts_that_a_state_remembers_are_bounded(what: str, more: int, answer: type) -> None:
    arena = Arena()
    body = arena.ends(LONG[what]("x" * (CHARS_MAX.get(what, TEXT_CHARS_MAX) + more)))

    assert isinstance(body, answer)
    if isinstance(body, CommandRefused):
        assert f"characters at most, got {CHARS_MAX.get(what, TEXT_CHARS_MAX) + 1}" in body.message


MEETS: dict[str, dict[str, Any]] = {
    "removes": {"remove": ["elsewhere"], "removes_in": [partition("1")]},
    "reads a file": {"read": ["elsewhere"]},
    "rearranges": {"remove": ["elsewhere"], "data_change": False},
}


@pytest.mark.parametrize("operation", ["DELETE", "OPTIMIZE"])
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("meets", MEETS)
def test_files_removed_by_a_commit(meets: str, more: int, operation: str) -> None:
    arena = Arena()
    hashes = [number.to_bytes(HASH_BYTES) for number in range(WINNER_REMOVES_MAX + more)]
    said = footprint(operation, removes_in=[partition("2")], files=b"x")
    halves = hashes[: WINNER_REMOVES_MAX // 2], hashes[WINNER_REMOVES_MAX // 2 :]
    chunk, rest = (
        said._replace(removes=b"".join(half), data_change=operation == "DELETE") for half in halves
    )
    asks = arena.asks(arena.bob)
    arena.ask(StageWrites(*asks, arena.theirs, arena.table, 1, chunk))
    whole = after([chunk], rest)
    arena.won(arena.commit(arena.bob, arena.theirs, TableWrite(arena.table, 0, [], whole)))
    assert (arena.state.winners.entries > WINNER_REMOVES_MAX) == (not more)

    body = arena.follows(arena.part("DELETE", **MEETS[meets]))
    assert isinstance(body, TxnAborted if more else TxnCommitted)
    if isinstance(body, TxnAborted):
        rule = "file_read_removed" if meets == "reads a file" else "file_removed_twice"
        assert body.evidence is not None
        assert (body.evidence.rule, body.evidence.unit) == (rule, "files")


@pytest.mark.parametrize(("more", "answer"), [(0, TxnCommitted), (1, CommandRefused)])
def test_coarse_writes_of_a_commit(more: int, answer: type) -> None:
    """Of more units than every reader can take in at once whole tables are to be named."""
    driver = Driver()
    session = driver.open_session()
    table, planes = driver.create_table(session, "flights"), driver.create_table(session, "planes")
    units = [
        CoarseWrite("partition", f"day={number}", "insert") for number in range(COARSE_WRITES_MAX)
    ]
    parts = TableWrite(table, 0, units), TableWrite(planes, 0, units[:more])

    assert isinstance(driver.commit(session, 0, *parts).body, answer)


def test_write_ids_of_a_session() -> None:
    driver = Driver()
    session = driver.open_session()
    first = driver.open_txn(session, size=10)
    held = [driver.state.txns.open[txn].write_ids for txn in range(first, first + 10)]
    for ids in held:
        ids.update(dict.fromkeys(FAR[: PARTS_PER_CLOSE_MAX // 10 - 1], 1))
    asked = CloseSession(*driver.asks(session))
    assert len(close_session(driver.state, asked).ends) == 10

    held[0][1] = 1
    with pytest.raises(Refused, match="100001 write ids, and one answer holds 100000"):
        close_session(driver.state, asked)


def test_write_ids_of_a_repeat() -> None:
    driver = Driver()
    first = driver.open_txn(driver.open_session(), size=101)
    txns = range(first, first + 101)
    for txn in txns:
        driver.state.txns.open[txn].write_ids |= dict.fromkeys(range(1, 101), 1)

    assert len(ids_of_open(driver.state, txns, range(1, 101))) == IDS_PER_COMMAND_MAX
