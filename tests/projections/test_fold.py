"""The fold: the same rows whatever the batches and crashes, and no step onto another log."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.commands import OpenTxn
from ledger.core.decide.stamp import internal_control
from ledger.core.events.events import CatalogCreated, Fenced, WriteIdsAllocated
from ledger.core.events.parts import AllocatedId
from ledger.errors import (
    EventsLostError,
    IncompatibleError,
    LogDamagedError,
    LogError,
    OffsetGoneError,
    StateBrokenError,
)
from ledger.log.memory import MemoryLog
from ledger.log.port import Record, Topic
from ledger.log.wire.codec import frame_event, frame_fence
from ledger.version import READER_VERSION
from projections.errors import StoreForeignError
from projections.fold.fold import Fed, Fold
from projections.reads.lookups import position
from projections.rows.keys import CHECKPOINT
from projections.store.memory import MemoryStore
from projections.store.port import RowChange, RowStore
from projections.store.rocks_store import RocksStore
from tests.core.histories import Step, played, random_steps, steps
from tests.driver import Driver, write
from tests.projections.digests import digest
from tests.projections.filing import filed, filings, random_filings
from tests.projections.followed import PATIENT

EVERY = 7
ROWS = 40

Fate = Literal["goes on", "stores its state", "dies after the write", "dies before the write"]


class Killed(Exception):  # noqa: N818 - it stands for the end of a process
    """The process ended here."""


class MortalStore(MemoryStore):
    """A store whose process dies before the write of a batch, if told so."""

    is_dying = False

    def write(self, changes: Sequence[RowChange]) -> None:
        if self.is_dying:
            raise Killed
        super().write(changes)


def log_with(records: Sequence[Record]) -> MemoryLog:
    log = MemoryLog()
    log.topics[Topic.EVENTS].records.extend(records)
    return log


def kept(store: RowStore, records: Sequence[Record], *, every: int = EVERY) -> RowStore:
    """Return the store after all records that it has not seen."""
    fold = Fold.load(store, log_with(records), checkpoint_every=every)
    fold.feed(records[fold.offset :])
    return store


def survived(driver: Driver, plan: Sequence[tuple[int, Fate]]) -> RowStore:
    """Return a store that was fed batches of the sizes of a plan, through all the deaths in it."""
    store, records = MortalStore(), driver.records
    bounds: dict[str, Any] = {"checkpoint_every": EVERY, "rows_per_write": ROWS}
    fold = Fold.load(store, driver.log, **bounds)
    plans = cycle(plan)
    while fold.mark.position < driver.head.position:
        size, fate = next(plans)
        store.is_dying = fate == "dies before the write"
        with suppress(Killed):
            fold.feed(records[fold.offset : fold.offset + size])
        store.is_dying = False
        if fate == "stores its state":
            fold.store_checkpoint()
        if fate != "goes on":
            fold = Fold.load(store, driver.log, **bounds)
    return store


PLANS = st.lists(
    st.tuples(
        st.integers(1, 2 * EVERY),
        st.sampled_from(
            ("goes on", "stores its state", "dies after the write", "dies before the write")
        ),
    ),
    max_size=8,
).map(lambda plan: [*plan, (3 * EVERY, "goes on")])


@PATIENT
@given(history=steps(min_size=30), plan=PLANS)
def test_kept_equals_rebuilt(history: list[Step], plan: list[tuple[int, Fate]]) -> None:
    """A store that lived through any batches and crashes is the one made in one go (law 10)."""
    driver = played(history).driver

    assert digest(survived(driver, plan)) == digest(kept(MemoryStore(), driver.records))


@PATIENT
@given(history=filings(), plan=PLANS)
def test_kept_equals_rebuilt_with_files(history: list[Step], plan: list[tuple[int, Fate]]) -> None:
    """The same for files, whose rows depend on what is stored and on what is about to be."""
    driver = filed(history)

    assert digest(survived(driver, plan)) == digest(kept(MemoryStore(), driver.records))


@pytest.mark.parametrize("seed", range(3))
def test_kept_equals_rebuilt_in_a_long_history(seed: int) -> None:
    """The same, far from the beginning and with full lists among the rows."""
    driver = played(random_steps(seed, 700)).driver
    plan: list[tuple[int, Fate]] = [
        (5, "goes on"),
        (40, "dies after the write"),
        (9, "dies before the write"),
    ]

    assert digest(survived(driver, plan)) == digest(kept(MemoryStore(), driver.records))


@pytest.mark.parametrize("seed", range(2))
def test_a_store_on_disk_holds_what_one_in_memory_does(seed: int, tmp_path: Path) -> None:
    records = played(random_steps(seed, 300)).driver.records

    with RocksStore.open(restarted(tmp_path / "store", records)) as store:
        assert digest(store) == digest(kept(MemoryStore(), records))


def test_files_kept_on_disk(tmp_path: Path) -> None:
    """The same for a long history of files."""
    records = filed(random_filings(1, 250)).records

    with RocksStore.open(restarted(tmp_path / "store", records)) as store:
        assert digest(store) == digest(kept(MemoryStore(), records))


def restarted(root: Path, records: Sequence[Record]) -> Path:
    for end in range(50, len(records) + 50, 50):
        with RocksStore.open(root) as store:
            kept(store, records[:end])
    return root


@PATIENT
@given(history=steps(min_size=30), cut=st.integers(0, 60))
def test_split(history: list[Step], cut: int) -> None:
    """Folding a log in two parts gives the state of folding it at once (law 2)."""
    driver = played(history).driver
    records = driver.records
    whole, parts = (Fold.load(MemoryStore(), driver.log) for _ in range(2))
    whole.feed(records)
    parts.feed(records[:cut])
    parts.feed(records[cut:])

    assert parts.state == whole.state


def test_a_fold_that_checks_its_state_stores_no_checkpoint_of_one_that_contradicts_itself() -> None:
    driver, store = played(random_steps(1, 20)).driver, MemoryStore()
    fold = Fold.load(store, driver.log, checks_state=True)
    fold.feed(driver.records)
    fold.state.txns.mapped += 1

    with pytest.raises(StateBrokenError, match="write_ids_are_dense"):
        fold.store_checkpoint()

    assert store.get(CHECKPOINT) is None


def test_a_batch_reports_how_far_it_came_what_counted_and_what_did_not() -> None:
    driver = Driver()
    driver.fence()
    driver.zombie(CatalogCreated("late"))

    assert Fold.load(MemoryStore(), driver.log).feed(driver.records) == Fed(4, applied=4, dropped=1)


class Measured(MemoryStore):
    """A store that notes how many rows were written at a time."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        super().__init__()
        self.sizes.clear()

    def write(self, changes: Sequence[RowChange]) -> None:
        self.sizes.append(len(changes))
        super().write(changes)


