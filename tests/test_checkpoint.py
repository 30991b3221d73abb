"""State checkpoints: what of them stays in the topic."""

import gc
import json
from collections.abc import Sequence
from contextlib import closing
from typing import Final

import pytest

from ledger.config.settings import SequencerSettings
from ledger.core.acceptance import LogHead
from ledger.core.state.domain import DomainState
from ledger.errors import IncompatibleError, LogUnavailableError
from ledger.log.checkpoints import (
    BYTES_PER_POSITION,
    FORMAT,
    KEPT,
    Checkpoint,
    CheckpointWriter,
    chunk_key,
    dump,
    load,
    manifest_key,
    read_newest,
    read_newest_head,
    read_values,
    written,
)
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Record, Topic
from ledger.testing import InMemoryLedger
from ledger.version import READER_VERSION
from tests.driver import Driver

NAMED_AT: Final = 6
"""The place in the form of a table of what named it."""

GARBAGE_LOOKED_FOR_EACH: Final = 700
"""So many objects more, and Python's collector looks at the young ones."""


@pytest.mark.parametrize("each", [1, 2, 5])
def test_only_the_newest_checkpoints_stay(each: int) -> None:
    with InMemoryLedger(settings=SequencerSettings(checkpoint_positions=1)) as memory:
        ledger = memory.connect()
        for _ in range(4):
            with closing(memory.standby().sequencer) as sequencer:
                for _ in range(each):
                    position = ledger.begin().abort().position
                    while sequencer.state.position < position:
                        sequencer.step(0.0)
        values = read_values(memory.log, *memory.log.ends(Topic.CHECKPOINTS))
        last = read_newest(memory.log, 0)

    assert last is not None
    assert last.head.position == position
    assert len(written(values, 0)) == KEPT
    assert sum(map(bool, values.values())) == KEPT * 2


def test_large_states_are_written_rarely() -> None:
    with InMemoryLedger(settings=SequencerSettings(checkpoint_positions=1)) as memory:
        ledger = memory.connect()
        ledger.create_table("t", location="x" * 100 * BYTES_PER_POSITION)
        positions = set[int]()
        with closing(memory.standby().sequencer) as sequencer:
            while len(positions) < 3:
                position = ledger.begin().abort().position
                while sequencer.state.position < position:
                    sequencer.step(0.0)
                values = read_values(memory.log, *memory.log.ends(Topic.CHECKPOINTS))
                positions.update(each.position for each in written(values, 0))

    first, second, third = sorted(positions)
    assert min(second - first, third - second) >= 100


def test_half_a_checkpoint() -> None:
    """Chunks that a killed process left without a manifest go before any whole checkpoint.

    What no sequencer wrote stays where it is, and is in nobody's way.
    """
    log = MemoryLog()
    writer = log.writer(Topic.CHECKPOINTS)
    CheckpointWriter(writer, 0).write(at_position(1))
    for number in (0, 2):
        writer.append(chunk_key(0, 2, number), b"half")
    writer.append(chunk_key(1, 2, 0), b"of another domain")
    for stray in (b"", b"0/2", b"0/2/x", b"0/2/3/4", b"\xff/2/3"):
        writer.append(stray, b"of no sequencer")
    before = written(read_values(log, *log.ends(Topic.CHECKPOINTS)), 0)

    CheckpointWriter(writer, 0, before).write(at_position(3))

    left = read_values(log, *log.ends(Topic.CHECKPOINTS))
    assert before == [(2, 3), (1, 1)]
    assert written(left, 0) == [(1, 1), (3, 1)]
    assert left[chunk_key(1, 2, 0)]


@pytest.mark.parametrize("stray", [b"\xff", b"{}", b"null", b"[" * 100_000, b'{"position": 9}'])
def test_what_is_no_manifest_under_the_key_of_one_hides_no_checkpoint(stray: bytes) -> None:
    log, domain = MemoryLog(), Driver()
    domain.open_session()
    writer = log.writer(Topic.CHECKPOINTS)
    CheckpointWriter(writer, 0).write(Checkpoint(domain.state, domain.head, 3))
    writer.append(manifest_key(0, 9), stray)

    found = read_newest(log, 0)

    assert found is not None
    assert (found.head, 3) == (domain.head, found.offset)
    assert read_newest_head(log, 0) == (domain.head, 3)
    assert len(written(read_values(log, *log.ends(Topic.CHECKPOINTS)), 0)) == 1


