"""A role's process: how it is told to stop, and what its exit code says."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ledger.errors import (
    BrokerError,
    CommandInvalidError,
    ConcurrentAppendException,
    FencedError,
    IncompatibleError,
    JarsError,
    LedgerError,
    LogDamagedError,
    LogUnavailableError,
    MetadataChangedException,
    OffsetGoneError,
    OutcomeUnknownError,
    ReaderBehindError,
    RoleEndedError,
    SessionExpiredError,
    SettingsError,
    UnknownTableError,
    UnknownVersionError,
)
from ledger.machine.process import FINAL, TELL_STACKS, ExitCode, exit_code

WAIT_S = 20.0
# A role that tells that it runs, and then does what its argument says.
ROLE = """
import sys
from signal import SIGTERM, pthread_kill
from threading import Event, Thread, Timer, get_ident
from ledger.errors import *
from ledger.log_lines import LogLines
from ledger.machine.process import interruptible, role_process, set_up_logging

FAILURES = {
    "fenced": FencedError("epoch 2 began"),
    "unfit": SettingsError("finite retention"),
    "damaged": LogDamagedError(42, "torn"),
    "faulty": ZeroDivisionError("division by zero"),
}

def run(stop):
    LogLines("part").info("a line of a part")
    Thread(target=LogLines("part").info, args=("a line of a thread",)).start()
    if sys.argv[1] == "connect":
        with interruptible():
            print("running", flush=True)
            Event().wait()
    print("running", flush=True)
    if sys.argv[1] in FAILURES:
        raise FAILURES[sys.argv[1]]
    if sys.argv[1] == "interrupted elsewhere":
        Timer(0.5, lambda: pthread_kill(get_ident(), SIGTERM)).start()
    stop.wait()

set_up_logging()
sys.exit(role_process("role", run, with_parent="--with-parent" in sys.argv))
"""

Child = subprocess.Popen[str]


def role(*arguments: str, **environ: str) -> Child:
    """Return a role's process that runs."""
    child = subprocess.Popen(
        [sys.executable, "-c", ROLE, *arguments],
        env={**os.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "running\n"
    return child


def last_line(child: Child) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a role, and the last line it wrote."""
    _, lines = child.communicate(timeout=WAIT_S)
    return child.returncode, json.loads(lines.splitlines()[-1])


def end_of_input(child: Child) -> None:
    """Be gone, as far as the child can tell."""
    assert child.stdin is not None
    child.stdin.close()
    child.stdin = None


@pytest.mark.parametrize(
    "tell",
    [
        lambda child: child.send_signal(signal.SIGTERM),
        lambda child: child.send_signal(signal.SIGINT),
        end_of_input,
    ],
    ids=["SIGTERM", "SIGINT", "parent gone"],
)
def test_a_role_told_to_stop_ends_in_good_order(tell: Callable[[Child], None]) -> None:
    child = role("wait", "--with-parent")
    tell(child)
    code, line = last_line(child)
    assert (code, line["event"], line["role"]) == (ExitCode.DONE, "stopped", "role")


@pytest.mark.parametrize(
    ("environ", "name"), [({}, "role"), ({"LAKELEDGER_ROLE": "cache-2"}, "cache-2")]
)
def test_each_line_of_a_role_has_its_name(environ: dict[str, str], name: str) -> None:
    child = role("wait", **environ)
    child.terminate()
    lines = [json.loads(line) for line in child.communicate(timeout=WAIT_S)[1].splitlines()]
    assert {line["event"] for line in lines} >= {"a line of a part", "a line of a thread"}
    assert {line["role"] for line in lines} == {name}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_role_that_connects_ends_in_good_order_too(number: signal.Signals) -> None:
    child = role("connect")
    child.send_signal(number)
    code, line = last_line(child)
    assert (code, line["event"]) == (ExitCode.DONE, "stopped")


def test_a_signal_that_the_main_thread_does_not_hear_ends_a_role() -> None:
    assert last_line(role("interrupted elsewhere"))[0] == ExitCode.DONE


def test_a_role_that_is_asked_where_it_is_tells_of_all_its_threads_and_goes_on() -> None:
    child = role("wait")
    assert child.stderr is not None
    child.send_signal(TELL_STACKS)
    told = iter(child.stderr.readline, "")
    # The main thread comes last, and its outermost call ends what is told.
    assert any("in <module>" in line for line in told)
    child.terminate()
    assert last_line(child)[0] == ExitCode.DONE


def test_a_role_started_by_hand_does_not_care_whether_anybody_could_write_to_it() -> None:
    child = role("wait")
    end_of_input(child)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    os.kill(child.pid, signal.SIGTERM)
    assert last_line(child)[0] == ExitCode.DONE


@pytest.mark.parametrize(
    ("failure", "code", "why"),
    [
        ("fenced", ExitCode.FAILED, "epoch 2 began"),
        ("unfit", ExitCode.USAGE, "finite retention"),
        ("damaged", ExitCode.UNHEALTHY, "the events log is damaged at position 42: torn"),
    ],
)
def test_a_role_says_in_one_line_why_it_ends(failure: str, code: ExitCode, why: str) -> None:
    found, line = last_line(role(failure))
    assert (found, line["event"]) == (code, "ended")
    assert line["why"].startswith(why)
    assert "exception" not in line


def test_a_fault_of_the_program_is_one_line_too_with_the_traceback_in_it() -> None:
    code, line = last_line(role("faulty"))
    assert code == ExitCode.FAILED
    assert line["event"] == "ended by a fault of the program; report it"
    assert "ZeroDivisionError: division by zero" in line["exception"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LedgerError("x"), 1),
        (JarsError("x"), 1),
        (BrokerError("x"), 1),
        (RoleEndedError("x", code=8), 8),
        (LogUnavailableError("x"), 1),
        (FencedError("x"), 1),
        (OffsetGoneError("x", wanted=1, earliest=2), 1),
        (SessionExpiredError("x", reason="x"), 1),
        (CommandInvalidError("x", reason="x"), 1),
        (SettingsError("x"), 2),
        (ConcurrentAppendException("x", reason="x"), 3),
        (MetadataChangedException("x", reason="x"), 3),
        (UnknownTableError("x", reason="x"), 4),
        (UnknownVersionError("x", reason="x"), 4),
        (OutcomeUnknownError("x", session=1, n=1), 5),
        (ReaderBehindError(1, 2, 3), 6),
        (IncompatibleError("x"), 8),
        (LogDamagedError(1, "x"), 10),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_error_has_the_promised_exit_code(error: LedgerError, code: int) -> None:
    assert exit_code(error) == code


def test_final() -> None:
    """A role is not started again where it would end in the same way: usage, version, damage."""
    assert {int(code) for code in FINAL} == {2, 8, 10}
