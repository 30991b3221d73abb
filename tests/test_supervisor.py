"""The supervisor over real child processes: order, restarts, final ends, and a clean stop."""

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event as Signal
from threading import Thread, main_thread

import psutil
import pytest

from ledger.machine.process import ExitCode
from ledger.machine.supervisor import BACKOFF_MIN_S, FINAL_S, SETTLED_S, SupervisedRole, Supervisor
from ledger.machine.up import Ending

WAIT_S = 20.0
UNTIL_TOLD = "trap 'echo $0 stops >&7; exit 0' TERM; echo $0 runs >&7; read -r line"
ASKED_IN_VAIN = """
trap 'echo $0 is asked >&7' TERM
echo $0 runs >&7
while true; do read -r line; done
"""
STUBBORN = """
trap '' TERM
trap 'echo $0 tells >&7' USR1
echo $0 runs >&7
while true; do read -r line; done
"""


class Stage:
    """Roles that are shell scripts, and a pipe on which they tell what they do."""

    def __init__(self, pipe: Path) -> None:
        os.mkfifo(pipe)
        self._path = pipe
        # Open for writing too, so that a script that ends does not end the pipe.
        self._pipe = os.open(pipe, os.O_RDWR)
        self._unread = b""
        self._roles: list[SupervisedRole] = []

    def role(self, name: str, script: str) -> SupervisedRole:
        role = SupervisedRole(name, (f"exec 7>{self._path}; {script}", name), ("/bin/sh", "-c"))
        self._roles.append(role)
        return role

    def told(self) -> str:
        while b"\n" not in self._unread:
            assert select.select([self._pipe], [], [], WAIT_S)[0], "no role tells anything"
            self._unread += os.read(self._pipe, 4096)
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        Supervisor(self._roles, stop_s=0.2).stop()
        os.close(self._pipe)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path / "told")
    yield stage
    stage.close()


def wait_for_end(role: SupervisedRole) -> int:
    """Wait until a role's process has ended, and return its code."""
    assert role.process is not None
    return role.process.wait(WAIT_S)


def test_roles_are_stopped_in_the_reverse_of_their_order(stage: Stage) -> None:
    roles = [stage.role(name, UNTIL_TOLD) for name in ("first", "second")]
    supervisor = Supervisor(roles)
    supervisor.start()
    assert {stage.told(), stage.told()} == {"first runs", "second runs"}
    supervisor.stop()
    assert [stage.told(), stage.told()] == ["second stops", "first stops"]
    assert [role.pid for role in roles] == [0, 0]


def test_each_role_has_its_name_in_the_lines_that_it_logs(stage: Stage) -> None:
    roles = [stage.role(name, "echo $0 is $LAKELEDGER_ROLE >&7") for name in ("one", "two")]
    supervisor = Supervisor(roles, environment={"LAKELEDGER_ROLE": "another"})
    supervisor.start()
    assert {stage.told(), stage.told()} == {"one is one", "two is two"}
    supervisor.stop()


def test_interrupt_is_for_the_parent(stage: Stage) -> None:
    role = stage.role("role", UNTIL_TOLD)
    role.start()
    assert os.getpgid(role.pid) == role.pid != os.getpgrp()
    Supervisor([role]).stop()


def test_a_role_that_ends_is_started_again_later_each_time(stage: Stage) -> None:
    supervisor = Supervisor([stage.role("role", "echo runs >&7; exit 1")])
    supervisor.start()
    stop = Signal()
    watch = Thread(target=supervisor.watch, args=(stop,))
    watch.start()
    started_s = [time.monotonic() for _ in range(3) if stage.told() == "runs"]
    stop.set()
    watch.join()
    supervisor.stop()
    first, second, third = started_s
    assert 2 * BACKOFF_MIN_S < second - first < WAIT_S
    assert 4 * BACKOFF_MIN_S < third - second < WAIT_S


