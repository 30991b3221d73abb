"""Coming up: a ledger is up when its rows can be read, and says what is missing until then."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ledger.config.address import Address
from ledger.errors import LedgerError, LogUnavailableError, RoleEndedError, SettingsError
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Record, Topic
from ledger.machine.coming_up import answer_of, newest_of, reached, wait_for_answers, wait_for_rows
from ledger.machine.endpoints import endpoint_of, free_endpoint
from ledger.machine.process import FINAL, ExitCode, exit_code
from ledger.machine.staying_up import next_step
from ledger.machine.supervisor import SupervisedRole, Supervisor
from projections.store.rocks_store import RocksStore
from tests.driver import Driver
from tests.projections.followed import Followed

SHELL = ("/bin/sh", "-c")
SOON_S = 0.3
FAR_S = 0.5
PATIENCE_S = 60.0


@contextmanager
def supervised(script: str) -> Iterator[Supervisor]:
    supervisor = Supervisor([SupervisedRole("role", (script,), SHELL)], stop_s=SOON_S)
    supervisor.start()
    yield supervisor
    supervisor.stop()


def test_rows_that_have_come_as_far_as_the_log_need_no_waiting(tmp_path: Path) -> None:
    said: list[str] = []
    with RocksStore.open(tmp_path) as store, supervised("read -r line") as supervisor:
        domain = Followed(store)
        domain.follow()
        newest = domain.head.position
        assert wait_for_rows(tmp_path, newest, supervisor, said.append, rows_s=PATIENCE_S)
    assert said == []


@pytest.mark.parametrize("made", [True, False])
def test_rows_that_are_behind_are_waited_for_a_while(tmp_path: Path, *, made: bool) -> None:
    said: list[str] = []
    position = 0
    with supervised("read -r line") as supervisor:
        if made:
            with RocksStore.open(tmp_path) as store:
                domain = Followed(store)
                domain.follow()
                position = domain.head.position
        assert not wait_for_rows(tmp_path, 99, supervisor, said.append, rows_s=SOON_S, tell_s=0.0)
    assert said[0] == f"the rows are still being made: position {position} of 99 can be read"


@pytest.mark.parametrize("code", sorted(FINAL))
def test_up_waits_for_no_rows_after_a_role_has_ended(tmp_path: Path, code: ExitCode) -> None:
    said = f"role ended at once with code {code};"
    with supervised(f"exit {code}") as supervisor, pytest.raises(LedgerError, match=said) as raised:
        wait_for_rows(tmp_path, 1, supervisor, print, rows_s=PATIENCE_S)

    assert exit_code(raised.value) is code


def test_answers_are_waited_for() -> None:
    with supervised("read -r line") as supervisor, closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert not wait_for_answers(url, supervisor, answers_s=SOON_S)
        server.listen()
        assert wait_for_answers(url, supervisor, answers_s=PATIENCE_S)


def test_what_the_log_has_reached_is_told_by_its_last_records() -> None:
    driver = Driver()
    driver.open_session()
    end = driver.log.ends(Topic.EVENTS)[1]
    strange = Record(end, b"", b"no event", 0)

    assert reached(driver.log) == driver.head.position
    assert newest_of([*driver.records, strange]) == driver.head.position
    assert newest_of([strange]) == newest_of([]) == 1


class FarReader(MemoryLogReader):
    """Reads nothing within less time than it takes to reach a broker far away, and to log in."""

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, or none if they are waited for too shortly."""
        return super().read(limit, timeout_s) if timeout_s >= FAR_S else []


class FarLog(MemoryLog):
    """A log that was written near, and is read from far away."""

    def __init__(self, of: MemoryLog) -> None:
        super().__init__()
        self.topics, self.changed = of.topics, of.changed

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        return FarReader(self, self.topics[topic], offset)


def test_rows_that_lag_do_not_count_as_there_because_the_broker_is_not_reached_at_once() -> None:
    driver = Driver()
    driver.open_session()

    assert reached(FarLog(driver.log)) == driver.head.position


