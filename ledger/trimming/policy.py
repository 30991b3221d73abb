"""The policy of trims: the leader takes old events from the log by itself, now and then.

A trim reads the whole backup. So it runs as the command `lakeledger log trim` in a process of its
own, which takes no time from decisions, and has all preconditions of that command. A refusal is
logged and noted in the log, and costs nothing: the next try comes later.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Event as Signal
from typing import Any, Final, NamedTuple

from ledger.clock import Clock
from ledger.config.settings import OFF, LogSettings
from ledger.errors import LedgerError, NothingToTrimError, SettingsError, TrimRefusedError
from ledger.log.kafka.topic_watch import repeating
from ledger.log.port import Log
from ledger.log.trim_notes import TrimNote, read_trim_note, write_trim_note
from ledger.log_lines import LogLines

LOOK_S: Final = 60.0
"""How often a leader looks whether a trim is due."""
HEEDS_S: Final = 0.3
NICE: Final = 10
DAY_S: Final = 24 * 60 * 60
MS: Final = 1000
LEDGER: Final = (sys.executable, "-m", "ledger")
DIGITS: Final = re.compile(r"\d+")
FIRST: Final = TrimNote(0, 0)

log_lines = LogLines("lakeledger.trimming")


class TrimRules(NamedTuple):
    """What the policy takes: all but the events of `keep_days`, tried every `every_s`.

    `archive` is the backup that must hold them.
    """

    keep_days: float
    archive: str
    every_s: float

    @property
    def age(self) -> str:
        """The age of the events to take, as the command has it."""
        return f"{max(1, round(self.keep_days * DAY_S))}s"


class TrimTry(NamedTuple):
    """How a try ended: the answer of the command, or the name and the reason of its refusal."""

    answer: Mapping[str, Any]
    name: str = ""
    why: str = ""


class TrimPolicy:
    """Trims a log while `leads` says so; `where` are the options that lead to the log.

    `environ` are variables that the command needs beside those of this process.
    """

    def __init__(
        self,
        open_log: Callable[[], Log],
        rules: TrimRules,
        leads: Callable[[], bool],
        clock: Clock,
        *,
        where: Sequence[str],
        environ: Mapping[str, str],
    ) -> None:
        self._open_log, self._rules, self._leads, self._clock = open_log, rules, leads, clock
        self._command = [
            *(*LEDGER, "log", "trim", *where, "--backup", rules.archive),
            *("--older-than", rules.age, "--yes", "--output", "json"),
            *("--reason", f"older than {rules.keep_days:g} days, by log.keep_days"),
        ]
        self._environ = environ
        self._stop = Signal()
        self._due_s = 0.0
        self._told = ""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Trim the log in a thread while the block runs; a trim under way is ended with it."""
        with repeating(self.look, min(LOOK_S, self._rules.every_s), name="lakeledger-trims"):
            try:
                yield
            finally:
                self._stop.set()

    def look(self) -> None:
        """Trim the log if that is due; no error of a trim goes further than a line in the log."""
        if not self._leads() or self._clock.monotonic_s() < self._due_s:
            return
        self._due_s = self._clock.monotonic_s() + self._rules.every_s
        try:
            with closing(self._open_log()) as log:
                self._trim_if_due(log)
        except (LedgerError, OSError) as problem:
            log_lines.warning("no trim was tried", why=str(problem))

    def _trim_if_due(self, log: Log) -> None:
        """Trim the log if no leader tried of late."""
        before = read_trim_note(log) or FIRST
        since_s = (self._clock.now_ms() - before.at) / MS
        if 0 <= since_s < self._rules.every_s:
            self._due_s -= since_s
            return
        done = ended(self._command, self._environ, self._stop)
        if done is None:
            return
        why = "" if done.name == NothingToTrimError.__name__ else done.why
        self._tell(done, why)
        write_trim_note(log, before.after(self._clock.now_ms(), self._rules.keep_days, why))

    def _tell(self, done: TrimTry, why: str) -> None:
        """Log a trim, and a refusal once, however its numbers change.

        Why a log is out of reach differs from try to try.
        """
        if done.answer:
            freed = {name: done.answer.get(name) for name in ("below", "records", "archive")}
            log_lines.info("trimmed the log", **freed)
        is_refused = done.name == TrimRefusedError.__name__
        reason = (DIGITS.sub("", why) if is_refused else done.name) if why else ""
        if reason and reason != self._told:
            log_lines.warning("the log was not trimmed", error=done.name, why=why)
        self._told = reason


def rules_of(settings: LogSettings) -> TrimRules | None:
    """Return the rules of the settings, None for no policy.

    Raises SettingsError without a backup that a trim could rely on.
    """
    keep_days, archive = settings.keep_days, settings.archive
    if keep_days is None:
        return None
    if archive is None or archive == OFF:
        raise SettingsError(
            f"log.keep_days is {keep_days:g}, and a trim needs a backup of the events, but "
            f"log.archive is {archive or 'not set'}. Name the place of lakeledger backup in "
            "log.archive, or leave log.keep_days out"
        )
    return TrimRules(keep_days, archive, settings.trim_every_s)


def ended(command: Sequence[str], environ: Mapping[str, str], stop: Signal) -> TrimTry | None:
    """Run the command of a trim to its end, after other work; None if `stop` ended it before."""
    with Popen(
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
        env={**os.environ, **environ},
        start_new_session=True,
    ) as process:
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        while True:
            if stop.is_set():
                process.terminate()
            try:
                said, refused = process.communicate(timeout=HEEDS_S)
                break
            except TimeoutExpired:
                continue
    if stop.is_set():
        return None
    return try_of(process.returncode, said, refused)


def try_of(code: int, said: str, refused: str) -> TrimTry:
    """Return how a command ended, from its code and its lines."""
    if not code:
        return TrimTry(json.loads(said))
    *_, last = refused.splitlines() or [""]
    try:
        failure = json.loads(last)
        return TrimTry({}, str(failure["name"]), str(failure["message"]))
    except (ValueError, KeyError, TypeError):
        return TrimTry({}, f"exit code {code}", last or f"the command ended with code {code}")
