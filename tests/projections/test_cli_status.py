"""What `lakeledger status` says of the leader, of how far the rows are, and of what is away."""

import json
import socket
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import pytest

from ledger.cli.machine.status import leader_heard, rows_behind
from ledger.clock import AHEAD_MAX_MS, SystemClock
from ledger.config.address import Address
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.process import ExitCode
from projections.store.rocks_store import RocksStore
from tests.command_line import done_apart
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.followed import Followed

WAIT_S = 0.05
# Two seconds of waiting for the broker, and what a loaded machine takes to start a command.
SOON_S = 10.0
YEAR_S = 365 * 86_400
BEAT = b'{"epoch": 3, "sequencer": "one/7"}'
STRAY = [b"", b"\xff", b"7", b"[1, 2]", b'{"epoch": "x"}']


def heard(records: list[bytes]) -> dict[str, object] | None:
    """Return the leader in some records, as somebody hears it who waits."""
    log = MemoryLog()
    with closing(log.writer(Topic.BEATS)) as writer:
        for record in records:
            writer.append(b"0", record)
    with closing(log.reader(Topic.BEATS, 0)) as beats:
        return leader_heard(beats, WAIT_S)


@pytest.mark.parametrize(
    ("records", "leader"),
    [
        ([BEAT], {"epoch": 3, "sequencer": "one/7"}),
        ([*STRAY, BEAT], {"epoch": 3, "sequencer": "one/7"}),
        (STRAY, None),
        ([], None),
    ],
    ids=["beat", "beat behind strays", "strays", "silence"],
)
def test_leader_heard(records: list[bytes], leader: dict[str, object] | None) -> None:
    """What no leader wrote is passed over."""
    assert heard(records) == leader


@pytest.mark.parametrize(("ahead", "is_well"), [(0, True), (1, False)])
def test_rows_that_stay_behind_are_no_good_sign(ahead: int, *, is_well: bool) -> None:
    driver = Driver()
    end = driver.head.position + ahead

    reasons = rows_behind(StateReads(driver.log), end, 0.0)

    assert (reasons == []) == is_well
    assert all(f"the log at {end}" in reason for reason in reasons)


class Asked(NamedTuple):
    """What `lakeledger status` ended with, what it told a program, and how long it took."""

    code: int
    told: dict[str, Any]
    error: dict[str, Any]
    seconds: float


def asked(home: Path, **environ: str) -> Asked:
    began_s = monotonic()
    done = done_apart(home, "status", "-ojson", LAKELEDGER_HOME=str(home), **environ)
    *_, error = done.stderr.splitlines()
    return Asked(done.returncode, json.loads(done.stdout), json.loads(error), monotonic() - began_s)


def is_down(found: Asked, reason: str) -> bool:
    """Tell whether a status is that of a ledger that is not well, for a reason that it told."""
    said = (found.told["reason"], found.error["message"])
    return (
        found.code == found.error["exit_code"] == ExitCode.UNHEALTHY
        and found.told["healthy"] is False
        and all(reason in each for each in said)
    )


def test_where_no_ledger_is_up_none_is_well(tmp_path: Path) -> None:
    assert is_down(asked(tmp_path), "no ledger is up on this machine")
    assert is_down(asked(tmp_path, LAKELEDGER_LEDGER="lake"), "no ledger lake is up")


def test_a_ledger_that_was_killed_is_not_well(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    Address("127.0.0.1:9", "lake").write(tmp_path / "lake")
    (tmp_path / "lake/lock").touch()
    assert is_down(asked(tmp_path), "its `lakeledger up` was killed")


def test_a_person_is_told_the_reason_and_the_code_is_the_same(tmp_path: Path) -> None:
    done = done_apart(tmp_path, "status", LAKELEDGER_HOME=str(tmp_path))
    assert done.returncode == ExitCode.UNHEALTHY
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["healthy", "reason"]
    assert done.stderr.startswith("no ledger is up on this machine")


def test_without_a_broker_the_reason_is_told(tmp_path: Path) -> None:
    with RocksStore.open(tmp_path / "store") as rows:
        Followed(rows).follow()
    at = {"LAKELEDGER_BOOTSTRAP": "127.0.0.1:9", "LAKELEDGER_LEDGER": "demo"}
    found = asked(tmp_path, **at, LAKELEDGER_STORE=str(tmp_path / "store"))

    assert is_down(found, "127.0.0.1:9")
    assert found.told["position"] > 0
    assert is_down(asked(tmp_path, **at), "127.0.0.1:9")


@pytest.mark.parametrize("ahead_s", [-YEAR_S, AHEAD_MAX_MS // 2_000, YEAR_S])
def test_a_last_event_ahead_of_this_host_is_told(tmp_path: Path, ahead_s: int) -> None:
    with RocksStore.open(tmp_path / "store") as rows:
        followed = Followed(rows)
        followed.now = SystemClock().now_ms() + ahead_s * 1_000
        followed.open_session()
        followed.follow()
    at = {"LAKELEDGER_BOOTSTRAP": "127.0.0.1:9", "LAKELEDGER_STORE": str(tmp_path / "store")}
    found = asked(tmp_path, **at, LAKELEDGER_LEDGER="demo").told["times_ahead_s"]

    if ahead_s * 1_000 > AHEAD_MAX_MS:
        assert ahead_s - 2 * SOON_S < found <= ahead_s
    else:
        assert found is None


def test_a_broker_that_hangs_is_found_out_within_a_few_seconds(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:
        where = f"127.0.0.1:{hung.getsockname()[1]}"
        found = asked(tmp_path, LAKELEDGER_BOOTSTRAP=where)

    assert is_down(found, "no answer in time")
    assert found.seconds < SOON_S


def test_rows_behind_a_url_without_an_answer_are_another_reason(tmp_path: Path) -> None:
    at = {"LAKELEDGER_BOOTSTRAP": "127.0.0.1:9", "LAKELEDGER_READS_URL": "http://127.0.0.1:9"}
    found = asked(tmp_path, **at)

    assert is_down(found, "http://127.0.0.1:9")
    assert is_down(found, "; ")


@pytest.mark.parametrize(
    ("name", "value"),
    [("LAKELEDGER_SEQUENCER__LEASE_S", "x"), ("LAKELEDGER_BOOTSTRAP", "kafka:none")],
)
def test_wrong_settings_say_nothing_of_the_ledger(tmp_path: Path, name: str, value: str) -> None:
    environ = {"LAKELEDGER_BOOTSTRAP": "127.0.0.1:9", name: value}
    assert done_apart(tmp_path, "status", **environ).returncode == ExitCode.USAGE
