"""The supervisor: starts the roles of one machine, restarts those that fail, stops them in order.

It does not know what the roles do. Safety does not depend on it: two leaders do no harm, and a
killed follower resumes from its store.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event as Signal

from ledger.log_lines import ROLE, LogLines
from ledger.machine.exit_codes import FINAL, ExitCode
from ledger.machine.process import TELL_STACKS

LOOK_S = 0.1
BACKOFF_MIN_S = 0.2
BACKOFF_MAX_S = 5.0
# A role that lived this long starts again at once when it ends.
SETTLED_S = 10.0
# A role that is not vital is tried again this long after an end that would repeat itself.
FINAL_S = 30.0
STOP_S = 20.0
TELLS_S = 2.0
LEDGER = (sys.executable, "-m", "ledger")

log_lines = LogLines("lakeledger.supervisor")


@dataclass(slots=True)
class SupervisedRole:
    """One child process: how to start it, and its ends so far.

    Its first start also gets the arguments of `first`; each has the variables of `environ`. If it
    is not vital, an end that a restart would repeat ends no other role.
    """

    name: str
    arguments: Sequence[str]
    program: Sequence[str] = LEDGER
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    retry_s: float = 0.0
    backoff_s: float = BACKOFF_MIN_S
    restarts: int = 0
    first: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    is_vital: bool = True

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the process in a session of its own, so that Ctrl-C reaches only its parent."""
        self.process = subprocess.Popen(
            [*self.program, *self.arguments, *self.first],
            stdin=subprocess.PIPE,
            env={
                **(os.environ if environment is None else environment),
                ROLE: self.name,
                **self.environ,
            },
            start_new_session=True,
        )
        self.first = ()
        self.started_s = time.monotonic()

    def release(self) -> None:
        """Release the pipes of a process that has ended."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None

    @property
    def pid(self) -> int:
        """Return the process id, 0 if the role does not run."""
        return self.process.pid if self.process is not None else 0


@dataclass(slots=True)
class Supervisor:
    """Runs roles until it is stopped; they start in order and stop in reverse order.

    A role that does not end within `stop_s` after SIGTERM is killed. With `tells_stacks` it first
    writes the stacks of its threads.
    """

    roles: Sequence[SupervisedRole]
    environment: Mapping[str, str] | None = None
    stop_s: float = STOP_S
    tells_stacks: bool = False

    def start(self) -> None:
        """Start every role."""
        for role in self.roles:
            role.start(self.environment)

    def watch(self, stop: Signal) -> ExitCode:
        """Keep the roles running until `stop` is set or a role ends for good; return its code."""
        while not stop.wait(LOOK_S):
            for role in self.roles:
                code = self.look_after(role)
                if code is not None:
                    return code
        return ExitCode.DONE

    def look_after(self, role: SupervisedRole) -> ExitCode | None:
        """Restart a role that ended, later each time; return the code of a final end."""
        now_s = time.monotonic()
        if role.process is None:
            if now_s >= role.retry_s:
                role.start(self.environment)
                role.restarts += 1
            return None
        code = role.process.poll()
        if code is None:
            return None
        log_lines.warning("role ended", role=role.name, pid=role.pid, code=code)
        if code in FINAL and role.is_vital:
            return ExitCode(code)
        lived_s = now_s - role.started_s
        role.backoff_s = min(role.backoff_s * 2, BACKOFF_MAX_S)
        if code in FINAL:
            # A person has to look first, for example at a record that does not fit.
            role.backoff_s = FINAL_S
        elif lived_s > SETTLED_S:
            role.backoff_s = BACKOFF_MIN_S
        role.retry_s = now_s + role.backoff_s
        role.release()
        return None

    def stop(self) -> None:
        """End every role, last started first; kill a role that does not end in time."""
        for role in reversed(self.roles):
            end(role, self.stop_s, tells_stacks=self.tells_stacks)

    def kill(self) -> None:
        """Kill every role that runs."""
        left = [role.process for role in self.roles if role.process is not None]
        for process in left:
            process.kill()
        for process in left:
            process.wait()
        for role in self.roles:
            role.release()


def end(role: SupervisedRole, stop_s: float, *, tells_stacks: bool = False) -> None:
    """End a role by SIGTERM, later by SIGKILL; before the kill it may write its stacks."""
    process = role.process
    if process is None:
        return
    process.terminate()
    try:
        process.wait(stop_s)
    except subprocess.TimeoutExpired:
        log_lines.warning("role did not stop and is killed", role=role.name, pid=process.pid)
        if tells_stacks:
            process.send_signal(TELL_STACKS)
            with suppress(subprocess.TimeoutExpired):
                process.wait(TELLS_S)
        process.kill()
        process.wait()
    role.release()
