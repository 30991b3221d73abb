"""The commands about trims on a real Kafka: refusals by name, a trim, and what status shows."""

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import urllib3

from ledger.backup.joined import joined_log
from ledger.clock import SystemClock
from ledger.log.consumers import Consumer, register
from ledger.log.port import Topic
from ledger.log.replay import verify
from ledger.machine.process import ExitCode
from tests.trimming.conftest import TrimBench
from tests.web.looks import first_look
from tests.web.test_ui import Seen

pytestmark = pytest.mark.kafka


BELOW: Final = ("--below", "8")


def refused(
    bench: TrimBench, *more: str, code: ExitCode = ExitCode.FAILED, asks: bool = False
) -> str:
    """Return why a trim is refused, which changes nothing; if it `asks` the leader, events come."""
    before, state = ends_of(bench), verify(joined_log(bench.log)).digest
    path = ("--backup", str(bench.backup))
    done = bench.run("log", "trim", *(more or BELOW), *path, "--yes")
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    after, now = ends_of(bench), verify(joined_log(bench.log)).digest
    assert (after[0][0], after[1]) == (before[0][0], before[1])
    assert asks or (after, now) == (before, state)
    return done.stderr


def ends_of(bench: TrimBench) -> Sequence[tuple[int, int]]:
    """Return first and end offset of events and marks."""
    return [bench.log.ends(topic) for topic in (Topic.EVENTS, Topic.CATALOGS)]


@contextmanager
def damaged(file: Path) -> Iterator[None]:
    """Let a file hold other bytes inside the block."""
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    yield
    file.write_bytes(whole)


def test_each_refusal_has_a_name_and_changes_nothing(bench: TrimBench) -> None:
    with bench.led():
        assert "the newest state checkpoint" in refused(bench)
        bench.wait_for_checkpoint(12)
        assert "the newest state checkpoint" in refused(bench, "--below", "1000000")
        assert refused(bench).startswith("BackupError: there is no backup")
        bench.answer("backup", str(bench.backup), "--no-image")
        assert "has no image of rows" in refused(bench)
        bench.back_up()
        for files, name in (("rows-*", "ImageDamagedError"), ("events-*", "BackupDamagedError")):
            file = next(bench.backup.glob(files))
            with damaged(file):
                why = refused(bench, code=ExitCode.UNHEALTHY)
                assert why.startswith(name)
                assert f"damaged at {file.name}" in why
        assert bench.begins_at() == 0


def test_whoever_needs_the_events_holds_them(bench: TrimBench) -> None:
    slow = Consumer("follower", "slow", "host", 5, SystemClock().now_ms())
    with bench.led(), bench.client() as client:
        txn = client.begin()
        assert txn.opened < int(BELOW[1])
        bench.wait_for_checkpoint(12)
        bench.back_up()
        register(bench.log, 0, slow)
        why = refused(bench)
        assert why.startswith("TrimRefusedError: follower slow on host would begin anew at")
        assert "lakeledger consumers forget follower slow" in why
        assert bench.run("consumers", "forget", "follower", "slow").returncode == ExitCode.DONE
        assert bench.run("log", "pin", "audit", "--position", "5").returncode == ExitCode.DONE
        assert "the pin audit keeps the events from position 5" in refused(bench)
        assert bench.run("log", "unpin", "audit").returncode == ExitCode.DONE
        why = refused(bench)
        assert refused(bench, *BELOW, "--dry-run") == why
        assert why.startswith(f"TrimRefusedError: txn {txn.id} is open since position {txn.opened}")
        txn.abort()
        path = ("--backup", str(bench.backup), "--yes")
        assert bench.answer("log", "trim", *BELOW, *path)["records"] == bench.begins_at() > 0
        bench.wait_for_end_of_trim()
        assert refused(bench).startswith("NothingToTrimError")


def test_a_trim_and_the_consumers_are_shown(bench: TrimBench) -> None:
    with bench.led():
        bench.wait_for_checkpoint(12)
        bench.back_up()
        path = ("--backup", str(bench.backup), "--yes")
        trimmed = bench.answer("log", "trim", "--below", "8", *path, "--reason", "room")
        assert (trimmed["below"], trimmed["records"]) == (8, bench.begins_at())
        bench.wait_for_end_of_trim()
        with bench.serve("follower", "--no-http", "--store", str(bench.rows)) as follower:
            follower.wait_for("caught up")
            assert follower.end(signal.SIGTERM) == ExitCode.DONE
        (consumer,) = bench.answer("consumers", "list")
        assert (consumer["role"], consumer["position"] > 8) == ("follower", True)
        found = json.loads(bench.run("status", "-o", "json").stdout)
        assert (found["healthy"], found["first_position"]) == (True, 8), found["reason"]
        assert (found["last_trim"]["below"], found["last_trim"]["reason"]) == (8, "room")
        assert found["image"]["archive"] == str(bench.backup)
        assert [each["name"] for each in found["consumers"]] == [consumer["name"]]
        text = bench.run("status").stdout
        assert "below position 8" in text
        assert f"follower {consumer['name']}" in text
        forgotten = bench.run("consumers", "forget", "follower", consumer["name"])
        assert forgotten.returncode == ExitCode.DONE
        assert bench.answer("consumers", "list") == []


def test_a_follower_shows_a_trim_and_the_consumers_in_answers_metrics_and_a_page(
    bench: TrimBench,
) -> None:
    with bench.led():
        bench.wait_for_checkpoint(12)
        bench.back_up()
        path = ("--backup", str(bench.backup), "--yes")
        trimmed = bench.answer("log", "trim", "--below", "8", *path, "--reason", "room")
        assert bench.run("log", "pin", "audit", "--position", "9").returncode == ExitCode.DONE
    rows = ("--store", str(bench.rows), "--http", "127.0.0.1:0")
    with bench.serve("follower", *rows) as follower:
        url = json.loads(follower.wait_for("answering HTTP"))["url"]
        look = first_look(url)
        assert (look["first"], look["trim"]["position"]) == (8, trimmed["position"])
        assert look["image"]["archive"] == str(bench.backup)
        consumers = {
            each["role"]: each for each in urllib3.request("GET", f"{url}/v1/consumers").json()
        }
        assert consumers["pin"]["position"] == 9
        assert consumers["follower"]["behind"] <= look["last"] - 8
        metrics = urllib3.request("GET", f"{url}/metrics").data.decode()
        assert "lakeledger_log_first_position 8.0" in metrics
        assert 'lakeledger_consumer_behind_positions{name="audit",role="pin"}' in metrics
        text = Seen(urllib3.request("GET", f"{url}/ui/log").data.decode()).text
        assert f"The log has the events of positions 8 to {look['last']}." in text
        assert ": room. The events are in" in text
        assert follower.end(signal.SIGTERM) == ExitCode.DONE
