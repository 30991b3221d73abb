"""What was lost: events that counted once and are in the log no more, and what may not follow.

Behind a cut nothing of it is given again: no position, epoch, txn, table, write id or version, and
a command that it answered takes no effect. A sequencer that went on before anybody noticed may
have given some of it again; that is no fault of the cut, and is not held against it.
"""

from collections.abc import Iterable
from typing import Any

from ledger.core.acceptance import LogHead
from ledger.core.events.events import CommandRefused, CommandRepeated, Control, Event
from tests.core.cutting import ids_given
from tests.simulation.broken import must

Asker = tuple[int, int]


class Lost:
    """All that a log has lost in one run."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._position = 0
        self._epoch = 0
        self._ids: set[tuple[Any, ...]] = set()
        self._chains: set[tuple[int, bytes]] = set()
        self._askers: dict[Asker, int] = {}

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            control = event.control
            self.events.append(event)
            self._chains.add((control.position, control.chain))
            self._position = max(self._position, control.position)
            self._epoch = max(self._epoch, control.epoch)

    def holds(self, head: LogHead) -> bool:
        """Tell whether the log went through `head` once, and does so no more."""
        return (head.position, head.chain) in self._chains

    def has(self, event: Event) -> bool:
        """Tell whether the log held this very event once, and does so no more."""
        return (event.control.position, event.control.chain) in self._chains

    def cut(self, control: Control, kept: Iterable[Event]) -> None:
        """Hold a cut against what was lost; `kept` are the events before it."""
        must(
            control.position > self._position and control.epoch > self._epoch,
            "a cut is above all that was given",
            f"it goes on from position {control.position} and epoch {control.epoch}, lost were "
            f"{self._position} and {self._epoch}",
        )
        kept = list(kept)
        self._ids = ids_given(self.events) - ids_given(kept)
        self._askers = {
            (event.control.session, event.control.n): event.control.position
            for event in self.events
            if event.control.n
        }
        for each in kept:
            self._askers.pop((each.control.session, each.control.n), None)

    def check(self, event: Event) -> None:
        """Hold an event behind the cut against what was lost."""
        control, body = event
        again = self._ids & ids_given([event]) if self._ids else set()
        must(
            not again,
            "nothing that was lost is given again",
            f"{sorted(map(str, again))[:3]} at position {control.position}",
        )
        if self._askers:
            self._check_answer(control, body)

    def _check_answer(self, control: Control, body: Any) -> None:
        answered = self._askers.get((control.session, control.n))
        must(
            # A repeat names the first answer, which another law sees to: here it was a refusal.
            answered is None or isinstance(body, CommandRefused | CommandRepeated),
            "a receipt of what was lost names no other outcome",
            f"command {control.session, control.n} was answered at {answered}, which was lost, and "
            f"is {type(body).__name__} at {control.position}",
        )
