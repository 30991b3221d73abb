"""Served tables: the tables of a ledger as Iceberg reads them, kept folded between loads."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock, RLock
from typing import Final

from ledger.errors import FilesUnknownError
from ledger.reads.port import Reads, TableRow
from ledger.snapshot.reading import check_listed
from projections.iceberg.errors import RowsInLogError, bad_request, no_table
from projections.iceberg.served.folding import LostStateError, TableFold
from projections.iceberg.served.live_files import IN_LOG
from projections.iceberg.served.metadata.folder import MetadataFolder
from projections.iceberg.served.rendering import Rendering
from projections.iceberg.served.table import ServedTable, refusals

FOLDS_MAX: Final = 64
FOLDERS_MAX: Final = 1_024


class KeptFold:
    """The fold of a table, or of a table as of a version, for one thread at a time."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.fold: TableFold | None = None
        self.rendering: Rendering | None = None


class ServedTables:
    """The tables of a ledger as Iceberg reads them; threads may share it.

    `reads` returns the read model to ask, `ledger_id` is the id of the ledger. The files of a
    table's metadata are written below its location when they are first asked for.
    """

    def __init__(self, reads: Callable[[], Reads], ledger_id: str) -> None:
        self._reads, self._ledger = reads, ledger_id
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, int], KeptFold] = OrderedDict()
        self._folders: OrderedDict[str, MetadataFolder] = OrderedDict()

    def table(self, row: TableRow, position: int | None = None) -> ServedTable:
        """Return a table as of a position, or as of now.

        Raises IcebergRefusal for a table that was not there, and for one that Iceberg's readers
        cannot read; it names what helps, and is RowsInLogError if a flush does. Raises
        ReaderBehindError for a position not applied yet.
        """
        reads = self._reads()
        place = reads.position() if position is None else position
        try:
            check_listed(row)
        except FilesUnknownError as error:
            raise bad_request(str(error)) from error
        newest = reads.version_row(row.table, position=place)
        if newest is None or 0 < row.dropped <= place:
            raise no_table(row.name)
        if not row.definition.location:
            raise bad_request(
                f"table {row.name} has no location; alter it to have one, so that its metadata has "
                "a place"
            )
        kept = self._kept_for(row.table, newest.version)
        with kept.lock:
            with refusals(row.name):
                fold, rendering = self._folded(kept, reads, row.table, newest.position)
            table = ServedTable(
                row,
                place,
                fold,
                rendering,
                ledger=self._ledger,
                reads=self._reads,
                folders=self.folder,
                lock=kept.lock,
            )
        if table.problem:
            why = f"Iceberg's readers cannot read table {row.name}: {table.problem}"
            if table.problem == IN_LOG:
                raise RowsInLogError(400, "BadRequestException", why)
            raise bad_request(why)
        return table

    def folder(self, location: str) -> MetadataFolder:
        """Return the folder of metadata below a location."""
        with self._lock:
            found = self._folders.get(location)
            if found is None:
                found = self._folders[location] = MetadataFolder(location)
                if len(self._folders) > FOLDERS_MAX:
                    self._folders.popitem(last=False)
            self._folders.move_to_end(location)
            return found

    def _kept_for(self, table: int, version: int) -> KeptFold:
        """Return the fold of a table; a version below the kept one has a fold of its own."""
        with self._lock:
            key = table, -1
            kept = self._kept.get(key)
            if kept is not None and kept.fold is not None and kept.fold.row.version > version:
                key = table, version
            kept = self._kept.setdefault(key, KeptFold())
            self._kept.move_to_end(key)
            while len(self._kept) > FOLDS_MAX:
                self._kept.popitem(last=False)
            return kept

    def _folded(
        self, kept: KeptFold, reads: Reads, table: int, position: int
    ) -> tuple[TableFold, Rendering]:
        """Return the fold as of a position; one that failed is made anew."""
        fold, kept.fold = kept.fold, None
        if fold is not None:
            try:
                fold.go_on(reads, position)
            except LostStateError:
                fold = None
        if fold is None:
            fold = TableFold(reads, self._ledger, table, position)
            kept.rendering = Rendering(fold, self.folder)
        kept.fold = fold
        assert kept.rendering is not None, "a fold must have a rendering"
        return fold, kept.rendering
