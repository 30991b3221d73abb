"""Progress of work that takes more than a few seconds, shown on a terminal or in a notebook."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

SILENT_S: Final = 2.0
Item = TypeVar("Item")


class WorkBar:
    """A bar for a `with` block, which appears once the work takes more than two seconds.

    `console` is where it appears, by default the terminal or the notebook that shows errors, if
    there is one. Call it with the amount done, and with the whole amount if that is known.
    """

    def __init__(
        self, what: str, *, silent_s: float = SILENT_S, console: "Console | None" = None
    ) -> None:
        self._what = what
        self._console = console
        self._begins_s = time.monotonic() + silent_s
        self._own = ExitStack()
        self._update: Callable[[int, int | None], None] | None = None

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show how much is done."""
        if self._update is None:
            if time.monotonic() < self._begins_s or not (self._console or is_watched()):
                return
            self._update = self._begun()
        self._update(done, total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._own.close()

    def _begun(self) -> Callable[[int, int | None], None]:
        """Show a bar that vanishes at the end, and return what updates it."""
        from rich.console import Console  # noqa: PLC0415 - loaded only where a bar is shown
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        console = self._console or Console(stderr=True)
        bar = self._own.enter_context(Progress(*columns, console=console, transient=True))
        task = bar.add_task(self._what, total=None)
        return lambda done, total: bar.update(task, completed=done, total=total)


def shown(
    items: Iterable[Item], total: int | None, what: str, amount: Callable[[Item], int] = lambda _: 1
) -> Iterator[Item]:
    """Yield items, and show how many of `total` are done once that takes more than two seconds.

    `amount` says for how many an item counts.
    """
    with WorkBar(what) as bar:
        done = 0
        for item in items:
            bar(done, total)
            yield item
            done += amount(item)


def is_watched() -> bool:
    """Return whether errors are shown on a terminal, or in a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return bool(sys.stderr and sys.stderr.isatty())
