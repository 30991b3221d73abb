"""The reader of the row store on disk: a RocksDB secondary in any process of the host.

RocksDB lets a secondary catch up, but not always correctly. It reads the manifest first and then
the write-ahead logs: if the writer flushes in between, later batches show without earlier ones. Its
own memtable may hide newer rows of a table flushed since. After a change of manifest rows can stay
missing for good. So a reader catches up only while no table came or went. Otherwise it opens the
database again with the same block cache. It checks the files again afterwards, because all this
holds only if they did not change meanwhile. Then it shows the rows of whole batches.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Self

from projections.errors import StoreClosedError, StoreError, StoreUnavailableError
from projections.store.generations import LOOKS_MAX, DiskState, Generations
from projections.store.port import FORMAT_KEY, FORMAT_VERSION, Row, RowReader, check_format
from projections.store.rocks import Database, RocksLimits, Secondaries


class RocksReader(RowReader):
    """The rows that another process writes, as of the last refresh. Threads may share it.

    It needs write permission in the store's directory, where rocksdict writes a file with its mode,
    and a scratch folder of its own, where RocksDB keeps a log file. RocksDB does not survive a
    fork: a worker process opens its own reader.
    """

    def __init__(self, root: Path, version: int, limits: RocksLimits, scratch: Path | None) -> None:
        self._generations = Generations(root)
        self._version = version
        self._lock = RLock()
        self._rows: Database
        self._generation: Path
        self._seen: DiskState | None = None
        self._is_closed = False
        with ExitStack() as held:
            folder = TemporaryDirectory(prefix="lakeledger-reader-", dir=scratch)
            self._secondaries = Secondaries(limits, Path(held.enter_context(folder)))
            self._follow()
            self._held = held.pop_all()

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        version: int = FORMAT_VERSION,
        limits: RocksLimits | None = None,
        scratch: Path | None = None,
    ) -> Self:
        """Open the store at `root` for reading; `scratch` is the parent of its scratch folder.

        Raises:
            StoreMissingError: its writer has not created it yet.
            StoreVersionError: its rows have another format.
        """
        return cls(root, version, limits or RocksLimits(), scratch)

    def get(self, key: bytes) -> bytes | None:
        with self._lock:
            return self._rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        with self._lock:
            return self._rows.get_many(keys)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        with self._lock:
            return self._rows.scan(start, end, limit=limit, reverse=reverse)

    def rows_about(self) -> int:
        """Return an estimate of the number of rows."""
        with self._lock:
            return self._rows.rows_about()

    def refresh(self) -> None:
        """Catch up with the writer, over its restarts and into a store it rebuilt.

        Raises:
            StoreError: the store is gone, damaged or of another format. The reader has no rows
                then, until a later refresh finds some: so a long-lived reader outlasts a rebuild.
        """
        with self._lock:
            if self._is_closed:
                raise StoreClosedError(f"the reader of {self._generations.root}")
            try:
                self._follow()
            except StoreError:
                self._rows.close()
                self._seen = None
                raise

    def origin(self) -> Path:
        return self._generation

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._rows.close()
            self._held.close()

    def _follow(self) -> None:
        """Move to the state on disk; repeat until it did not change meanwhile."""
        state = self._generations.disk_state()
        if state == self._seen:
            return
        for _ in range(LOOKS_MAX):
            problem = self._advance(state)
            after = self._generations.disk_state()
            if after.tables == state.tables:
                if problem:
                    raise problem
                return
            state = after
        raise StoreUnavailableError(self._generations.root, "its table files keep changing")

    def _advance(self, state: DiskState) -> StoreError | None:
        """Catch up, or open anew if that is not enough; return the error if both fail."""
        try:
            if not self._read_on(state):
                self._open(state)
        except StoreError as problem:
            self._seen = None
            return problem
        self._seen = state
        return None

    def _read_on(self, state: DiskState) -> bool:
        """Read the new write-ahead logs; return False if that is not enough, or fails."""
        if self._seen is None or self._seen.tables != state.tables:
            return False
        try:
            self._rows.catch_up()
        except StoreError:
            return False
        return True

    def _open(self, state: DiskState) -> None:
        """Open the published generation; running scans keep the old database until they end."""
        rows = self._secondaries.open(state.generation)
        check_format(rows.get(FORMAT_KEY), self._version, state.generation)
        self._rows, self._generation = rows, state.generation
