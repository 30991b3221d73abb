"""Watching a log: events as they come, in a line, and only those asked for."""

from itertools import takewhile

import pytest

from ledger.cli.log.log import tell_of_broker
from ledger.cli.log.watch import READ_MAX, condition, line_of, named_txns, shown_line, watch
from ledger.errors import LogUnavailableError, SettingsError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.process import ExitCode
from tests.command_line import invoked
from tests.core.parts import part, table_of
from tests.driver import Driver, write

GENESIS_POSITIONS = 3


@pytest.fixture
def driver() -> Driver:
    """Return a log in which one table was created and written to."""
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "db.t")
    driver.commit(session, 0, part(table, "DELETE", read_at=driver.state.position))
    return driver


def seen(driver: Driver, after: int | None) -> list[int]:
    found = takewhile(lambda event: event is not None, watch(driver.log, 0, after, 0.0))
    return [event.control.position for event in found if event is not None]


def test_watching_from_a_position_shows_what_follows_it_and_then_waits(driver: Driver) -> None:
    assert seen(driver, GENESIS_POSITIONS) == list(
        range(GENESIS_POSITIONS + 1, driver.state.position + 1)
    )


def test_all_that_is_there(driver: Driver) -> None:
    """What is there already is shown to its end, however many reads that takes."""
    sessions = [driver.open_session() for _ in range(READ_MAX)]

    assert seen(driver, 0)[-1] == driver.state.position == sessions[-1]


def test_without_a_position_what_is_there_already_is_not_shown(driver: Driver) -> None:
    watching = watch(driver.log, 0, None, 0.0)
    before = next(watching)
    driver.open_session("bob")
    event = next(watching)

    assert before is None
    assert event == driver.events[-1]


@pytest.mark.parametrize(
    ("texts", "positions"),
    [
        (["type=txncommitted"], 1),
        (["operation=DELETE"], 1),
        (["table=1"], 2),
        (["table=01"], 2),
        (["table=1", "type=TableCreated"], 1),
        (["session=999"], 0),
        ([], 6),
    ],
)
def test_conditions(driver: Driver, texts: list[str], positions: int) -> None:
    """Conditions are all to hold, in any case of letters."""
    is_wanted = condition(texts)

    assert sum(is_wanted(line_of(event)) for event in driver.events) == positions


@pytest.mark.parametrize("text", ["type", "colour=red", "=1"])
def test_another_text_than_a_condition_is_refused_as_it_was_written(text: str) -> None:
    with pytest.raises(SettingsError, match=f"--where type=TxnCommitted.* got '{text}'$"):
        condition([text])


@pytest.mark.parametrize("text", ["txn=abc", "position=-1", "session=", "table=db.t"])
def test_what_no_number_can_be_equal_to_is_refused_rather_than_waited_for(text: str) -> None:
    with pytest.raises(SettingsError, match=f"'{text}' holds for no event: .* is a number"):
        condition([text])


def test_a_type_that_no_event_has_is_not_waited_for() -> None:
    with pytest.raises(SettingsError, match=r"'type=TxnCommited' holds for no .*, TxnCommitted,"):
        condition(["type=TxnCommited"])


def test_what_was_done_to_rows_is_told_in_the_words_of_a_tables_history(driver: Driver) -> None:
    session = driver.open_session()
    txn, other = (driver.open_txn(session) for _ in "ab")
    driver.commit(session, txn, write(1, operation="update"))
    driver.commit(session, other, write(1, operation="delete"))

    assert [line_of(event)["operation"] for event in driver.events[-2:]] == [["update"], ["delete"]]


def test_an_alter_without_a_name_is_called_as_in_its_tables_history(driver: Driver) -> None:
    event = driver.alter_table(driver.open_session(), 1, table_of(p="1"), "")

    assert line_of(event)["operation"] == ["ALTER TABLE"]


def test_an_event_about_several_txns_names_each_of_them(driver: Driver) -> None:
    session = driver.open_session()
    first = driver.open_txn(session, size=2)
    driver.allocate(session, [first, first + 1], [1])
    driver.tidy(txns=[first, first + 1])
    driver.forget(session, [first, first + 1])
    found = [line_of(event) for event in driver.events if first + 1 in named_txns(event)]
    is_wanted = condition([f"txn={first + 1}"])

    assert [line["type"] for line in found] == [
        "TxnOpened",
        "WriteIdsAllocated",
        "TxnsExpired",
        "AbortedForgotten",
    ]
    assert all(is_wanted(line) for line in found)
    assert all(f" txn {first},{first + 1} " in f"{shown_line(line)} " for line in found)


def test_a_line_says_where_when_what_and_to_which_table(driver: Driver) -> None:
    line = shown_line(line_of(driver.events[-1]))

    assert f" {driver.state.position} 2023-11-14T22:13:20.035Z " in f" {line}"
    assert "TxnCommitted txn 1 table 1 DELETE" in line


def test_what_is_about_no_txn_names_its_session(driver: Driver) -> None:
    session = driver.open_session()
    driver.open_txn(session)
    driver.close_session(session)
    is_wanted = condition([f"session={session}"])
    found = [line for line in map(line_of, driver.events) if is_wanted(line)]

    assert [shown_line(line).split()[2:] for line in found] == [
        ["SessionOpened", "session", str(session)],
        ["TxnOpened", "txn", "2"],
        ["SessionClosed", "txn", "2"],
    ]


class Away(MemoryLog):
    """A log whose broker is there or not."""

    is_away = False

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        if self.is_away:
            raise LogUnavailableError("no answer")
        return super().ends(topic, timeout_s)


def test_who_watches_is_told_once_that_a_broker_went(capsys: pytest.CaptureFixture[str]) -> None:
    log, was_away = Away(), False
    for log.is_away in (False, True, True, False, False):
        was_away = tell_of_broker(log, was_away=was_away)

    assert capsys.readouterr().err.splitlines() == [
        "nothing comes: no answer. Waiting for it",
        "the broker is back",
    ]


def test_to_show_what_is_to_come_without_waiting_shows_nothing() -> None:
    done = invoked("log", "tail", "--no-follow")

    assert done.exit_code == ExitCode.USAGE
    assert "give --after with a position, 0 for all" in done.stderr
