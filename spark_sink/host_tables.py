"""The tables of this host's rows in one snapshot, for planning Spark jobs.

The driver resolves tables before any data are read. So that costs one lookup in a cache, and no
task sees metadata change. Nothing here loads Spark.
"""

import atexit
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from functools import cache, cached_property
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self

from ledger.config.address import Address
from ledger.config.config import load
from ledger.config.search import find_address, keys_folder
from ledger.config.settings import CATALOG_DEFAULT
from ledger.core.commands import TableDefinition
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.partitions.transforms import transforms_of
from ledger.core.predicates.tree import TRUE_PREDICATE, Node
from ledger.core.refusals import Reason
from ledger.core.state.traits import keeps_partitions
from ledger.definitions.client_reads import check_identity
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.errors import SettingsError, UnknownTableError
from ledger.expressions.build import Expression, condition_in
from ledger.keys.keyed_reads import keyed
from ledger.reads.metadata import Name, TableMetadata
from ledger.reads.port import FileRow, Reached, Reads
from ledger.session.receipt import Token
from ledger.snapshot.as_of import known_row
from ledger.snapshot.reading import TableFiles
from ledger.snapshot.table_snapshot import TableSnapshot
from projections.cache.entries.rows_as_entries import is_named_at, named_in, takers
from projections.cache.fold import is_called
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened
from projections.errors import StoreError
from projections.queries import StoreReads
from projections.reads.lookups import definitions
from projections.store.port import RowReader
from projections.store.rocks_reader import RocksReader

WAIT_MS: Final = 30_000
# No column has this name.
GONE: Final = ""


class HostSnapshot(Protocol):
    """The view of a `Transaction` since it opened.

    `id` is the txn that holds it, and `opened` the position of its files.
    """

    id: int
    opened: int

    @property
    def token(self) -> Token:
        """The token of the last answer to the txn, which the rows must have reached."""
        ...

    @property
    def valid_txns(self) -> ValidTxnList:
        """The valid txns of the snapshot."""
        ...

    def check_shown(self, read: TableFiles) -> None:
        """Raise FilesUnknownError if a read without files leaves out files that this txn added."""
        ...

    def use(self, read: TableFiles) -> None:
        """Record a read: a commit in the meantime that changes the read data wins."""
        ...


class Level(NamedTuple):
    """One layout of folders: the names that the partition columns had.

    Each name comes with the present name of its column. If folders of one shape had different
    columns at different times, `write_ids` are the ids written since this layout holds. None: every
    folder of this shape that no newer level claims.
    """

    names: Mapping[str, str]
    write_ids: AbstractSet[int] | None


class HostTable(NamedTuple):
    """A table as a snapshot sees it.

    `write_ids` are the valid ids, None for an external table. `files` are the live files of the
    snapshot, None if the names of folders hold the write ids. `partitioned` has the columns of the
    partition values of files, by the position of their add, where they differ from the partition
    columns. `levels` are the layouts of folders, the newest first; [] if folders hold no write ids.
    `where` is the condition of the read, in wire form.
    """

    metadata: TableMetadata
    write_ids: ValidWriteIdList | None
    files: Sequence[FileRow] | None
    partitioned: Mapping[int, Sequence[str]]
    levels: Sequence[Level]
    where: str = TRUE_PREDICATE