def test_killed_role_comes_back(stage: Stage) -> None:
    role = stage.role("role", UNTIL_TOLD)
    supervisor = Supervisor([role])
    supervisor.start()
    stop = Signal()
    watch = Thread(target=supervisor.watch, args=(stop,))
    watch.start()
    assert stage.told() == "role runs"
    before = role.pid
    os.kill(before, signal.SIGKILL)
    assert stage.told() == "role runs"
    stop.set()
    watch.join()
    assert role.pid != before
    assert role.restarts == 1
    supervisor.stop()


def test_settled_role_is_not_held_back(stage: Stage) -> None:
    role = stage.role("role", "exit 1")
    role.start()
    role.started_s -= SETTLED_S
    role.backoff_s = 4.0
    wait_for_end(role)
    assert Supervisor([role]).look_after(role) is None
    assert role.backoff_s == BACKOFF_MIN_S


@pytest.mark.parametrize("code", [ExitCode.USAGE, ExitCode.INCOMPATIBLE, ExitCode.UNHEALTHY])
def test_a_role_that_would_end_again_ends_the_watch(stage: Stage, code: ExitCode) -> None:
    other = stage.role("other", UNTIL_TOLD)
    supervisor = Supervisor([other, stage.role("role", f"exit {code}")])
    supervisor.start()
    assert stage.told() == "other runs"
    assert supervisor.watch(Signal()) is code
    assert other.pid
    supervisor.stop()
    assert stage.told() == "other stops"


@pytest.mark.parametrize("code", [ExitCode.USAGE, ExitCode.UNHEALTHY])
def test_a_role_that_is_not_vital_ends_no_other_and_is_tried_again_later(
    stage: Stage, code: ExitCode
) -> None:
    role = stage.role("ingest", f"exit {code}")
    role.is_vital = False
    supervisor = Supervisor([role])
    supervisor.start()
    wait_for_end(role)

    assert supervisor.look_after(role) is None
    assert role.retry_s > time.monotonic() + FINAL_S / 2


def test_a_watch_that_is_told_to_stop_has_nothing_to_report(stage: Stage) -> None:
    stop = Signal()
    stop.set()
    assert Supervisor([stage.role("role", "exit 1")]).watch(stop) is ExitCode.DONE


@pytest.mark.parametrize("tells_stacks", [True, False])
def test_a_role_that_does_not_stop_is_killed(stage: Stage, *, tells_stacks: bool) -> None:
    role, last = stage.role("role", STUBBORN), stage.role("last", "echo last >&7")
    supervisor = Supervisor([role], stop_s=0.2, tells_stacks=tells_stacks)
    supervisor.start()
    assert stage.told() == "role runs"
    process = psutil.Process(role.pid)
    supervisor.stop()
    last.start()
    told = {stage.told() for _ in range(1 + tells_stacks)}

    assert told == ({"role tells", "last"} if tells_stacks else {"last"})
    assert not process.is_running()


def test_roles_that_do_not_end_are_killed_all_at_once(stage: Stage) -> None:
    roles = [stage.role(name, STUBBORN) for name in ("first", "second")]
    supervisor = Supervisor(roles)
    supervisor.start()
    assert {stage.told(), stage.told()} == {"first runs", "second runs"}
    processes = [psutil.Process(role.pid) for role in roles]
    processes[0].suspend()
    supervisor.kill()
    assert not any(process.is_running() for process in processes)
    assert [role.pid for role in roles] == [0, 0]


def test_an_interrupt_while_roles_are_asked_to_end_kills_them(stage: Stage) -> None:
    role, other = (stage.role(name, ASKED_IN_VAIN) for name in ("role", "other"))
    first, second = Supervisor([role]), Supervisor([other])
    first.start()
    second.start()
    assert {stage.told(), stage.told()} == {"role runs", "other runs"}
    ending = Ending()

    def interrupt() -> None:
        assert stage.told() == "role is asked"
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)

    interrupter = Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        ending.of(first.stop, first.kill)
    interrupter.join()
    ending.of(second.stop, second.kill)
    assert (role.pid, other.pid) == (0, 0)
