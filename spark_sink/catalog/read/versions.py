"""Which versions of a table a read of its commits begins and ends with, by its options."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from ledger.clock import NOW_MS, has_come, is_now
from ledger.reads.port import Reads, TableRow, VersionRow
from ledger.snapshot.as_of import check_known
from ledger.snapshot.changes import version_at
from spark_sink.catalog.session.open_statements import unsupported

STARTING: Final = "startingVersion"
ENDING: Final = "endingVersion"
STARTING_AT: Final = "startingTimestamp"
ENDING_AT: Final = "endingTimestamp"
LATEST: Final = "latest"
PAGE: Final = 200
MICROS: Final = 1000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Options = Mapping[str, Any]


class VersionRange(NamedTuple):
    """Versions from `first` to `last`, both included; `is_open` says that later ones belong too."""

    first: int
    last: int
    is_open: bool


def range_of(reads: Reads, row: TableRow, options: Options, position: int) -> VersionRange:
    """Return the versions that a read asks for, of those up to a position.

    Raises Refusal for options that name no versions.
    """
    newest = version_at(reads, row.table, position)
    first = first_of(reads, row, options, newest)
    last = last_of(reads, row, options)
    if last is not None and last < (first or 0):
        raise unsupported(
            f"the changes of table {row.name} must end with version {first or 0} or a later one, "
            f"got {last}"
        )
    end = newest if last is None else min(newest, last)
    return VersionRange(first or 0, end, last is None or last > newest)


def first_of(reads: Reads, row: TableRow, options: Options, newest: int) -> int | None:
    """Return the first version that a read asks for, None if its options name none."""
    version, at = options.get(STARTING.lower()), options.get(STARTING_AT.lower())
    if version is not None and at is not None:
        raise unsupported(f"give {STARTING} or {STARTING_AT}, not both")
    if at is not None:
        return version_since(reads, row, int(at))
    if version is None:
        return None
    if str(version).strip().lower() == LATEST:
        return newest + 1
    number = number_in(STARTING, version, f", or {LATEST}")
    if number > newest + 1:
        raise unsupported(
            f"{STARTING} must be a version of table {row.name}, at most {newest}, or the next one, "
            f"got {number}"
        )
    return number


def last_of(reads: Reads, row: TableRow, options: Options) -> int | None:
    """Return the last version that a read asks for, None if its options name none.

    A time that has not come names none: what is committed belongs to the range, and so do later
    commits. So it is with now, where the newest commit has a time that is yet to come.
    """
    version, at = options.get(ENDING.lower()), options.get(ENDING_AT.lower())
    if version is not None and at is not None:
        raise unsupported(f"give {ENDING} or {ENDING_AT}, not both")
    if at is not None:
        newest, at_ms = reads.version_row(row.table), int(at) / MICROS
        if not has_come(at_ms) or (newest is not None and is_now(at_ms, newest.at)):
            return None
        following = version_from(reads, row, int(at) + 1)
        return row.version if following is None else following.version - 1
    return None if version is None else number_in(ENDING, version)


def version_since(reads: Reads, row: TableRow, micros: int) -> int:
    """Return the first version at a time or later, the next one if none is that late.

    Raises Refusal for a time that has not come, and UnknownVersionError as `version_from`.
    """
    found = version_from(reads, row, micros)
    if found is not None:
        return found.version
    if not has_come(micros / MICROS - NOW_MS):
        raise unsupported(
            f"{STARTING_AT} must be a time that has come, got {moment(micros).isoformat(' ')}: "
            f"table {row.name} has no version of that time or later. Give an earlier time, or "
            f"{STARTING} {row.version + 1} for the next commit"
        )
    return row.version + 1


def version_from(reads: Reads, row: TableRow, micros: int) -> VersionRow | None:
    """Return the first version at a time or later, None if there is none.

    Raises UnknownVersionError if that version has a time that cannot be right.
    """
    found: VersionRow | None = None
    below: int | None = None
    while page := reads.versions(row.table, PAGE, below=below):
        for each in page:
            if each.at * MICROS < micros:
                check_known(row, moment(micros), found)
                return found
            found = each
        below = page[-1].version
    return found


def moment(micros: int) -> datetime:
    """Return a time of SQL."""
    return EPOCH + timedelta(microseconds=micros)


def number_in(name: str, value: object, others: str = "") -> int:
    """Return the number of a version or a limit; raises Refusal for another text."""
    text = str(value).strip()
    if not (text.isascii() and text.isdigit()):
        raise unsupported(f"{name} must be a whole number{others}, got {value!r}")
    return int(text)
