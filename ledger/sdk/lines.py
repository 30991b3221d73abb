"""The lines of this process: clients that are connected alike share one.

A line hears every event of its ledger. Sixteen clients with a line each would hear, and have the
broker send, all of it sixteen times over; with one line among them they hear it once.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from threading import Lock
from typing import Any, Final, Protocol

from ledger.log.port import Log
from ledger.sdk.channel import Channel, Line

# A command alone is not kept waiting; one of a crowd is, for as long as the broker takes for one.
LINGERS_MS: Final = (0.0, 1.0)


class MakeLog(Protocol):
    """Makes logs that differ in how long their writers gather records."""

    def __call__(self, *, linger_ms: float = 0.0) -> Log:
        """Return a new log, to be closed by the caller."""
        ...


class Lines:
    """Lines by where they lead; the last channel to leave one closes it. Threads may share it."""

    def __init__(self) -> None:
        self._start()
        # Neither the lines nor a lock that another thread holds at that moment survive a fork.
        os.register_at_fork(after_in_child=self._start)

    def opener(self, key: Hashable, make_log: MakeLog) -> Callable[[Log, int], Channel]:
        """Return what opens channels as `Channel.open` does, over the line known by `key`."""
        return lambda _log, domain: self.channel((key, domain), make_log, domain)

    def channel(self, key: Hashable, make_log: MakeLog, domain: int) -> Channel:
        """Return a channel over the line that is known by `key`, which is opened if need be.

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
        """Return the lock of one line: to open it may take long, which is no matter of others."""
        return self._turns.setdefault(key, Lock())

    def _leave(self, key: Hashable, line: "SharedLine") -> None:
        with self._turn(key):
            line.channels -= 1
            if line.channels:
                return
            if self._lines.get(key) is line:
                del self._lines[key]
        line.close()


class SharedLine(Line):
    """A line with logs of its own, which end with it; `channels` counts who uses it."""

    def __init__(self, make_log: MakeLog, domain: int) -> None:
        self.channels = 0
        with ExitStack() as logs:
            log, gathering = (
                logs.enter_context(closing(make_log(linger_ms=each))) for each in LINGERS_MS
            )
            super().__init__(log, domain, gathering)
            self._logs = logs.pop_all()

    def close(self) -> None:
        """End it."""
        with self._logs:
            super().close()


LINES: Final = Lines()


def frozen(settings: Mapping[str, Any]) -> Hashable:
    """Return settings as a part of a key; only objects that are the same are alike."""
    return frozenset(
        (name, value if is_plain(value) else id(value)) for name, value in settings.items()
    )


def is_plain(value: object) -> bool:
    """Tell whether a setting is a value, and no function or other object."""
    return isinstance(value, str | int | float | bool | None)
