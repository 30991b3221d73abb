"""The policy of trims: a leader takes old events from the log by itself, or says why not."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from structlog.typing import EventDict

from ledger.config.settings import LogSettings
from ledger.errors import SettingsError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.trim_notes import TrimNote, read_trim_note, write_trim_note
from ledger.machine.process import ExitCode
from ledger.testing import FixedClock
from ledger.trimming.policy import TrimPolicy, TrimRules, rules_of, try_of
from tests.command_line import done_apart
from tests.trimming.conftest import OFTEN, TrimBench

DAY_MS: Final = 86_400_000
HOURS_S: Final = 6 * 3_600.0
RULES: Final = TrimRules(30.0, "/nowhere", HOURS_S)
SOON: Final = {"LAKELEDGER_LOG__KEEP_DAYS": "0.00002", "LAKELEDGER_LOG__TRIM_EVERY_S": "0.5"}


def policy_over(log: MemoryLog, clock: FixedClock, *, leads: bool = True) -> TrimPolicy:
    """Return a policy whose command finds no Kafka."""
    where = ("--bootstrap", "127.0.0.1:9", "--ledger", "lake")
    return TrimPolicy(lambda: log, RULES, lambda: leads, clock, where=where, environ={})


def test_a_note_says_since_when_each_try_was_refused() -> None:
    log = MemoryLog()
    assert read_trim_note(log) is None
    first = TrimNote(0, 30.0).after(1_000, 30.0, "a pin")
    again = first.after(5_000, 30.0, "another pin")
    for note in (first, again):
        write_trim_note(log, note)
    assert read_trim_note(log) == again == TrimNote(5_000, 30.0, 1_000, "another pin")
    assert again.refused_s(11_000) == 10.0
    assert again.after(9_000, 30.0, "").refused_s(11_000) == 0.0


def test_a_record_that_is_no_note_is_passed_over() -> None:
    log = MemoryLog()
    for value in (b"{", b"[]", b'{"at": "x", "keep_days": 1}', b"\xff"):
        log.writer(Topic.CATALOGS).append(b"0/trim-policy", value)
    assert read_trim_note(log) is None


@pytest.mark.parametrize("archive", [None, "off"])
def test_a_policy_needs_a_backup(archive: str | None) -> None:
    with pytest.raises(SettingsError, match=r"log\.archive"):
        rules_of(LogSettings(archive=archive, keep_days=30.0))
    assert rules_of(LogSettings(archive=archive)) is None
    assert rules_of(LogSettings("/nowhere", keep_days=30.0)) == RULES


def test_a_sequencer_and_up_refuse_a_policy_without_a_backup(tmp_path: Path) -> None:
    given = {"LAKELEDGER_HOME": str(tmp_path), "LAKELEDGER_LOG__KEEP_DAYS": "30"}
    for command in (("serve", "sequencer", "--bootstrap", "127.0.0.1:9"), ("up",)):
        done = done_apart(tmp_path, *command, **given)
        assert done.returncode == ExitCode.USAGE
        assert "log.keep_days is 30" in done.stderr


def test_how_a_command_ended() -> None:
    refusal = json.dumps({"name": "TrimRefusedError", "message": "a pin keeps the events"})
    assert try_of(0, '{"below": 7}', "said").answer == {"below": 7}
    assert try_of(1, "", f"a line\n{refusal}\n")[1:] == (
        "TrimRefusedError",
        "a pin keeps the events",
    )
    assert try_of(-9, "", "").why == "the command ended with code -9"


def test_a_refusal_is_logged_once_and_noted(log_lines: Sequence[EventDict]) -> None:
    log, clock = MemoryLog(), FixedClock()
    policy = policy_over(log, clock)
    policy.look()
    first = read_trim_note(log)
    assert first is not None
    assert "127.0.0.1:9" in first.why
    clock.advance(HOURS_S)
    policy.look()
    second = read_trim_note(log)
    assert second is not None
    assert (second.since, second.at) == (first.at, first.at + round(HOURS_S * 1_000))
    assert [each["event"] for each in log_lines].count("the log was not trimmed") == 1


def test_only_a_leader_trims_and_no_two_leaders_within_the_time() -> None:
    log, clock = MemoryLog(), FixedClock()
    policy_over(log, clock, leads=False).look()
    assert read_trim_note(log) is None
    lately = TrimNote(clock.now_ms() - 1_000, 30.0)
    write_trim_note(log, lately)
    policy = policy_over(log, clock)
    policy.look()
    assert read_trim_note(log) == lately
    clock.advance(HOURS_S - 1.0)
    policy.look()
    assert read_trim_note(log) != lately


@pytest.mark.kafka
def test_a_leader_trims_a_ledger_by_itself(bench: TrimBench) -> None:
    archive = {"LAKELEDGER_LOG__ARCHIVE": str(bench.backup)}
    with bench.serve("sequencer", *OFTEN, **SOON, **archive) as leader:
        leader.wait_for("leading")
        bench.work()
        taken = bench.back_up()
        told = json.loads(leader.wait_for("trimmed the log"))
        bench.work()
        assert leader.end(signal.SIGTERM) == ExitCode.DONE
    assert told["records"] == bench.begins_at() > 0
    assert told["below"] <= taken["image_checkpoint"]
    note = read_trim_note(bench.log)
    assert note is not None
    assert note.why == ""


@pytest.mark.kafka
def test_a_policy_that_is_refused_says_so_and_the_leader_goes_on(bench: TrimBench) -> None:
    archive = {"LAKELEDGER_LOG__ARCHIVE": str(bench.folder / "missing")}
    with bench.serve("sequencer", *OFTEN, **SOON, **archive) as leader:
        leader.wait_for("leading")
        bench.work()
        # Before there is a checkpoint, that is the reason.
        while json.loads(leader.wait_for("the log was not trimmed"))["error"] != "BackupError":
            bench.work()
        bench.work()
        assert leader.end(signal.SIGTERM) == ExitCode.DONE
    note = read_trim_note(bench.log)
    assert note is not None
    assert "there is no backup" in note.why
    assert bench.begins_at() == 0
