"""What the ledger knows of the batches of a query: whether one was applied, and where.

A batch is the same if its number and its offsets are. Spark numbers the batches of a query without
gaps, so a number that does not follow the last recorded one tells of lost batches. In doubt the
batch is refused: to leave it out would lose its rows, and to apply it would double them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ledger.core.commands import AppVersion
from ledger.reads.port import Reads
from ledger.sdk.streams import SourceOffset, StreamNote, first_receipt, note_of, notes_before
from ledger.session.receipt import Receipt, Token
from ledger.work.app_notes import AppProgress, progress_in
from ledger.work.repeated_batches import Recorded, warn


class RecordedBatches:
    """The recorded batches of an application; `origin` is a token of the ledger."""

    def __init__(self, reads: Reads, origin: Token, app: str, from_batch: int) -> None:
        self._reads = reads
        self._origin = origin
        self._app = app
        self._from_batch = from_batch
        self._found: Sequence[AppProgress] = progress_in(reads, app)

    @property
    def tables(self) -> Sequence[int]:
        """The tables in which the application has progress."""
        return [each.table.table for each in self._found]

    def receipt_of(self, note: StreamNote) -> Receipt | None:
        """Return the receipt of a batch that was applied, None for a new batch.

        Raises ValueError for a batch of which that is not known: rows would be lost or doubled.
        """
        for each in self._found:
            self._check_same_query(each, note)
        if not self._found:
            self._check_begins(note)
            return None
        newest = max(self._found, key=lambda each: each.version)
        if newest.version < note.batch:
            self._check_follows(note)
            return None
        position = self._position_of(note, newest)
        at = datetime.now(UTC)
        said = Recorded(AppVersion(self._app, note.batch), newest.table.table, newest.version)
        first = Receipt(
            0, position, at, self._origin.at(position), repeated=True, skipped=True, note=str(said)
        )
        warn(first, [said], str(said))
        return first_receipt(self._reads, first, self.tables)

    def _position_of(self, note: StreamNote, newest: AppProgress) -> int:
        """Return the position at which a batch was applied; raises ValueError for another batch."""
        for each in self._found:
            for known, position in notes_before(self._reads, each):
                if known.batch < note.batch:
                    break
                if known.batch == note.batch:
                    if ends_of(known.sources) != ends_of(note.sources):
                        raise ValueError(
                            f"batch {note.batch} of query {note.query} was applied with the "
                            f"offsets {ends_of(known.sources)}, and now has "
                            f"{ends_of(note.sources)}: its checkpoint is another one than it was. "
                            "Bring the checkpoint back, or begin with a new one"
                        )
                    return position
        raise ValueError(
            f"batch {note.batch} of query {note.query} is below the last recorded batch, "
            f"{newest.version} in table {newest.table.name}, and no commit has recorded it: its "
            "checkpoint is older than the tables. Bring the newer checkpoint back, or begin with a "
            "new one"
        )

    def _check_same_query(self, known: AppProgress, note: StreamNote) -> None:
        """Raise ValueError if the progress is of another query, or names none."""
        other = note_of(known.info)
        if other is not None and other.query == note.query:
            return
        whose = "no query" if other is None else f"query {other.query} {other.name}".strip()
        raise ValueError(
            f"application {self._app} has progress of {whose}, up to batch {known.version} in "
            f"table {known.table.name}, and this is query {note.query}: all batches up to that "
            "number would be left out. Give the stream another application, or its old checkpoint"
        )

    def _check_begins(self, note: StreamNote) -> None:
        """Raise ValueError if the earlier batches of a query are in no table."""
        if note.batch > self._from_batch:
            raise ValueError(
                f"query {note.query} is at batch {note.batch}, and no table of this ledger has its "
                "earlier batches: the ledger or the tables are others than before. Begin with a "
                f"new checkpoint; or give from_batch={note.batch} if the earlier batches went "
                "elsewhere"
            )

    def _check_follows(self, note: StreamNote) -> None:
        """Raise ValueError if batches between the last recorded one and this one are missing."""
        # A table that was dropped had its batches: the ledger has not lost them.
        last = max(each.version for each in self._reads.progress(self._app))
        if note.batch <= max(last + 1, self._from_batch):
            return
        first = last + 1
        until = note.batch - 1
        missing = f"batch {first}" if first == until else f"batches {first} to {until}"
        raise ValueError(
            f"query {note.query} must go on with batch {first}, got batch {note.batch}: the last "
            f"batch that this ledger knows is {last}, and the rows of {missing} would "
            "be missing from the tables. The ledger is older than the checkpoint, as after a "
            "restore or a cut. Bring the checkpoint of that time back, or begin with a new one; or "
            f"give from_batch={note.batch} if the rows between are not wanted here"
        )


def ends_of(sources: Sequence[SourceOffset]) -> Sequence[Any]:
    """Return the ends alone: the batches with the same ends have the same rows."""
    return [source.end for source in sources]