def speaks_v6() -> bool:
    """Tell whether this machine has a loopback of the newer Internet protocol."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


V6 = pytest.param(
    "[::1]", marks=pytest.mark.skipif(not speaks_v6(), reason="this machine has no IPv6")
)


@pytest.mark.parametrize("host", ["127.0.0.1", V6, "0.0.0.0"])  # noqa: S104 - what is asked for
def test_where_any_port_will_do_one_is_chosen_so_that_clients_can_be_told(host: str) -> None:
    found = endpoint_of(f"{host}:0")
    assert found.startswith(f"{host}:")
    assert int(found.rpartition(":")[2]) > 0


@pytest.mark.parametrize("host", ["127.0.0.1", V6, "localhost"])
def test_a_port_that_is_named_is_taken_as_it_is(host: str) -> None:
    http = f"{host}:{free_endpoint().port}"
    assert [endpoint_of(each) for each in (http, "off")] == [http, "off"]


def test_a_port_at_which_somebody_listens_is_named_before_anything_is_started_or_removed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        http = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"listen at {http}: .*Name another host or port"):
            endpoint_of(http)


def test_a_host_at_which_no_server_here_can_listen_is_named() -> None:
    with pytest.raises(SettingsError, match=r"listen at 192\.0\.2\.1:0"):
        endpoint_of("192.0.2.1:0")


class BusyLog(MemoryLog):
    """A log whose broker is too busy for some answers."""

    late = 0

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        self.late -= 1
        if self.late >= 0:
            raise LogUnavailableError(f"lake.{topic}: no answer in time")
        return super().ends(topic, timeout_s)


@pytest.mark.parametrize(("late", "ready_s"), [(0, 0.0), (1, PATIENCE_S), (3, PATIENCE_S)])
def test_a_broker_of_a_busy_machine_is_asked_again(late: int, ready_s: float) -> None:
    log = BusyLog()
    with supervised("read -r line") as supervisor:
        log.late = late
        assert answer_of(lambda: log.ends(Topic.BEATS), supervisor, ready_s=ready_s) == (0, 0)
        log.late = 1_000
        with pytest.raises(LogUnavailableError, match="no answer in time"):
            answer_of(lambda: log.ends(Topic.BEATS), supervisor, ready_s=SOON_S)


def test_a_role_that_ended_for_good_ends_the_wait_for_a_broker() -> None:
    log = BusyLog()
    log.late = 1_000
    with supervised(f"exit {ExitCode.USAGE}") as supervisor, pytest.raises(RoleEndedError):
        answer_of(lambda: log.ends(Topic.BEATS), supervisor, ready_s=PATIENCE_S)


# The ledgers that are up in a home, whether the environment leads there, and the next step.
ALONE = "lakeledger status, or in Python: Ledger.connect()"
NAMED = "lakeledger status --ledger sea, or in Python: Ledger.connect(ledger='sea')"


@pytest.mark.parametrize(
    ("others", "environ", "wanted"),
    [
        ((), {}, ALONE),
        (("lake",), {}, NAMED),
        (("lake",), {"LAKELEDGER_LEDGER": "sea"}, ALONE),
        (("lake",), {"LAKELEDGER_LEDGER": "lake"}, NAMED),
        ((), {"LAKELEDGER_HOME": "/nowhere"}, "export LAKELEDGER_HOME={home}, then " + NAMED),
    ],
)
def test_what_is_said_to_do_next_leads_to_this_ledger_whatever_else_is_up(
    others: Sequence[str], environ: dict[str, str], wanted: str, tmp_path: Path
) -> None:
    for number, name in enumerate(("sea", *others)):
        folder = tmp_path / name
        folder.mkdir()
        Address(f"127.0.0.1:{9000 + number}", name, folder / "store").write(folder)
    own = Address.read(tmp_path / "sea")
    assert own is not None
    found = next_step(own, {"LAKELEDGER_HOME": str(tmp_path), **environ})
    assert found == wanted.format(home=tmp_path)
