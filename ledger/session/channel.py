"""The channel of a client to its ledger: commands and heartbeats go out, answers come in.

A channel uses a line: a tail that hears every event, and the producers. Clients of one process that
are connected alike share a line, so the broker sends every event once for all of them. Sessions and
answers stay each client's own.

A writer serves one thread and is of no more use once one of its records was lost. Here threads take
turns at one writer, and a writer that failed is replaced. A channel does not report whether a
record arrived: the caller learns it from the answer, and repeats the command under the same number
if no answer comes.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol, Self

from ledger.errors import LogError, LogUnavailableError
from ledger.log.port import Log, LogWriter, Topic
from ledger.session.tail import READ_WAIT_S, Tail, closed

TRIES = 2
# From this many commands in flight on, wait briefly and batch them into one request. A request each
# would cost the broker, the sequencer and the tails more.
CROWD = 3


class Fate(NamedTuple):
    """The number of records surely not written, and the error of the newest writer that failed."""

    unwritten: int
    why: LogUnavailableError | None


UNKNOWN: Final = Fate(0, None)


class Outbox:
    """Appends to a topic; threads may share it."""

    def __init__(self, log: Log, topic: Topic) -> None:
        self._log = log
        self._topic = topic
        self._writer: LogWriter | None = None
        self._turn = Lock()
        # By value, the fate of the records whose answers a thread waits for.
        self._fates: dict[bytes, Fate] = {}

    def open(self) -> None:
        """Make the first writer now: Kafka's needs half a second before its first record."""
        with self._turn:
            if self._writer is None:
                self._writer = self._log.writer(self._topic)

    def send(self, key: bytes, value: bytes) -> LogUnavailableError | None:
        """Append a record, with a fresh writer if the last one lost a record.

        Returns the error of the last writer. If the fresh writer fails too, the broker is
        unreachable; the thread that waits for the answer sends again later.
        """
        failure: LogUnavailableError | None = None
        with self._turn:
            self._fates.setdefault(value, UNKNOWN)
            for _ in range(TRIES):
                try:
                    self._append(key, value)
                except LogUnavailableError as error:
                    failure = error
                    self._drop(error)
                else:
                    break
        return failure

    def fate(self, value: bytes) -> "Fate":
        """Return the fate of the records of a value."""
        with self._turn:
            try:
                if self._writer is not None:
                    self._writer.check()
            except LogUnavailableError as error:
                self._drop(error)
            return self._fates.get(value, UNKNOWN)

    def forget(self, value: bytes) -> None:
        """Stop tracking the records of a value."""
        with self._turn:
            self._fates.pop(value, None)

    def close(self) -> None:
        """Close the writer; a later `send` makes a new one."""
        with self._turn:
            self._drop()

    def _append(self, key: bytes, value: bytes) -> None:
        if self._writer is None:
            self._writer = self._log.writer(self._topic)
        self._writer.append(key, value)

    def _drop(self, why: LogUnavailableError | None = None) -> None:
        if self._writer is not None:
            self._writer.close()
            for value, (unwritten, _) in self._fates.items():
                self._fates[value] = Fate(unwritten + self._writer.unwritten(value), why)
            self._writer = None


class SharedConnection:
    """The tail and the outboxes that channels to one ledger share.

    With many commands in flight, commands go through `gathering`, a log whose writers gather
    records for a moment. Closing takes up to `read_wait_s`.
    """

    def __init__(
        self,
        log: Log,
        domain: int,
        gathering: Log | None = None,
        *,
        read_wait_s: float = READ_WAIT_S,
    ) -> None:
        self.heartbeats = Outbox(log, Topic.HEARTBEATS)
        self._commands = Outbox(log, Topic.COMMANDS)
        self._crowd = self._commands if gathering is None else Outbox(gathering, Topic.COMMANDS)
        with ExitStack() as opened:
            opened.callback(self._commands.close)
            self._commands.open()
            # Last: its thread would go on if a later step failed.
            self.tail = Tail.start(log, domain, read_wait_s)
            opened.pop_all()

    def send(self, key: bytes, command: bytes) -> LogUnavailableError | None:
        """Append a command as `Outbox.send`; the order among threads may change."""
        outbox = self._crowd if self.tail.awaited >= CROWD else self._commands
        return outbox.send(key, command)

    def fate(self, command: bytes) -> Fate:
        """Return the fate of the records of a command."""
        found = [outbox.fate(command) for outbox in self._outboxes()]
        why = next((each.why for each in found if each.why is not None), None)
        return Fate(sum(each.unwritten for each in found), why)

    def forget(self, command: bytes) -> None:
        """Stop tracking the records of a command."""
        for outbox in self._outboxes():
            outbox.forget(command)

    def _outboxes(self) -> set[Outbox]:
        return {self._commands, self._crowd}

    def close(self) -> None:
        """End the tail and the outboxes; threads that still wait get an error."""
        with ExitStack() as steps:
            for outbox in (self._commands, self._crowd, self.heartbeats):
                steps.callback(outbox.close)
            steps.callback(self.tail.close)


