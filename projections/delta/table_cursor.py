"""How far the log of one table is written, and the versions that wait to be written.

A version waits in a row of the store until the log has it. A log whose storage refuses a version
has a cursor that stays: it is tried again after pauses that grow up to a bound, until it moves.
"""

from typing import Final

from ledger.errors import StorageError
from projections.delta.kept_rows import CHECKPOINTS, CURSOR, WAITING, row_key
from projections.delta.log.log_writer import DeltaLogWriter, digest_of
from projections.delta.published_log import DeltaVersion, StoppedTable
from projections.rows.keys import Fields, reader_of, value, value_as_given
from projections.store.port import RowChange

PAUSE_S: Final = 1.0
PAUSE_MAX_S: Final = 60.0

Waiting = DeltaVersion | StoppedTable


class WaitingRow(Fields):
    """What waits to be written: a version, or the end of a publication."""

    version: DeltaVersion | None = None
    stop: StoppedTable | None = None


class TableCursor(Fields, dict=True):
    """The newest version in a log, with the digest of its bytes, and why the log goes no further.

    `ended` says why the table cannot be published, `held` why its log does not take the next
    version: the storage of the folder `refused_in` does not, or "" the log has a foreign file. With
    `is_short` only that version waits, and the later ones are made again from the events.

    Attributes:
        checkpoints: the checkpoints in the log that the cleaning knows, with their times.
        due_s: when the log is tried next.
        pause_s: how long it paused the last time, 0 if it does not stay.
        is_dropped: whether the table is gone, so that the cursor goes once nothing waits.
    """

    table: int
    folder: str = ""
    version: int = -1
    digest: str = ""
    ended: StoppedTable | None = None
    held: StoppedTable | None = None
    refused_in: str = ""
    is_short: bool = False

    def __post_init__(self) -> None:
        self.checkpoints: list[tuple[int, int]] = []
        self.writer: DeltaLogWriter | None = None
        self.is_dropped = False
        self.due_s = self.pause_s = 0.0
        # The rows that wait have the numbers from `_first` to `_next` - 1.
        self._first = self._next = self._bytes = 0
        self._has_new_checkpoints = False

    @property
    def stopped(self) -> StoppedTable | None:
        """Why the log goes no further for now."""
        return self.held or self.ended

    @property
    def has_waiting(self) -> bool:
        """Whether a version waits."""
        return self._first < self._next

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left to do for a dropped table."""
        return self.is_dropped and not self.has_waiting and not self.is_short

    @property
    def is_lacking(self) -> bool:
        """Whether the log takes versions again, and the next ones must be made again."""
        return self.is_short and not self.has_waiting

    def note(self, number: int, size: int) -> None:
        """Note a row that waits."""
        self._first = self._first if self.has_waiting else number
        self._next, self._bytes = number + 1, self._bytes + size

    def add(self, outcome: Waiting, bytes_max: int) -> list[RowChange]:
        """Let one more version wait, and return the rows that change.

        While the log takes no version at most about `bytes_max` wait, beyond that the first alone.
        """
        changes: list[RowChange] = []
        if self._is_elsewhere(outcome):
            changes = [*self.reset(), *self.rows()]
        elif self.is_short:
            return changes
        if isinstance(outcome, DeltaVersion):
            form = WaitingRow(version=outcome)
        else:
            form = WaitingRow(stop=outcome)
        row = value_as_given(form)
        changes.append((row_key(WAITING, self.table, self._next), row))
        self.note(self._next, len(row))
        if self.held is not None and self._bytes > bytes_max:
            changes += [*self._shorten(), *self.rows()]
        return changes

    def pass_by(self, number: int, size: int) -> RowChange:
        """Let a version wait no longer, and return its row."""
        self._first, self._bytes = number + 1, self._bytes - size
        return row_key(WAITING, self.table, number), None

    def begin(self) -> None:
        """Begin a log anew, perhaps in another folder."""
        self.ended = self.writer = None
        self.checkpoints = []
        self._has_new_checkpoints = True

    def move(self, version: DeltaVersion) -> None:
        """Move on to a version that is in the log."""
        self.folder, self.version = version.folder, version.version
        self.digest = digest_of(version.data)
        self._has_new_checkpoints |= version.state is not None

    def forget_above(self, version: int) -> None:
        """Forget checkpoints above a version: they are not in the log any more."""
        self.checkpoints[:] = [
            checkpoint for checkpoint in self.checkpoints if checkpoint[0] <= version
        ]
        self._has_new_checkpoints = True

    def hold(self, version: DeltaVersion, error: Exception, now_s: float) -> list[RowChange]:
        """Stay before a version for longer than the last time, and return the rows that change.

        Behind a foreign file, which may stay for ever, the other versions do not wait.
        """
        is_refused = isinstance(error, StorageError)
        again_s = min(2 * self.pause_s, PAUSE_MAX_S) if self.pause_s else PAUSE_S
        self.pause_s = again_s if is_refused else PAUSE_MAX_S
        self.due_s = now_s + self.pause_s
        self.held = StoppedTable(self.table, version.name, version.version, str(error))
        self.refused_in = version.folder if is_refused else ""
        return [] if is_refused else self._shorten()

    def go_on(self) -> None:
        """Stay no longer."""
        self.held, self.refused_in, self.is_short = None, "", False
        self.pause_s = self.due_s = 0.0

    def reset(self) -> list[RowChange]:
        """Let nothing wait, and return the rows that change."""
        changes = self._without(self._first)
        self._bytes = 0
        self.go_on()
        return changes

    def rows(self) -> list[RowChange]:
        """Return the rows of the cursor, to be deleted if it is gone."""
        keys = row_key(CURSOR, self.table), row_key(CHECKPOINTS, self.table)
        if self.is_gone:
            return [(key, None) for key in keys]
        rows: list[RowChange] = [(keys[0], value_as_given(self))]
        if self._has_new_checkpoints:
            rows.append((keys[1], value(self.checkpoints)))
            self._has_new_checkpoints = False
        return rows

    def _is_elsewhere(self, outcome: Waiting) -> bool:
        """Return whether a log begins anew that is not the one that takes no version."""
        if not isinstance(outcome, DeltaVersion) or not outcome.begins:
            return False
        return self.held is not None and outcome.folder != self.refused_in

    def _shorten(self) -> list[RowChange]:
        self.is_short = True
        return self._without(self._first + 1)

    def _without(self, number: int) -> list[RowChange]:
        """Return the rows without those that wait, from a number on."""
        gone = range(number, self._next)
        self._next = min(self._next, number)
        return [(row_key(WAITING, self.table, each), None) for each in gone]


read_waiting: Final = reader_of(WaitingRow)
read_cursor: Final = reader_of(TableCursor)
