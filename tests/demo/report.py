"""The report: the steps, checks and waits of the demo.

Everything goes to stdout, in plain lines if that is no terminal. A failed check ends the demo, and
so does a wait that takes too long.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.traceback import Traceback

WIDTH_PIPED: Final = 110
PATIENCE_S: Final = 150.0
LOOK_S: Final = 0.03


class CheckFailedError(Exception):
    """A check of the demo does not hold; the message says which and how."""


class Report:
    """Writes the report and counts its checks; times count from the start."""

    def __init__(self, console: Console | None = None) -> None:
        self._out = console or Console(highlight=False, emoji=False)
        if not self._out.is_terminal:
            self._out.width = WIDTH_PIPED
        self._started_s = time.monotonic()
        self.checks = 0

    @property
    def elapsed_s(self) -> float:
        """Return how long the demo has run."""
        return time.monotonic() - self._started_s

    def step(self, title: str) -> None:
        """Begin a step."""
        self._out.print(f"\n[bold cyan]{escape(title)}[/] [dim]at {self.elapsed_s:.1f} s[/]")

    def say(self, line: str) -> None:
        """Write a line about the events."""
        self._out.print(f"  {escape(line)}", soft_wrap=True)

    def check(self, what: str, *, holds: bool, found: str = "") -> None:
        """Write a check with its tick; raises CheckFailedError if it does not hold."""
        said = f"{what}: {found}" if found else what
        if not holds:
            self._out.print(f"  [bold red]✗ {escape(said)}[/]", soft_wrap=True)
            raise CheckFailedError(said)
        self.checks += 1
        self._out.print(f"  [green]✓[/] {escape(said)}", soft_wrap=True)

    def same(self, what: str, found: object, wanted: object, shown: str = "") -> None:
        """Check that two values are equal; `shown` stands for both of them if they are."""
        equal = found == wanted
        said = shown or str(found)
        self.check(what, holds=equal, found=said if equal else f"{found} instead of {wanted}")

    def table(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        """Write names and values in two columns."""
        table = Table(title=title, title_justify="left", show_header=False, title_style="bold")
        for row in rows:
            table.add_row(*map(escape, row))
        self._out.print()
        self._out.print(table)

    def grid(self, title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Write rows of several columns under their heads."""
        table = Table(*heads, title=title, title_justify="left", title_style="bold")
        for row in rows:
            table.add_row(*map(escape, row))
        self._out.print()
        self._out.print(table)

    def crash(self, error: Exception) -> None:
        """Write the place in the code of an unexpected error."""
        self._out.print(Traceback.from_exception(type(error), error, error.__traceback__))
        self.end(f"failed: {error!r}", well=False)

    def end(self, line: str, *, well: bool) -> None:
        """Write the outcome of the demo."""
        style = "green" if well else "red"
        self._out.print(f"\n[bold {style}]{escape(line)}[/]", soft_wrap=True)


def wait_until(holds: Callable[[], bool], what: str, timeout_s: float = PATIENCE_S) -> float:
    """Wait until a condition holds and return for how many seconds it did not.

    Raises CheckFailedError when it takes too long.
    """
    started_s = time.monotonic()
    while not holds():
        if time.monotonic() - started_s > timeout_s:
            raise CheckFailedError(f"not within {timeout_s:.0f} s: {what}")
        time.sleep(LOOK_S)
    return time.monotonic() - started_s
