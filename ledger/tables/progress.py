"""Progress of work that takes more than a few seconds, shown on a terminal or in a notebook."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

SILENT_S: Final = 2.0
Item = TypeVar("Item")


def shown(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """Yield items, and show how many of `total` are done once that takes more than two seconds."""
    bar: Progress | None = None
    began, task = time.monotonic(), None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - began > SILENT_S and is_watched():
                bar = progress_bar()
                bar.start()
                task = bar.add_task(what, total=total)
            if bar is not None and task is not None:
                bar.update(task, completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()


def progress_bar() -> "Progress":
    """Return a bar that vanishes at its end."""
    from rich.console import Console  # noqa: PLC0415 - loaded only where someone watches
    from rich.progress import Progress  # noqa: PLC0415

    return Progress(console=Console(stderr=True), transient=True)


def is_watched() -> bool:
    """Return whether the output is a terminal, or that of a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return bool(sys.stderr and sys.stderr.isatty())
