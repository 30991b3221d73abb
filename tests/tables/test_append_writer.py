"""A writer of a table: many small appends are few commits, and each has its own outcome."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from ledger import WaitingAppend
from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.errors import (
    ConstraintViolatedError,
    DuplicateKeyError,
    LedgerError,
    LogError,
    OutcomeUnknownError,
    UnknownTableError,
)
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.wire.file_extras import is_sealed
from ledger.testing import InMemoryLedger
from tests.forgetting.every_byte import Planted, is_in_log

ALWAYS: Final = 10**9
HELD_MS: Final = 60_000
"""Appends wait for a flush, which a test calls."""

INLINE: Final = {"lakeledger.inline": "on"}
COLUMNS: Final = [("id", "bigint"), ("name", "string")]


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    """Return a client of a table `t` with rows in the log."""
    ledger = memory.connect(warehouse=tmp_path)
    ledger.create_table("t", COLUMNS, properties=INLINE)
    return ledger


def ids(ledger: Ledger, table: str = "t") -> list[int]:
    return sorted(ledger.scan(table, columns=["id"]).to_arrow().column(0).to_pylist())


def versions(outcomes: Sequence[WaitingAppend]) -> list[int]:
    """Return the version of the commit of each append."""
    return [version for each in outcomes for version in each.result(60).versions.values()]


def test_appends_of_threads_are_few_commits_in_their_order(ledger: Ledger) -> None:
    with ledger.writer("t") as writer, ThreadPoolExecutor(8) as pool:
        work = [
            pool.submit(lambda first: [writer.append({"id": first + n}) for n in range(200)], each)
            for each in range(0, 1_600, 200)
        ]
        threads = [each.result() for each in work]
    assert ids(ledger) == list(range(1_600))
    assert all(one <= two for each in threads for one, two in pairwise(versions(each)))
    commits = {version for each in threads for version in versions(each)}
    assert ledger.table("t").version == len(commits) < 800
    assert all(file.rows for file in ledger.scan("t").files)


def test_waiting_appends_are_one_commit_of_one_block(ledger: Ledger) -> None:
    with ledger.writer("t", flush_ms=HELD_MS) as writer:
        outcomes = [
            writer.append({"id": 0, "name": "a"}),
            writer.append([{"id": 1}, {"name": "b", "id": 2}]),
            writer.append({"id": [3, 4]}),
            writer.append(pa.table({"ID": pa.array([5], pa.int32())})),
            writer.append(pa.record_batch({"id": [6]})),
            writer.append(iter([{"id": 7}])),
            writer.append([]),
        ]
        assert not any(each.done() for each in outcomes)
        assert not outcomes[0].cancel()
        with pytest.raises(TimeoutError):
            outcomes[0].result(0)
        writer.flush()
        assert all(each.done() for each in outcomes)
    (receipt,) = {str(each.result()): each.result() for each in outcomes}.values()
    assert (receipt.versions, receipt.num_affected_rows) == ({1: 1}, 8)
    (block,) = ledger.scan("t").files
    assert (block.rows != b"", ids(ledger)) == (True, list(range(8)))


def test_a_group_ends_where_its_block_is_full(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.writer("t", flush_ms=HELD_MS) as writer:
        sizes = (600, 600, 400, 1_500, 1)
        outcomes = [writer.append([{"id": 1}] * size) for size in sizes]
        large = writer.append({"id": 1, "name": "x" * 70_000})
    assert versions([*outcomes, large]) == [1, 2, 2, 3, 4, 5]
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


def test_a_table_without_rows_in_the_log_gets_a_file_for_each_commit(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.create_table("f", COLUMNS, partition_columns=["name"])
    with ledger.writer("f", flush_ms=HELD_MS) as writer:
        for number in range(10):
            writer.append({"id": number, "name": f"n{number % 2}"})
    assert (ids(ledger, "f"), ledger.table("f").version) == (list(range(10)), 1)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


def test_rows_of_an_encrypted_table_are_sealed(memory: InMemoryLedger, tmp_path: Path) -> None:
    ledger = memory.connect(warehouse=tmp_path, keys=tmp_path / "keys")
    encrypted = {**INLINE, "lakeledger.inline.encrypted": "true"}
    ledger.create_table("e", COLUMNS, properties=encrypted)
    with ledger.writer("e", flush_ms=HELD_MS) as writer:
        for number in range(3):
            writer.append({"id": number, "name": "planted"})
    (block,) = ledger.scan("e").files
    assert (is_sealed(block.rows), ids(ledger, "e")) == (True, [0, 1, 2])
    assert not is_in_log(memory.log, Planted(["planted"], []))


BAD: Final[Sequence[tuple[Any, type[Exception]]]] = (
    ({"id": 1, "n": 2}, ValueError),
    ({"id": "one"}, TypeError),
    ({"id": None}, ValueError),
    ({"id": -1}, ConstraintViolatedError),
    ({"id": 1, "twice": 3}, ConstraintViolatedError),
    (["a.parquet"], TypeError),
    (7, TypeError),
)


@pytest.mark.parametrize(("rows", "error"), BAD, ids=str)
def test_rows_that_do_not_fit_fail_alone(ledger: Ledger, rows: Any, error: type[Exception]) -> None:
    columns = [("id", "bigint NOT NULL"), ("twice", "bigint GENERATED ALWAYS AS (id * 2)")]
    ledger.create_table("c", columns, properties={**INLINE, "delta.constraints.c": "id > 0"})
    with ledger.writer("c", flush_ms=HELD_MS) as writer:
        before = writer.append({"id": 5})
        with pytest.raises(error):
            writer.append(rows)
        after = writer.append({"id": 6})
    assert (versions([before, after]), ids(ledger, "c")) == ([1, 1], [5, 6])


def test_a_key_that_is_there_fails_alone(ledger: Ledger) -> None:
    unique = {**INLINE, "lakeledger.unique": "true", "lakeledger.key": "id"}
    ledger.create_table("u", COLUMNS, properties=unique)
    ledger.append("u", [{"id": 1}])
    writer = ledger.writer("u", flush_ms=HELD_MS)
    outcomes = [writer.append({"id": number}) for number in (0, 1, 2, 3, 3, 4)]
    outcomes.append(writer.append([{"id": 5}, {"id": 5}]))
    writer.append({"name": "without a key"})
    with pytest.raises(DuplicateKeyError) as lost:
        writer.close()
    failed = [number for number, each in enumerate(outcomes) if each.exception()]
    assert failed == [1, 4, 6]
    assert [note.partition(":")[0] for note in lost.value.__notes__] == [
        "1 append to table u are not committed"
    ] * 3
    found = ledger.scan("u", "id IS NOT NULL", ["id"]).to_arrow()["id"].to_pylist()
    assert sorted(found) == list(range(5))
    assert ledger.scan("u", "id IS NULL").count() == 1


def columns_of(ledger: Ledger) -> list[Any]:
    return list(ledger.table("t").definition.columns)


def rename_column(ledger: Ledger) -> None:
    one, two = columns_of(ledger)
    ledger.alter_table("t", columns=[one, two._replace(name="title")])


def add_column(ledger: Ledger) -> None:
    ledger.alter_table("t", columns=[*columns_of(ledger), ("n", "int")])


def add_constraint(ledger: Ledger) -> None:
    ledger.alter_table("t", properties={"delta.constraints.c": "id < 3"})


def unset(ledger: Ledger) -> None:
    ledger.alter_table("t", properties={"lakeledger.inline": "off"})


def rename(ledger: Ledger) -> None:
    ledger.rename_table("t", "other")


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (add_column, [1, 2, 3]),
        (rename_column, [2]),
        (add_constraint, [1, 2]),
        (unset, [1, 2, 3]),
        (rename, [1, 2, 3]),
    ],
)
def test_waiting_rows_are_fitted_to_the_table_as_it_has_become(
    ledger: Ledger, memory: InMemoryLedger, change: Callable[[Ledger], None], left: list[int]
) -> None:
    number = ledger.table("t").table
    writer = ledger.writer("t", flush_ms=HELD_MS)
    rows = [{"id": 1, "name": "a"}, {"id": 2}, {"id": 3, "name": "c"}]
    outcomes = [writer.append(row) for row in rows]
    change(memory.connect())
    with suppress(ValueError):
        writer.close()
    kept = [at for at, each in enumerate(outcomes, 1) if each.exception() is None]
    found = ledger.scan(number, columns=["id"]).to_arrow()["id"].to_pylist()
    assert kept == sorted(found) == left
    assert [bool(file.rows) for file in ledger.scan(number).files] == (
        [False] if change is unset else [True] * len({*versions([outcomes[at - 1] for at in left])})
    )


def test_rows_for_a_column_that_another_client_added_are_accepted(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    with ledger.writer("t") as writer:
        first = writer.append({"id": 1})
        add_column(memory.connect())
        second = writer.append(iter([{"id": 2, "n": 5}]))
    assert (ids(ledger), ledger.scan("t", "n = 5").count()) == ([1, 2], 1)
    assert versions([first]) <= versions([second])


def test_a_dropped_table_loses_its_waiting_rows_by_name(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    writer = ledger.writer("t", flush_ms=HELD_MS)
    outcomes = [writer.append({"id": number}) for number in range(3)]
    memory.connect().drop_table("t")
    with pytest.raises(UnknownTableError) as lost:
        writer.close()
    assert "3 appends to table t are not committed" in lost.value.__notes__[0]
    assert {each.exception() for each in outcomes} == {lost.value}
    writer.close()
    with pytest.raises(ValueError, match="the writer of table t is closed"):
        writer.append({"id": 4})


@pytest.mark.parametrize("is_done", [True, False])
def test_an_unknown_outcome_is_unknown_to_each_append_and_nothing_is_repeated(
    ledger: Ledger, memory: InMemoryLedger, *, is_done: bool
) -> None:
    """The commit takes effect, or it never arrives: the client cannot tell."""
    assert isinstance(memory.log, MemoryLog)
    log = LossyLog(of=memory.log)
    settings = ClientSettings(timeout_s=1.0, attempt_s=0.2)
    near = memory.connect(log=log, settings=settings)
    writer = near.writer("t", flush_ms=HELD_MS)
    known = writer.append({"id": 0})
    writer.flush()
    fault, topic = (log.away, Topic.EVENTS) if is_done else (log.lost, Topic.COMMANDS)
    fault[topic] = ALWAYS
    outcomes = [writer.append({"id": number}) for number in (1, 2)]
    with pytest.raises(OutcomeUnknownError) as lost:
        writer.flush()
    log.heal()
    writer.append({"id": 3})
    writer.close()
    assert known.exception() is None
    assert {each.exception() for each in outcomes} == {lost.value}
    assert "2 appends to table t may be committed" in lost.value.__notes__[0]
    assert ids(ledger) == ([0, 1, 2, 3] if is_done else [0, 3])


@pytest.mark.parametrize("fault", ["lost", "unacknowledged", "doubled"])
def test_a_commit_that_is_struck_is_done_once(tmp_path: Path, fault: str) -> None:
    log = LossyLog()
    with InMemoryLedger(log=log) as memory:
        ledger = memory.connect(settings=ClientSettings(timeout_s=20.0, attempt_s=0.1))
        ledger.create_table("t", COLUMNS, properties=INLINE, location=str(tmp_path))
        with ledger.writer("t", flush_ms=0) as writer:
            for number in range(20):
                getattr(log, fault)[Topic.COMMANDS] = number % 3
                writer.append({"id": number})
                writer.flush()
        assert ids(ledger) == list(range(20))


@pytest.mark.parametrize("problem", [KeyError("body"), KeyboardInterrupt()], ids=repr)
def test_a_block_that_raises_commits_what_was_accepted(
    ledger: Ledger, problem: BaseException
) -> None:
    with pytest.raises(type(problem)) as raised:
        raise_in_block(ledger, problem)
    assert (ids(ledger), getattr(raised.value, "__notes__", [])) == ([1], [])


def raise_in_block(
    ledger: Ledger, problem: BaseException, before: Callable[[], object] = list
) -> None:
    with ledger.writer("t", flush_ms=HELD_MS) as writer:
        writer.append({"id": 1})
        before()
        raise problem


def test_a_block_that_raises_says_what_is_not_committed(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    with pytest.raises(KeyError) as raised:
        raise_in_block(ledger, KeyError("body"), lambda: memory.connect().drop_table("t"))
    (note,) = raised.value.__notes__
    assert "1 append to table t are not committed" in note


def test_an_error_that_a_call_has_got_is_not_raised_again(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    with ledger.writer("t", flush_ms=0) as writer:
        memory.connect().drop_table("t")
        with pytest.raises(LedgerError):
            writer.append({"id": 1}).result(60)


def test_the_end_of_the_ledger_commits_what_its_writers_have(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    other = memory.connect()
    writer = other.writer("t", flush_ms=HELD_MS)
    waiting = writer.append({"id": 1})
    other.close()
    assert (waiting.done(), ids(ledger)) == (True, [1])
    with pytest.raises(LogError):
        writer.append({"id": 2})


def test_appends_wait_while_too_many_rows_wait(memory: InMemoryLedger, ledger: Ledger) -> None:
    with ledger.writer("t", flush_ms=0) as writer, ThreadPoolExecutor(1) as pool:
        memory.leader.stop()
        rows = pa.table({"id": pa.array(range(1_000))})
        calls = pool.submit(lambda: [writer.append(rows) for _ in range(40)])
        assert wait([calls], 0.5).not_done
        memory.leader = memory.standby("successor").start()
        outcomes = calls.result(60)
    assert len(set(versions(outcomes))) == 40
    assert ledger.scan("t").count() == 40_000


def test_impossible_writers_are_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="flush_ms must be 0 to 60000, got -1"):
        ledger.writer("t", flush_ms=-1)
    with pytest.raises(UnknownTableError):
        ledger.writer("nope")
    ledger.create_table("d", COLUMNS, layout="directories")
    with pytest.raises(LedgerError, match="folders"):
        ledger.writer("d")
