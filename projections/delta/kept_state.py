"""The state of a publisher on disk: a restart reads the log from there, not from its beginning.

All rows are of one position: they are written in one batch, with the checkpoint of the domain
that names the place in the log. All of it can be made from the log, so rows that are missing, of
another log, of another format or damaged cost a restart time, and nothing else.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from ledger.core.acceptance import LogHead
from ledger.errors import IncompatibleError
from ledger.log import checkpoints
from ledger.log_lines import LogLines
from projections.delta.actions.file_actions import FilePlaces, LiveFile
from projections.delta.actions.log_state import LogState
from projections.delta.kept_forms import (
    FILE,
    TABLE,
    WRITTEN,
    KeptStop,
    KeptWritten,
    file_in,
    file_row_key,
    file_value,
    read_file,
    read_table,
    read_written,
    row_key,
    row_value,
    table_in,
)
from projections.delta.log.refused_log import RefusedLog
from projections.delta.publication import Publication
from projections.delta.published_log import DeltaVersion, PublishedLog, StoppedTable
from projections.delta.table_log import NewestVersion, TableLogs
from projections.delta.table_state import PublishedState
from projections.errors import StoreDamagedError, StoreError, StoreVersionError
from projections.rows.keys import CHECKPOINT, LOG
from projections.store.port import FORMAT_KEY, KEYS_END, RowChange, prefix_end
from projections.store.rocks_store import RocksStore

FORMAT: Final = 3
"""Increased whenever a form of the rows, or what is published of the same events, changes."""

log_lines = LogLines("lakeledger.publisher")


class ResumedState(NamedTuple):
    """A publication as it was kept, and the place in the log at which it goes on."""

    publication: Publication
    head: LogHead
    offset: int


class KeptState:
    """The rows of a publisher; `topic` is the id of the events that they come from."""

    def __init__(self, root: Path, topic: str) -> None:
        self._root, self._topic = root, topic.encode()
        self._store = opened(root)
        self._is_new = True

    @classmethod
    def open(cls, root: Path, topic: str) -> Self | None:
        """Return the rows in a folder, made where there are none; None if it cannot be used."""
        try:
            return cls(root, topic)
        except StoreError as problem:
            log_lines.warning("no state is kept", problem=str(problem))
            return None

    def close(self) -> None:
        """Let another process become the writer."""
        self._store.close()

    def load(self, logs: TableLogs) -> ResumedState | None:
        """Return the publication as it was kept, and restore its logs; None if no state is kept.

        Nothing is restored where None is returned. Raises StoreError if the folder cannot be used.
        """
        try:
            return self._loaded(logs)
        except StoreDamagedError as problem:
            log_lines.warning("the state is made anew", problem=str(problem))
            with suppress(StoreError):
                self._store.close()
            self._store = made_anew(self._root)
            return None

    def _loaded(self, logs: TableLogs) -> ResumedState | None:
        data = self._store.get(CHECKPOINT)
        if data is None or self._store.get(LOG) != self._topic:
            return None
        publication = Publication()
        try:
            publication.state, head, offset = checkpoints.load(data)
            for table, state, log in self._tables():
                publication.tables[table] = state
                if log is not None:
                    publication.logs[table] = log
            for table, file, live in self._files():
                publication.tables[table].live[file] = live
            written = [(table_in(key), read_written(row)) for key, row in self._rows(WRITTEN)]
        except (IncompatibleError, ValueError, KeyError, TypeError):
            return None
        for table, each in written:
            restore(logs, table, each)
        self._is_new = False
        return ResumedState(publication, head, offset)

    def forget(self) -> None:
        """Let the next save replace all rows: they are of no use."""
        self._is_new = True

    def save(self, publication: Publication, logs: TableLogs, head: LogHead, offset: int) -> int:
        """Keep a publication and its logs in the place of the former rows; return the size.

        Raises StoreError.
        """
        changes: list[RowChange] = []
        if self._is_new:
            old = self._store.scan(b"!", KEYS_END)
            changes += [(key, None) for key, _ in old if key != FORMAT_KEY]
        for table, files in (publication.changed or {}).items():
            changes += self._of_table(publication, table, files)
        changed = logs.changed | set(publication.changed or ())
        changes += [(row_key(WRITTEN, each), of_log(publication, logs, each)) for each in changed]
        data = checkpoints.dump(publication.state, head, offset)
        changes += [(LOG, self._topic), (CHECKPOINT, data)]
        self._store.write(changes)
        self._is_new = False
        logs.changed.clear()
        publication.changed = {}
        return sum(len(key) + len(row or b"") for key, row in changes)

    def _of_table(
        self, publication: Publication, table: int, files: set[tuple[str, str]]
    ) -> Iterator[RowChange]:
        state = publication.tables.get(table)
        if state is None:
            yield row_key(TABLE, table), None
            prefix = row_key(FILE, table)
            for key, _ in self._store.scan(prefix, prefix_end(prefix)):
                yield key, None
            return
        form, log = state.kept(), publication.logs.get(table)
        form.log = None if log is None else log.kept()
        yield row_key(TABLE, table), row_value(form)
        for each in files:
            live = state.live.get(each)
            yield file_row_key(table, each), None if live is None else file_value(live)

    def _tables(self) -> Iterator[tuple[int, PublishedState, PublishedLog | None]]:
        for key, row in self._rows(TABLE):
            form, table = read_table(row), table_in(key)
            state = PublishedState.of(table, form)
            yield table, state, None if form.log is None else PublishedLog.of(state, form.log)

    def _files(self) -> Iterator[tuple[int, tuple[str, str], LiveFile]]:
        for key, row in self._rows(FILE):
            yield table_in(key), file_in(key), read_file(row)

    def _rows(self, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._store.scan(kind, prefix_end(kind))


def opened(root: Path) -> RocksStore:
    """Return the store in a folder, an empty one in the place of one that is of no use."""
    try:
        return RocksStore.open(root, version=FORMAT)
    except (StoreVersionError, StoreDamagedError):
        return made_anew(root)


def made_anew(root: Path) -> RocksStore:
    """Return an empty store in the place of the one in a folder."""
    store = RocksStore.rebuild(root, version=FORMAT)
    store.publish()
    return store


def of_log(publication: Publication, logs: TableLogs, table: int) -> bytes | None:
    """Return the row of what is written of a log, None for a dropped table that lacks nothing."""
    held, ended, newest = logs.held.get(table), logs.ended.get(table), logs.newest.get(table)
    if table not in publication.tables and held is None:
        return None
    form = KeptWritten(checkpoints=logs.checkpoints(table))
    if newest is not None:
        form.folder, form.version, form.digest = newest
    if held is not None:
        form.stop = of_held(held)
    elif ended is not None:
        form.stop = KeptStop(ended.name, ended.version, ended.reason)
    return row_value(form)


def of_held(held: RefusedLog) -> KeptStop:
    """Return the form of a log that goes no further."""
    first, stopped = held.first, held.stopped
    return KeptStop(
        name=stopped.name,
        version=stopped.version,
        reason=stopped.reason,
        folder=first.folder,
        at=first.at,
        position=first.position,
        data=first.data.decode(),
        begins=first.begins,
        has_state=first.state is not None,
        is_refused=held.is_refused,
    )


def restore(logs: TableLogs, table: int, form: KeptWritten) -> None:
    """Give logs what was kept of one of them."""
    if form.version >= 0:
        newest = NewestVersion(form.folder, form.version, form.digest)
        logs.restore(table, newest, form.checkpoints)
    stop = form.stop
    if stop is None:
        return
    stopped = StoppedTable(table, stop.name, stop.version, stop.reason)
    if not stop.position:
        logs.ended[table] = stopped
        return
    # A version that is only looked for has its checkpoint, whatever that holds.
    is_looked_for = stop.has_state and not stop.is_refused
    first = DeltaVersion(
        table,
        stop.name,
        stop.folder,
        stop.version,
        stop.at,
        stop.position,
        stop.data.encode(),
        stop.begins,
        LogState({}, {}, (), (), (), FilePlaces()) if is_looked_for else None,
    )
    held = RefusedLog(first, stopped, is_refused=stop.is_refused, is_whole=False, now_s=0.0)
    # The checkpoint of a version is not kept, and a log that begins with one needs it first.
    held.is_open = stop.has_state and stop.begins and stop.is_refused
    logs.held[table] = held