class HostTables:
    """Resolves tables by a metadata cache and reads over one store; threads may share it.

    Attributes:
        cache: the metadata cache, with its counts.
        reads: the read model of the same rows.
        catalog: the catalog of names.
    """

    def __init__(
        self, rows: RowReader, reads: Reads, metadata: MetadataCache, catalog: str
    ) -> None:
        self.cache = metadata
        self.reads = reads
        self.catalog = catalog
        self._rows = rows
        self._seen = Reached()

    @classmethod
    def open(cls, store: Path, catalog: str = CATALOG_DEFAULT) -> Self:
        """Return the tables of a feeder's or follower's rows; raises StoreMissingError."""
        with ExitStack() as opened:
            reads = StoreReads(opened.enter_context(RocksReader.open(store)))
            rows = opened.enter_context(RocksReader.open(store))
            metadata = MetadataCache.open(store, catalog)
            opened.pop_all()
        return cls(rows, keyed(reads, keys_folder(Address("", "", store))), metadata, catalog)

    def resolve(
        self,
        name: str,
        snapshot: HostSnapshot,
        max_wait_ms: int = WAIT_MS,
        *,
        where: str | Expression | None = None,
        record: bool = True,
        time_zone: ZoneLike = "UTC",
    ) -> HostTable:
        """Return the table that had a name in a snapshot, as the snapshot sees it.

        The txn of the snapshot records that it read all rows, or those of a condition `where`, as
        with `Transaction.read`; with `record=False` it does not, since its writes do not depend on
        them. Reads of an external table are not recorded: no txn commits to it. `time_zone` is the
        time zone of the condition.

        Tables that the own txn created or renamed have the new name. Changes outside a txn hold for
        every reader from their position on, but they give no other table a name that was taken in
        the snapshot. Raises UnknownTableError, SettingsError for rows of another ledger,
        LogRewrittenError if the log lost events that the txn or an earlier call has seen,
        ReaderBehindError if the rows do not reach the snapshot in time, StoreError if a store is
        missing, PredicateSyntaxError, FilesUnknownError if only the txn's own files are known, and
        ValueError if a txn that has ended would record a read.
        """
        self._check_lineage(snapshot, max_wait_ms)
        self._rows.refresh()
        wanted = self.catalog, name
        for table in named_for(self._rows, wanted, snapshot):
            ids = self._write_ids(table, snapshot)
            answer = self.cache.read(
                table,
                ids,
                own_txn=snapshot.id,
                token=snapshot.token.position,
                max_wait_ms=max_wait_ms,
            )
            found = answer.value
            if isinstance(found, TableMetadata) and is_called((found.catalog, found.name), wanted):
                zone = zone_named(time_zone)
                tree = condition_in(where)
                read = None if ids is None else self._read(found, snapshot, tree, zone)
                if record and read is not None:
                    snapshot.use(read)
                return self._host_table(found, snapshot, ids, read)
        raise UnknownTableError(
            f"catalog {self.catalog} has no table {name} in the snapshot of txn {snapshot.id}, "
            f"opened at position {snapshot.opened}; open a txn after its creation",
            reason=Reason.UNKNOWN_TABLE.value,
        )

    def close(self) -> None:
        """Close everything that was opened."""
        self.cache.close()
        self.reads.close()
        self._rows.close()

    def _check_lineage(self, snapshot: HostSnapshot, max_wait_ms: int) -> None:
        """Wait until the rows reach a snapshot, and check that they hold all events seen before.

        If they do not, these tables are of a log that is gone; open new ones.
        """
        token = snapshot.token
        check_identity(self.reads, token, max_wait_ms)
        self._seen = max(self._seen, self.reads.reach(snapshot.opened, self._seen, max_wait_ms))
        self.reads.reach(token.position, token.seen, max_wait_ms)

    def _write_ids(self, table: int, snapshot: HostSnapshot) -> ValidWriteIdList | None:
        row = self.reads.table(table)
        if row is None or row.definition.kind != "managed":
            return None
        return self.reads.valid_write_ids(table, snapshot.valid_txns)

    def _read(
        self, found: TableMetadata, snapshot: HostSnapshot, where: Node | None, zone: str
    ) -> TableFiles:
        """Return the files that a condition may concern.

        The files of a table in folders are not known, so without a condition everything is read.
        """
        row = known_row(self.reads, found.table)
        seen = TableSnapshot(self.reads, row, snapshot.opened, zone)
        if found.definition.layout == "directories":
            return seen.read_unlisted(where)
        read = seen.read(where)
        snapshot.check_shown(read)
        return read

    def _host_table(
        self,
        found: TableMetadata,
        snapshot: HostSnapshot,
        ids: ValidWriteIdList | None,
        read: TableFiles | None,
    ) -> HostTable:
        names = NamesNow(self._rows, found, snapshot.opened)
        if read is None:
            return HostTable(found, ids, None, {}, ())
        if found.definition.layout == "directories":
            return HostTable(found, ids, None, {}, self._levels(found, snapshot, names))
        partitioned = self._partitioned(found, read.files, names)
        return HostTable(found, ids, read.files, partitioned, (), read.where)

    def _partitioned(
        self, found: TableMetadata, files: Sequence[FileRow], names: "NamesNow"
    ) -> Mapping[int, Sequence[str]]:
        row, seen = self.reads.table(found.table), found.definition
        if row is None or not files:
            return {}
        # A change by the reader's own txn holds for no existing file.
        is_own = is_partitioned_otherwise(seen, row.definition)
        adds = {file.added for file in files if is_own or file.added <= row.partitioned}
        then, now = self._columns_at(found, adds, names), partition_columns(seen)
        return {added: columns for added, columns in then if columns != now}

    def _columns_at(
        self, found: TableMetadata, adds: AbstractSet[int], names: "NamesNow"
    ) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the partition columns as of positions; each definition is read once."""
        since, then = max(adds, default=0) + 1, found.definition
        columns: Sequence[str] = ()
        for added in sorted(adds, reverse=True):
            if added < since:
                newest = next(definitions(self._rows, found.table, added, limit=1), None)
                if newest is None:
                    raise StoreError(
                        f"the rows of this host know files of table {found.name} from position "
                        f"{added}, but not how it was partitioned then, so the values of their "
                        "partitions are of columns unknown. Make the rows anew with --rebuild, of "
                        "lakeledger up or of the role that writes them"
                    )
                since, then = newest
                columns = names.of(then, since)
            yield added, columns

    def _levels(
        self, found: TableMetadata, snapshot: HostSnapshot, names: "NamesNow"
    ) -> Sequence[Level]:
        """Return the layouts of the folders of a table, from all its definitions so far."""
        row, seen = self.reads.table(found.table), found.definition
        known = [(snapshot.opened, seen)]
        if row is not None and (row.partitioned or is_partitioned_otherwise(seen, row.definition)):
            # All definitions since then have the present partition columns.
            before = min(snapshot.opened, row.partitioned)
            known += definitions(self._rows, found.table, snapshot.opened, limit=1)
            known += definitions(self._rows, found.table, before)
        alike: dict[tuple[str, ...], list[tuple[int, Mapping[str, str]]]] = {}
        for since, then in known:
            level = dict(zip(partition_columns(then), names.of(then, since), strict=True))
            same = alike.setdefault(tuple(map(str.lower, level)), [])
            if same and [*same[-1][1].values()] == [*level.values()]:
                level = dict(same.pop()[1])
            same.append((since, level))
        return [
            Level(level, None if at == len(same) else self._written(found.table, since, snapshot))
            for same in alike.values()
            for at, (since, level) in enumerate(same, start=1)
        ]

    def _written(self, table: int, since: int, snapshot: HostSnapshot) -> AbstractSet[int]:
        """Return the write ids that committed from a position on, and those of the reader's txn."""
        before = self.reads.version_row(table, position=since - 1)
        newest = self.reads.version_row(table)
        count = (newest.version if newest else -1) - (before.version if before else -1)
        committed = {version.write_id for version in self.reads.versions(table, count)}
        own = {
            mapping.write_id for mapping in self.reads.mappings(table) if mapping.txn == snapshot.id
        }
        return committed | own