def test_many_rows_are_written_in_parts() -> None:
    driver = played(random_steps(1, 300)).driver
    of_each, in_parts = Measured(), Measured()
    one_by_one = Fold.load(of_each, driver.log)
    for record in driver.records:
        one_by_one.feed([record])
    fold = Fold.load(in_parts, driver.log, rows_per_write=ROWS)
    fold.feed(driver.records)

    assert max(in_parts.sizes) < ROWS + max(of_each.sizes)
    assert len(in_parts.sizes) == fold.tally.batches > len(driver.records) // ROWS
    assert digest(in_parts) == digest(of_each)


def test_events_whose_rows_are_stored_and_records_that_do_not_count_change_no_row() -> None:
    driver = Driver()
    driver.fence()
    store = kept(MemoryStore(), driver.records)
    before = digest(store)
    driver.zombie(CatalogCreated("late"))

    assert Fold.load(store, driver.log).feed(driver.records) == Fed(4, applied=4, dropped=1)
    assert digest(store) == before


def test_event_that_does_not_fit() -> None:
    driver = Driver()
    session = driver.open_session()
    store = kept(MemoryStore(), driver.records)
    before = digest(store)
    driver.open_txn(session)
    body = WriteIdsAllocated([AllocatedId(table=7, txn=1, write_id=1)])
    control = internal_control(driver.head, body, driver.now)
    control = control._replace(cmd=driver.head.last_cmd + 1)
    driver.append(frame_event(control, body, driver.head.chain)[1])

    with pytest.raises(KeyError, match="7"):
        kept(store, driver.records)
    assert digest(store) == before


def log_of(
    shared: int, own: int, *, name: str = "ours", fence: bool = False, late: int = 0
) -> Driver:
    """Return a domain whose first 5 + `shared` events are those of every such domain."""
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "flights")
    for _ in range(shared):
        driver.commit(session, 0, write(table))
    for _ in range(fence):
        driver.fence()
    for number in range(own):
        driver.open_session(name, nonce=b"%016d" % number)
    for _ in range(late):
        driver.append(driver.records[0].value)
    return driver


# 33 events, the newest checkpoint at the 28th.
OURS = log_of(24, 4)


