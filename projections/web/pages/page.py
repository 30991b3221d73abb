"""What a page is, and what it is made from: reads as of one position, and links to other pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from ledger.errors import ReaderBehindError
from ledger.reads.port import HistoryRow, Reads
from ledger.trimming.watch import LogSeen
from projections.web.answers.asked import Asked, BadRequestError
from projections.web.answers.listing import Size
from projections.web.roles.health import Check

ROOT: Final = "/ui"
ROWS: Final = 50
"""How many rows a list on a page has."""

Checks = Mapping[str, Check]
Fields = dict[str, Any]


class NothingHereError(BadRequestError):
    """A page has nothing to show: no txn, table or conflict has that number."""


class Beside(NamedTuple):
    """What a page gets beside reads.

    `checks` are the health checks of this process, `others` of further processes; both are empty
    where a page does not show them. `reads_rows` says whether pages may read rows of tables, and
    `log` is what this process saw of the log.
    """

    checks: Checks = MappingProxyType({})
    others: Sequence[Any] = ()
    reads_rows: bool = False
    log: LogSeen = LogSeen()


@dataclass(slots=True)
class PageView:
    """The reads behind one page, as of position `at`; `newest` is the applied position.

    `path` is the page, `subject` are the parameters that say what it is about: the slider keeps
    them.
    """

    reads: Reads
    asked: Asked
    path: str
    newest: int
    at: int
    beside: Beside = field(default_factory=Beside)
    subject: Fields = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    @property
    def is_past(self) -> bool:
        """Whether the page shows an earlier position than the newest one."""
        return self.at < self.newest

    @property
    def reads_rows(self) -> bool:
        """Whether the page may read rows of tables."""
        return self.beside.reads_rows

    @property
    def list_at(self) -> int | None:
        """The position for reads that take one, None for the newest one."""
        return self.at if self.is_past else None

    def link(self, page: str, **given: object) -> str:
        """Return the address of a page; a page of the past leads to pages of the same position."""
        at = {"at": self.at} if self.is_past else {}
        return address(page, **{**at, **given})

    def here(self, **given: object) -> str:
        """Return the address of this page about the same subject, with other parameters."""
        return self.link(self.path, **{**self.subject, **given})

    def name_of(self, table: int) -> str:
        """Return the name of a table now, or its id if the table is not known."""
        if table not in self.names:
            row = self.reads.table(table)
            self.names[table] = f"table {table}" if row is None else f"{row.catalog}.{row.name}"
        return self.names[table]

    def number(self, name: str) -> int:
        """Return a number that the page is about."""
        found = self.asked.number(name)
        self.subject[name] = found
        return found

    def event_at(self, position: int) -> HistoryRow | None:
        """Return the event at a position, None for position 0 and beyond the end."""
        found = self.reads.history(position - 1, 1) if position else ()
        return found[0] if found else None

    def time_at(self, position: int) -> int:
        """Return the time of the event at a position, 0 for position 0."""
        event = self.event_at(position)
        return 0 if event is None else event.at


def address(page: str, **given: object) -> str:
    """Return the address of a page with parameters; None leaves one out."""
    query = urlencode({name: value for name, value in given.items() if value is not None})
    path = f"{ROOT}/{page}" if page else ROOT
    return f"{path}?{query}" if query else path


class UiPage(NamedTuple):
    """A page below `ROOT`: its title, its template, and the function that gathers its fields.

    A page that `has_checks` shows the health of this process, one that `has_others` that of other
    ones. `nav` is its text in the menu, "" if it is not there. `size` is the size of what it reads.
    A page that `is_timeless` shows the same at each position, so it has no slider. A page that
    `has_rows` may read rows of tables, which takes long.
    """

    path: str
    title: str
    gather: Callable[[PageView], Fields]
    nav: str = ""
    has_checks: bool = False
    has_others: bool = False
    size: Size = Size.FEW
    is_timeless: bool = False
    has_rows: bool = False

    @property
    def template(self) -> str:
        """The name of its template."""
        return f"{self.path or 'overview'}.html"


def view_of(page: UiPage, reads: Reads, asked: Asked, beside: Beside) -> PageView:
    """Return the view of a page; raises ReaderBehindError for a position not applied yet."""
    newest = reads.position()
    at = asked.number_or_none("at")
    if at is not None and at > newest:
        raise ReaderBehindError(newest, at, 0)
    return PageView(reads, asked, page.path, newest, newest if at is None else at, beside)


def rows_before(
    ask: Callable[[int, int], Sequence[Any]], position: int, count: int
) -> Sequence[Any]:
    """Return the last `count` rows up to a position, newest first.

    `ask` returns rows behind a position, oldest first, with their `position`. The search asks it
    about twice the logarithm of the position, each time for few rows.
    """

    def found(after: int) -> Sequence[Any]:
        return [row for row in ask(after, count + 1) if row.position <= position]

    known, beyond, step = position, position, 64
    while known > 0 and len(found(known)) < count:
        beyond, known, step = known, max(0, known - step), step * 4
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if len(found(middle)) >= count:
            known = middle
        else:
            beyond = middle
    return list(reversed(found(known)))[:count]


def number_between(asked: Asked, name: str, least: int, most: int, default: int) -> int:
    """Return a number of a request, within bounds; raises BadRequestError."""
    found = asked.number_or_none(name)
    if found is None:
        return default
    if not least <= found <= most:
        raise BadRequestError(f"{name} must be {least} to {most}, got {found}")
    return found
