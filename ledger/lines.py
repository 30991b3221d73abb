"""The lines of this process: clients that are connected alike share one.

A line hears every event of its ledger. Sixteen clients with a line each would hear, and have the
broker send, all of it sixteen times over; with one line among them they hear it once.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from threading import Lock
from typing import Any, Final

from ledger.channel import Channel, Line
from ledger.log.port import Log


class Lines:
    """Lines by where they lead; the last channel to leave one closes it. Threads may share it."""

    def __init__(self) -> None:
        self._start()
        # Neither the lines nor a lock that another thread holds at that moment survive a fork.
        os.register_at_fork(after_in_child=self._start)

    def opener(self, key: Hashable, make_log: Callable[[], Log]) -> Callable[[Log, int], Channel]:
        """Return what opens channels as `Channel.open` does, over the line known by `key`."""
        return lambda _log, domain: self.channel((key, domain), make_log, domain)

    def channel(self, key: Hashable, make_log: Callable[[], Log], domain: int) -> Channel:
        """Return a channel over the line that is known by `key`, which is opened if need be.

        Raises as `Tail.start` and as `make_log`.
        """
        with self._turn:
            line = self._lines.get(key)
            if line is None or line.tail.has_ended:
                line = self._lines[key] = SharedLine(make_log(), domain)
            line.channels += 1
        return Channel(line, partial(self._leave, key, line))

    def _start(self) -> None:
        self._lines: dict[Hashable, SharedLine] = {}
        self._turn = Lock()

    def _leave(self, key: Hashable, line: "SharedLine") -> None:
        with self._turn:
            line.channels -= 1
            if line.channels:
                return
            if self._lines.get(key) is line:
                del self._lines[key]
        line.close()


class SharedLine(Line):
    """A line with a log of its own, which ends with it; `channels` counts who uses it."""

    def __init__(self, log: Log, domain: int) -> None:
        self._log = log
        self.channels = 0
        try:
            super().__init__(log, domain)
        except BaseException:
            log.close()
            raise

    def close(self) -> None:
        """End it."""
        super().close()
        self._log.close()


LINES: Final = Lines()


def frozen(settings: Mapping[str, Any]) -> Hashable:
    """Return settings as a part of a key; only objects that are the same are alike."""
    return frozenset(
        (name, value if is_plain(value) else id(value)) for name, value in settings.items()
    )


def is_plain(value: object) -> bool:
    """Tell whether a setting is a value, and no function or other object."""
    return isinstance(value, str | int | float | bool | None)