def test_after_a_restart_only_the_records_from_the_newest_checkpoint_on_are_read_again() -> None:
    store = kept(MemoryStore(), OURS.records)
    fold = Fold.load(store, OURS.log)

    assert (fold.position, fold.offset, fold.mark.position) == (28, 27, 33)


@pytest.mark.parametrize(
    "theirs",
    [
        log_of(20, 30, name="theirs"),
        log_of(24, 30, name="theirs"),
        log_of(24, 30, name="theirs", fence=True),
        log_of(24, 0, late=30),
    ],
    ids=["before the checkpoint", "after it", "by another leader", "without events that count"],
)
def test_a_log_with_another_end_is_found_before_a_row_changes(theirs: Driver) -> None:
    store = kept(MemoryStore(), OURS.records)
    before = digest(store)
    fold = Fold.load(store, theirs.log)

    with pytest.raises(LogDamagedError, match="differs from the one that the rows were made from"):
        fold.feed(theirs.records[fold.offset :])
    assert digest(store) == before


@pytest.mark.parametrize(
    ("first", "end", "error"),
    [(0, 32, LogDamagedError), (28, 40, OffsetGoneError)],
    ids=["lost its end", "lost its beginning"],
)
def test_shortened_log(first: int, end: int, error: type[LogError]) -> None:
    """A log that no longer holds what the rows were made from, or what comes next, is refused."""
    fold = Fold.load(kept(MemoryStore(), OURS.records), OURS.log)

    with pytest.raises(error):
        fold.check_log(first, end)


@pytest.mark.parametrize(("first", "end"), [(0, 33), (27, 33), (0, 90)])
def test_a_log_with_the_newest_checkpoint_and_the_rest_is_followed(first: int, end: int) -> None:
    Fold.load(kept(MemoryStore(), OURS.records), OURS.log).check_log(first, end)


def test_a_new_store_cannot_be_made_from_a_log_whose_first_records_were_removed() -> None:
    with pytest.raises(OffsetGoneError, match="--rebuild"):
        Fold.load(MemoryStore(), MemoryLog()).check_log(1, 9)


def test_rows_of_one_topic_are_not_continued_from_another_even_one_of_the_same_name() -> None:
    driver = Driver()
    store = kept(MemoryStore(), driver.records)
    driver.log.recreate(Topic.EVENTS)
    driver.log.writer(Topic.EVENTS).append(b"", b"an event of another ledger")

    with pytest.raises(StoreForeignError, match="--rebuild"):
        Fold.load(store, driver.log)


def test_rows_of_a_topic_that_is_empty_are_not_made_anew_of_nothing() -> None:
    driver = Driver()
    store = kept(MemoryStore(), driver.records)
    driver.log.recreate(Topic.EVENTS)

    with pytest.raises(EventsLostError, match=f"rows go up to position {driver.head.position}"):
        Fold.load(store, driver.log)


def later_fence(driver: Driver) -> bytes:
    control = driver.events[0].control._replace(epoch=2)
    return frame_fence(control, Fenced(b"n" * 16, "later", 2, READER_VERSION + 1))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (lambda _: b"what is this", LogDamagedError),
        (lambda d: d.records[3].value[:-1], LogDamagedError),
        (lambda d: d.records[3].value.replace(b"ada", b"bob"), LogDamagedError),
        (later_fence, IncompatibleError),
    ],
    ids=["no event", "cut short", "changed", "of a later version"],
)
def test_unreadable_record(value: Callable[[Driver], bytes], error: type[Exception]) -> None:
    """A reader stops at the first record it cannot take, with the rows of all before it stored."""
    driver = Driver()
    driver.open_session("ada")
    records = [*driver.records[:3], driver.records[3]._replace(value=value(driver))]
    store = MemoryStore()

    with pytest.raises(error):
        Fold.load(store, log_with(records)).feed(records)
    assert position(store) == 3


def test_the_error_names_the_position_of_the_first_bad_record() -> None:
    driver = Driver()
    driver.append(b"what is this")

    with pytest.raises(LogDamagedError, match="position 4"):
        Fold.load(MemoryStore(), driver.log).feed(driver.records)


def test_a_client_that_counts_backwards_is_answered_and_its_number_never_becomes_a_key() -> None:
    driver = Driver()
    session = driver.open_session()
    driver.ask(OpenTxn(session, -7, 2**62, "default", 1, 0))

    assert Fold.load(MemoryStore(), driver.log).feed(driver.records).position == 5
