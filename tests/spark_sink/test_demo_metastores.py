"""The metastores of the demo: a log that is held back, their steps, and what would fail them."""

import io

import pytest
from rich.console import Console

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.log.port import LogReader, Topic
from ledger.log.wire.codec import read_control
from tests.demo.metastores.held_log import HeldLog
from tests.demo.metastores.metastore import Mode, TablePlace
from tests.demo.metastores.metastore_steps import WANTED, StepLine, differences, lines_of, short
from tests.demo.metastores.two_metastores import show
from tests.demo.report import CheckFailedError, Report
from tests.driver import Driver

AT_ONCE_S = 0.0


@pytest.fixture
def driver() -> Driver:
    """Return a domain with a term that began in the middle of it."""
    driver = Driver()
    driver.open_session()
    driver.fence()
    driver.open_session()
    return driver


def offsets(reader: LogReader) -> list[int]:
    """Return the offsets of what can be read now, two records at a time."""
    found = [each.offset for each in reader.read(2, AT_ONCE_S)]
    return found + offsets(reader) if found else []


def position_at(driver: Driver, offset: int) -> int:
    return read_control(driver.records[offset].value)[0].position


def test_log_is_read_up_to_a_position(driver: Driver) -> None:
    """Nothing behind the position is read before it moves on, and then all of it, in order."""
    log = HeldLog(driver.log)
    reader = log.reader(Topic.EVENTS, 0)
    end = len(driver.records)

    log.hold(position_at(driver, 3))
    before, next_offset = offsets(reader), reader.next_offset()
    log.hold(position_at(driver, end - 1))

    # The records at 3 and 5 have positions, the Fenced between them has none.
    assert (before, next_offset) == ([0, 1, 2, 3, 4], 5)
    assert offsets(reader) == list(range(5, end))
    assert reader.next_offset() == end


def test_log_is_read_whole_at_first(driver: Driver) -> None:
    log = HeldLog(driver.log)

    assert offsets(log.reader(Topic.EVENTS, 0)) == list(range(len(driver.records)))
    assert log.ends(Topic.EVENTS) == (0, len(driver.records))
    assert offsets(log.reader(Topic.COMMANDS, 0)) == []


def test_place_survives_the_pipe() -> None:
    place = TablePlace("host:1", "demo", "store", "many versions")

    assert TablePlace.read(place.line()) == place


def test_lists_are_written_as_on_the_page() -> None:
    assert short(ValidWriteIdList("t", 13, (8, 12), (7,), 8)) == "13:7,8,12"
    assert short(ValidWriteIdList("t", 13, (), (), None)) == "13:"


def test_steps_are_read_from_their_table() -> None:
    assert lines_of("1 | M1 alters | 1:1 * | - |\n2 | x | y | z | v0 cache hit") == [
        StepLine("1", "M1 alters", "1:1 *", "-", ""),
        StepLine("2", "x", "y", "z", "v0 cache hit"),
    ]


def test_both_walks_are_one() -> None:
    walks = [[(line.step, line.what) for line in WANTED[mode]] for mode in WANTED]

    assert walks[0] == walks[1]


@pytest.mark.parametrize(
    ("mode", "hits"), [("one version", "6 of 13"), ("many versions", "12 of 13")]
)
def test_steps_as_wanted_hold_the_check(mode: Mode, hits: str) -> None:
    shown = io.StringIO()
    show(Report(Console(file=shown, width=110)), mode, WANTED[mode])

    assert f"{hits} readers answered from a cache" in shown.getvalue()
    assert shown.getvalue().count("reader of") == 13


def test_step_that_differs_fails_the_demo() -> None:
    lines = list(WANTED["one version"])
    lines[9] = lines[9]._replace(answer="v14 cache hit")

    assert differences(lines, WANTED["one version"]) == [
        f"{lines[9]} instead of {WANTED['one version'][9]}"
    ]
    with pytest.raises(CheckFailedError, match="instead of StepLine"):
        show(Report(Console(file=io.StringIO())), "one version", lines)