class NamesNow:
    """The present names of former partition columns, for a reader of a position.

    A column is identified by its id. The id of a dropped column may be used again, so a column with
    another name is the same only if the table had it all the time.
    """

    def __init__(self, rows: RowReader, table: TableMetadata, position: int) -> None:
        self._rows = rows
        self._table = table.table
        self._position = position
        self._names = {column.id: column.name for column in table.definition.columns}

    def of(self, then: TableDefinition, since: int) -> list[str]:
        """Return the partition columns of an earlier definition by their present names.

        A dropped column keeps its name, or is `GONE` if another column has the name now. A
        transform is `GONE`: its column is in the files.
        """
        ids = {column.name.lower(): column.id for column in then.columns}
        transforms = transforms_of(then)
        return [
            GONE if each in transforms else self._of(each, ids.get(each.lower(), 0), since)
            for each in then.partition_columns
        ]

    def _of(self, name: str, column: int, since: int) -> str:
        now = self._names.get(column)
        if now is not None and (now.lower() == name.lower() or self._since[column] <= since):
            return now
        # If a definition lists no columns, a later column of the same name is the same one.
        is_taken = column and name.lower() in map(str.lower, self._names.values())
        return GONE if is_taken else name

    @cached_property
    def _since(self) -> Mapping[int, int]:
        """The position from which the table had each present column; only renames need it."""
        since = dict.fromkeys(self._names, self._position)
        left = set(since)
        for position, then in definitions(self._rows, self._table, self._position):
            left &= {column.id for column in then.columns}
            if not left:
                break
            since.update(dict.fromkeys(left, position))
        return since


def is_partitioned_otherwise(table: TableDefinition, other: TableDefinition) -> bool:
    """Return whether the partition columns of two definitions differ, in names, types or ids."""
    return not keeps_partitions(table, other)


def partition_columns(table: TableDefinition) -> list[str]:
    """Return the partition columns of a table, spelled as its columns are."""
    names = {column.name.lower(): column.name for column in table.columns}
    return [names.get(each.lower(), each) for each in table.partition_columns]


def named_for(rows: RowReader, name: Name, snapshot: HostSnapshot) -> Iterator[int]:
    """Yield the tables that may have a name for a snapshot, the likeliest first."""
    yield from named_in(rows, snapshot.id, name)
    before = takers(rows, name, until=snapshot.opened)
    holder = next(before, 0)
    if holder and is_named_at(rows, holder, name, snapshot.opened):
        yield holder
    else:
        yield from takers(rows, name, after=snapshot.opened)


def host_tables() -> Reopened[HostTables]:
    """Return the tables of the rows that the settings name, or of the ledger that is up here.

    Raises SettingsError without rows.
    """
    settings = load().settings
    store = settings.store or find_address().store
    if store is None:
        raise SettingsError(
            "planning needs the rows of this host. Set LAKELEDGER_STORE to the folder that a "
            "follower or a feeder writes, or give tables=HostTables.open(...)"
        )
    return tables_at(store, settings.catalog)


@cache
def tables_at(store: Path, catalog: str) -> Reopened[HostTables]:
    """Return the tables of the rows at a path, opened once in a process.

    If rows could not be read, for example while they are made anew, the next call opens them again.
    """
    found = Reopened(lambda: HostTables.open(store, catalog))
    atexit.register(found.close)
    return found
