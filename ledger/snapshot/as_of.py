"""A place in the history of a table, as a caller names it: now, a version, a position or a time."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from ledger.clock import is_now, is_wrong
from ledger.definitions.client_reads import View
from ledger.errors import UnknownVersionError
from ledger.reads.errors import unknown_table, unknown_version
from ledger.reads.port import Reads, TableRow, VersionRow
from ledger.reads.whole_numbers import whole_number
from ledger.session.receipt import Token

MS: Final = 1000
VERSIONS: Final = 200


class AsOf(NamedTuple):
    """The state of a table at a version, a position or a time; by default the newest state."""

    version: int | None = None
    position: Token | int | None = None
    time: datetime | str | None = None

    @property
    def is_now(self) -> bool:
        """Whether no earlier state is named."""
        return self == NOW

    @property
    def place(self) -> Token | int:
        """The place that the reads must have reached, 0 = any."""
        return 0 if self.position is None else self.position

    def position_in(self, view: View, reads: Reads, table: TableRow) -> int:
        """Return the position of an earlier state; `reads` have reached `place`.

        Raises UnknownVersionError, ValueError for several places and for position 0, and as
        `position_at`.
        """
        if self.version is not None and self.position is not None and self.time is None:
            raise ValueError("give version or position, not both")
        if sum(each is not None for each in self) > 1:
            raise ValueError("give version, position or at, not several of them")
        if self.version is not None:
            return position_of_version(reads, table.table, whole_number("version", self.version))
        if self.time is not None:
            return position_at(reads, table, self.time)
        position = view.position_of(self.place)
        if not position:
            raise ValueError("position must be 1 or more, got 0: the log begins with 1")
        return position


NOW: Final = AsOf()


def known_row(reads: Reads, table: int) -> TableRow:
    """Return the row of a table; raises UnknownTableError."""
    row = reads.table(table)
    if row is None:
        raise unknown_table(table, reads.position())
    return row


def position_of_version(reads: Reads, table: int, version: int) -> int:
    """Return the position at which a table got a version; raises UnknownVersionError."""
    found = reads.version_row(table, version=version)
    if found is None:
        row = known_row(reads, table)
        raise unknown_version(table, version, row.version, row.name)
    return found.position


def position_at(reads: Reads, row: TableRow, at: datetime | str) -> int:
    """Return the position of the newest version of a table that was committed by a time.

    Raises UnknownVersionError if the table has none that old, ValueError for a time without a zone,
    and TypeError for anything but a time.
    """
    moment = moment_of(at)
    wanted = moment.timestamp() * MS
    below: int | None = None
    following: VersionRow | None = None
    while True:
        page = reads.versions(row.table, VERSIONS, below=below)
        if below is None and page and is_now(wanted, page[0].at):
            return page[0].position
        for each in page:
            if each.at <= wanted:
                check_known(row, moment, following)
                return each.position
            following = each
        if not page or page[-1].version == 0:
            oldest = page[-1].at if page else 0
            raise UnknownVersionError(
                f"table {row.name} has no version of {moment.isoformat(' ')}: its first is of "
                f"{datetime.fromtimestamp(oldest / MS, UTC).isoformat(' ')}. Give a later time",
                reason="UnknownVersion",
                subject=row.table,
            )
        below = page[-1].version


def check_known(row: TableRow, moment: datetime, following: VersionRow | None) -> None:
    """Raise UnknownVersionError if the version after a time has a time that cannot be right."""
    if following is not None and is_wrong(following.at):
        raise UnknownVersionError(
            f"the version of table {row.name} at {moment.isoformat(' ')} is not known: version "
            f"{following.version} and later ones have times that are yet to come, by a clock that "
            "was ahead. Give a version or a position",
            reason="UnknownVersion",
            subject=row.table,
        )


def moment_of(at: datetime | str) -> datetime:
    """Return a time with its zone; raises ValueError without one, TypeError for no time."""
    if not isinstance(at, datetime | str):
        raise TypeError(
            f"at must be a datetime or a text, such as '2026-01-31 12:00:00+01:00', got {at!r}"
        )
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        raise ValueError(
            f"at must be a time with a zone, such as '2026-01-31 12:00:00+01:00', got {at!r}"
        ) from None
    if moment.tzinfo is None:
        raise ValueError(
            f"at must have a zone, such as '2026-01-31 12:00:00+01:00', got {str(at)!r}; without "
            "one it may mean several times"
        )
    return moment
