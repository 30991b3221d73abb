"""Places that may hold forgotten rows or values of them, in the words of the report.

A place that cannot be searched is an entry too, with the reason: only so is a report whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ledger.errors import LedgerError
from ledger.forgetting.records import HeldRecord, RecordSearch
from ledger.keys.folder import KeyFolder
from ledger.log.port import Log

ROWS: Final = "rows"
VALUES: Final = "values"
NOT_SEARCHED: Final = "not searched"
FOR_GOOD: Final = "for good"
SHOWN_MAX: Final = 12

Row = tuple[bytes, bytes]


class HeldPlace(NamedTuple):
    """A place that holds rows or values, where in it, and until when or until what happens."""

    place: str
    holds: str
    where: str
    until: str


class RowsHere(NamedTuple):
    """A store of rows on this host: its role, its folder, and how its rows are read.

    `name` is the one under which its process is registered.
    """

    role: str
    name: str
    folder: Path
    rows: Callable[[], Iterator[Row]]


class Surroundings(NamedTuple):
    """What may be searched besides the table: all that is known of the ledger on this host.

    `topics` is the folder of the broker's logs if the broker is here, `backups` are the paths of
    the known ones, `asides` folders of former rows and of a former broker, `keys` the keys of
    encrypted rows. `keep_days` is the policy of trims in the settings of this host, if it is set.
    """

    log: Log
    ledger: str
    backups: Sequence[str] = ()
    stores: Sequence[RowsHere] = ()
    topics: Path | None = None
    retention_h: float = 0.0
    keys: KeyFolder | None = None
    asides: Sequence[Path] = ()
    keep_days: float | None = None


def searched(place: str, where: str, found: Iterator[HeldPlace]) -> Iterator[HeldPlace]:
    """Yield what is found in a place; one that cannot be read is named, with why."""
    try:
        yield from found
    except (LedgerError, OSError) as problem:
        yield unread(place, where, problem)


def unread(place: str, where: str, problem: Exception) -> HeldPlace:
    """Return a place that cannot be read."""
    return HeldPlace(place, NOT_SEARCHED, where, f"it can be read: {problem}")


def held_in(search: RecordSearch, rows: Iterable[Row], kinds: bytes) -> str:
    """Return what rows of a store hold, "" for nothing."""
    holds = ""
    for key, value in rows:
        if search.held_row(key, value, kinds):
            if search.is_block(key, value):
                return ROWS
            holds = VALUES
    return holds


def held_by(found: Iterable[HeldRecord]) -> str:
    """Return what records hold."""
    return ROWS if any(each.is_whole for each in found) else VALUES


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order as text, those in a row as a range."""
    texts, row = list[str](), list[int]()
    for number in [*sorted(set(numbers)), -1]:
        if row and number != row[-1] + 1:
            texts.append(str(row[0]) if len(row) == 1 else f"{row[0]}..{row[-1]}")
            row = []
        row.append(number)
    return ", ".join(texts)


def some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    rest = len(names) - SHOWN_MAX
    return ", ".join(names[:SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