class Channel:
    """The connection that the sessions of one client share; it belongs to one process.

    `leave` is called once, when the channel no longer needs its line.
    """

    def __init__(self, line: SharedConnection, leave: Callable[[], None]) -> None:
        self.tail = line.tail
        self.send = line.send
        self.fate = line.fate
        self.forget = line.forget
        self.heartbeats = line.heartbeats
        self._leave = leave
        self._is_closed = False
        self._process = os.getpid()

    @classmethod
    def open(cls, log: Log, domain: int) -> Self:
        """Return a channel with a line of its own, which receives all answers from now on."""
        line = SharedConnection(log, domain)
        return cls(line, line.close)

    @property
    def is_own(self) -> bool:
        """Return whether this process made the channel, not the parent of a fork."""
        return os.getpid() == self._process

    @property
    def is_closed(self) -> bool:
        """Return whether the channel is closed."""
        return self._is_closed

    def check(self) -> None:
        """Raise LogError after `close`, and in a fork: its threads run only in the parent."""
        if not self.is_own:
            raise LogError(
                f"this ledger was connected in process {self._process} and is used in its fork "
                f"{os.getpid()}, where its threads do not run. Call Ledger.connect there, after "
                "the fork, or start processes by spawn"
            )
        if self._is_closed:
            raise closed()

    def close(self) -> None:
        """Leave the line; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._leave()


# A single command is sent at once; one of many waits about as long as the broker needs for one.
LINGERS_MS: Final = (0.0, 1.0)


class MakeLog(Protocol):
    """Makes logs that differ in how long their writers gather records."""

    def __call__(self, *, linger_ms: float = 0.0) -> Log:
        """Return a new log, to be closed by the caller."""
        ...


class Lines:
    """Lines by ledger; the last channel to leave a line closes it. Threads may share it."""

    def __init__(self) -> None:
        self._start()
        # Neither the lines nor a lock that another thread holds at that moment survive a fork.
        os.register_at_fork(after_in_child=self._start)

    def opener(self, key: Hashable, make_log: MakeLog) -> Callable[[Log, int], Channel]:
        """Return a function that opens channels, as `Channel.open`, over the line of `key`."""
        return lambda _log, domain: self.channel((key, domain), make_log, domain)

    def channel(self, key: Hashable, make_log: MakeLog, domain: int) -> Channel:
        """Return a channel over the line of `key`, which is opened if necessary.

        Raises as `Tail.start` and as `make_log`.
        """
        with self._turn(key):
            line = self._lines.get(key)
            if line is None or line.tail.has_ended:
                line = self._lines[key] = SharedLine(make_log, domain)
            line.channels += 1
        return Channel(line, partial(self._leave, key, line))

    def _start(self) -> None:
        self._lines: dict[Hashable, SharedLine] = {}
        self._turns: dict[Hashable, Lock] = {}

    def _turn(self, key: Hashable) -> Lock:
        """Return the lock of one line: opening one may take long, and must not block others."""
        return self._turns.setdefault(key, Lock())

    def _leave(self, key: Hashable, line: "SharedLine") -> None:
        with self._turn(key):
            line.channels -= 1
            if line.channels:
                return
            if self._lines.get(key) is line:
                del self._lines[key]
        line.close()


class SharedLine(SharedConnection):
    """A line with its own logs, which it closes; `channels` counts its users."""

    def __init__(self, make_log: MakeLog, domain: int) -> None:
        self.channels = 0
        with ExitStack() as logs:
            log, gathering = (
                logs.enter_context(closing(make_log(linger_ms=each))) for each in LINGERS_MS
            )
            super().__init__(log, domain, gathering)
            self._logs = logs.pop_all()

    def close(self) -> None:
        """Close the line and its logs."""
        with self._logs:
            super().close()


LINES: Final = Lines()


def frozen(settings: Mapping[str, Any]) -> Hashable:
    """Return settings as a part of a key; functions and objects are compared by identity."""
    return frozenset(
        (name, value if is_plain(value) else id(value)) for name, value in settings.items()
    )


def is_plain(value: object) -> bool:
    """Return whether a setting is a value, not a function or another object."""
    return isinstance(value, str | int | float | bool | None)