class StalledReader(MemoryLogReader):
    """Reads nothing in time at first, as from a broker that is busy."""

    is_stalled = True

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records from the second time on."""
        if self.is_stalled:
            self.is_stalled = False
            return []
        return super().read(limit, timeout_s)


class StalledLog(MemoryLog):
    """A log whose broker stalls, and then tells the end of a topic only so many times more."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        return StalledReader(self, self.topics[topic], offset)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the first offset and the end offset, as long as the broker is there."""
        if not self.answers:
            raise LogUnavailableError("the broker is away")
        self.answers -= 1
        return super().ends(topic, timeout_s)


def test_broker_that_stalls() -> None:
    """A checkpoint that does not come at once is there all the same: without it all is read."""
    log = StalledLog(answers=2)
    CheckpointWriter(log.writer(Topic.CHECKPOINTS), 0).write(at_position(7))

    found = read_newest(log, 0)

    assert found is not None
    assert found.head.position == 7


def test_who_cannot_read_the_checkpoints_is_told_so_and_does_not_take_them_for_none() -> None:
    log = StalledLog(answers=1)
    CheckpointWriter(log.writer(Topic.CHECKPOINTS), 0).write(at_position(7))

    with pytest.raises(LogUnavailableError, match="away"):
        read_newest(log, 0)


@pytest.mark.parametrize("number", [2, FORMAT])
def test_formats_read(number: int) -> None:
    """One of the version before is read too: it knew where a table was named, not by whom."""
    driver = Driver()
    driver.create_table(driver.open_session(), "flights")
    form = json.loads(dump(driver.state, LogHead(), 7))
    if number < FORMAT:
        form["format"] = number
        for table in form["tables"]:
            table[NAMED_AT] = table[NAMED_AT][0]

    loaded = load(json.dumps(form).encode())

    (known,), (table,) = (each.tables.by_id.values() for each in (loaded.state, driver.state))
    assert (known.named.position, loaded.offset) == (table.named.position, 7)
    assert (known == table) == (number == FORMAT)


def test_text_as_it_is() -> None:
    driver = Driver()
    driver.create_table(driver.open_session("Zoë"), "flüge")
    data = dump(driver.state, driver.head, 7)

    assert all(text.encode() in data for text in ("Zoë", "flüge"))
    escaped = json.dumps(json.loads(data)).encode()
    assert dump(*load(escaped)) == dump(*load(data)) == data


def test_no_garbage_is_looked_for() -> None:
    driver, starts = Driver(), list[str]()
    session = driver.open_session()
    for number in range(GARBAGE_LOOKED_FOR_EACH):
        driver.create_table(session, f"t{number}")
    data = dump(driver.state, driver.head, 0)

    def note(phase: str, _: object) -> None:
        starts.append(phase)

    gc.callbacks.append(note)
    try:
        load(data)
    finally:
        gc.callbacks.remove(note)
    assert starts.count("start") <= 1
    assert gc.isenabled()


@pytest.mark.parametrize("number", [1, FORMAT + 1, None])
def test_a_checkpoint_of_another_version_is_refused(number: int | None) -> None:
    form = json.loads(dump(DomainState(), LogHead(), 0)) | {"format": number}

    with pytest.raises(IncompatibleError, match=f"format {number}, this version reads {FORMAT};"):
        load(json.dumps(form).encode())


def test_a_state_that_a_later_version_folded_is_led_from_by_that_version_alone() -> None:
    form = json.loads(dump(DomainState(), LogHead(1, 7), 0)) | {"reader": READER_VERSION + 1}

    with pytest.raises(IncompatibleError, match=f"version {READER_VERSION + 1} from position 7"):
        load(json.dumps(form).encode())


def at_position(position: int) -> Checkpoint:
    return Checkpoint(DomainState(position=position), LogHead(1, position), 0)
