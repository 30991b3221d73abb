"""Streams that read a table, or its changes: the questions of Spark about offsets and files.

A batch has whole commits. A stream of a table gives rows that were added; a commit that took rows
away ends it, unless an option says what is meant. A stream of changes gives every commit. A stream
that cannot go on in this way ends with an error that says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ledger.files.storage import storage_at
from ledger.reads.port import FileRow, Reads, TableRow
from ledger.snapshot.as_of import known_row
from ledger.snapshot.changes import ChangeFeed, CommitChanges, shape, version_at
from ledger.snapshot.reading import check_listed
from ledger.snapshot.table_snapshot import TableSnapshot
from spark_sink.catalog.read.changes import answer_of
from spark_sink.catalog.read.files import hadoop_path, in_groups, size_of
from spark_sink.catalog.read.stream_places import StreamPlace, token_at
from spark_sink.catalog.read.versions import ENDING, ENDING_AT, VersionRange, first_of, number_in
from spark_sink.catalog.session.open_statements import CatalogState, Question, Refusal, unsupported

SKIP: Final = "skipChangeCommits"
IGNORE_DELETES: Final = "ignoreDeletes"
IGNORE_CHANGES: Final = "ignoreChanges"
MAX_FILES: Final = "maxFilesPerTrigger"
MAX_BYTES: Final = "maxBytesPerTrigger"
CHANGED: Final = "LEDGER_STREAM_CHANGED_ROWS"
SCHEMA: Final = "LEDGER_STREAM_SCHEMA_CHANGED"
GONE: Final = "LEDGER_STREAM_TABLE_GONE"
PAGE: Final = 1000


class Source(NamedTuple):
    """A stream that reads a table: as the table was at its start, and the options.

    `position` is where the table was looked up: the stream has its columns.
    """

    reads: Reads
    row: TableRow
    position: int
    options: Mapping[str, Any]
    is_changes: bool

    def is_set(self, option: str) -> bool:
        """Return whether an option of truth is on; raises Refusal for another text."""
        said = str(self.options.get(option.lower(), "false")).strip().lower()
        if said not in ("true", "false"):
            raise unsupported(f"{option} must be true or false, got {said!r}")
        return said == "true"

    def limit(self, option: str) -> int | None:
        """Return a limit of a batch, None for none; raises Refusal for a number below 1."""
        said = self.options.get(option.lower())
        number = None if said is None else number_in(option, str(said).strip().removesuffix("b"))
        if number == 0:
            raise unsupported(f"{option} must be 1 or more, got {said}")
        return number

    @property
    def newest(self) -> int:
        """The newest version of the table."""
        return version_at(self.reads, self.row.table, self.reads.position())


class BatchRoom:
    """How much a batch still takes; the first piece always has room."""

    def __init__(self, source: Source) -> None:
        self._limits = (source.limit(MAX_FILES), source.limit(MAX_BYTES))
        self._used = (0, 0)

    def takes(self, files: Sequence[FileRow]) -> bool:
        """Take some files if there is room for all; return whether there was."""
        more = len(files), sum(file.size for file in files)
        sums = tuple(a + b for a, b in zip(self._used, more, strict=True))
        fits = all(m is None or n <= m for n, m in zip(sums, self._limits, strict=True))
        if self._used[0] and more[0] and not fits:
            return False
        self._used = sums[0], sums[1]
        return True


def source_of(state: CatalogState, asked: Question, *places: StreamPlace) -> Source:
    """Return the source of a question, whose reads have come to some places.

    Raises Refusal if the table is not the one of the places, or not there any more.
    """
    for place in places:
        state.ledger.wait(place.token)
    reads = state.ledger.reads()
    table, name = int(asked["id"]), str(asked["table"])
    row = known_row(reads, table)
    check_listed(row)
    is_changes = bool(asked.get("changes"))
    source = Source(reads, row, int(asked["position"]), asked.get("options") or {}, is_changes)
    check_there(source, name.removesuffix(".changes") if is_changes else name)
    for place in places:
        check_place(source, place)
    return source


def check_there(source: Source, name: str) -> None:
    """Raise Refusal if a table was dropped or has another name than the stream knows."""
    if source.row.dropped:
        raise Refusal(
            GONE,
            f"table {name} was dropped at position {source.row.dropped} while a stream read it: "
            "end the stream",
        )
    if source.row.name.lower() != name.lower():
        raise Refusal(
            GONE,
            f"table {name} was renamed to {source.row.name} while a stream read it: start the "
            "stream again under that name",
        )


def check_place(source: Source, place: StreamPlace) -> None:
    """Raise Refusal for an offset in another table, or in a log that has others in its place."""
    row = source.row
    if place.table != row.table:
        other = source.reads.table(place.table)
        what = "a table that this ledger does not have" if other is None else f"table {other.name}"
        raise Refusal(
            GONE,
            f"the checkpoint belongs to {what} ({place.table}), and {row.name} is another one "
            f"({row.table}): it was dropped and created again, or the stream read another table. "
            "Begin with a new checkpoint",
        )
    if token_at(source.reads, row.table, place.version) != place.token:
        raise Refusal(
            GONE,
            f"the checkpoint has read version {place.version} of table {row.name} at "
            f"{place.token}, and the log has another commit there: it was cut or brought back. "
            "Begin with a new checkpoint",
        )


def begin(state: CatalogState, asked: Question) -> str:
    """Answer where a new stream begins."""
    source = source_of(state, asked)
    for option in (ENDING, ENDING_AT):
        if option.lower() in source.options:
            raise unsupported(f"a stream has no end: leave out {option}")
    for option in (MAX_FILES, MAX_BYTES):
        source.limit(option)
    newest, table = source.newest, source.row.table
    first = first_of(source.reads, source.row, source.options, newest)
    if first is None and source.is_changes:
        first = 0
    version = newest if first is None else first - 1
    token = token_at(source.reads, table, version)
    if first is not None:
        return str(StreamPlace(table, version, token))
    return str(StreamPlace(table, version, token, ("", ""), is_snapshot=True))


def newest(state: CatalogState, asked: Question) -> int:
    """Answer up to which version a stream goes that reads what there is now."""
    return source_of(state, asked).newest


def latest(state: CatalogState, asked: Question) -> str:
    """Answer where the next batch ends, at most with version `until`.

    Raises Refusal if the stream cannot go on behind its last place.
    """
    start = StreamPlace.parse(asked["start"])
    source = source_of(state, asked, start)
    if start.after is not None:
        end = in_snapshot(source, start)
        if end != start:
            return str(end)
    until = asked.get("until")
    last = source.newest if until is None else min(source.newest, int(until))
    version, room = start.version, BatchRoom(source)
    for commit in ChangeFeed(source.reads, source.row, start.version):
        if commit.version > last:
            break
        refused = refusal(source, commit)
        if refused is not None:
            if version > start.version:
                break
            raise refused
        if not room.takes(given(source, commit)):
            break
        version = commit.version
    return asked["start"] if version == start.version else str(start.at(source.reads, version))


def in_snapshot(source: Source, start: StreamPlace) -> StreamPlace:
    """Return where the next batch ends in the rows of a version; the same place for no rows."""
    room, place = BatchRoom(source), start
    for file in snapshot_files(source, start):
        if not room.takes([file]):
            return place
        place = place._replace(after=(file.path, file.vector))
    return start if place == start else place._replace(after=None)


def snapshot_files(source: Source, start: StreamPlace) -> Iterator[FileRow]:
    """Yield the files of a version that follow a place in it."""
    assert start.after is not None
    path, vector = start.after
    while page := source.reads.files(
        start.table, version=start.version, limit=PAGE, path=path, vector=vector
    ):
        yield from page
        path, vector = page[-1].path, page[-1].vector


def refusal(source: Source, commit: CommitChanges) -> Refusal | None:
    """Return why a stream ends before a commit, None if it continues."""
    name, version = source.row.name, commit.version
    if commit.schema_changed and commit.position > source.position:
        return Refusal(
            SCHEMA,
            f"version {version} of table {name} changed its columns while a stream read it: start "
            "the stream again, and it continues with the columns of now",
        )
    if source.is_changes or source.is_set(SKIP) or source.is_set(IGNORE_CHANGES):
        return None
    removed = [each for each in commit if each.data_change and not each.added]
    if not removed:
        return None
    adds = any(each.data_change and each.added for each in commit)
    if not adds and source.is_set(IGNORE_DELETES):
        return None
    other = f"{IGNORE_CHANGES} gives their files whole"
    if not adds:
        other = f"{IGNORE_DELETES} leaves out commits that only remove rows"
    return Refusal(
        CHANGED,
        f"version {version} of table {name} is a {commit.operation} that took rows away, such as "
        f"rows of {removed[0].file.path}, and a stream gives added rows only. The option {SKIP} "
        f"leaves such commits out, {other}. A stream of {name}.changes gives what changed",
    )


def given(source: Source, commit: CommitChanges) -> Sequence[FileRow]:
    """Return the files of a commit that a batch reads."""
    meant = [each for each in commit if each.data_change]
    if source.is_changes:
        return [each.file for each in meant]
    if source.is_set(SKIP) and any(not each.added for each in meant):
        return ()
    return [each.file for each in meant if each.added]


def batch(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer which files a batch reads."""
    start, end = StreamPlace.parse(asked["start"]), StreamPlace.parse(asked["end"])
    source = source_of(state, asked, start, end)
    if source.is_changes:
        wanted = VersionRange(start.version + 1, end.version, is_open=False)
        check_columns(source, end)
        return answer_of(source.reads, source.row, source.position, wanted)
    check_columns(source, end)
    now = TableSnapshot(source.reads, source.row, source.position)
    storage = storage_at(now.definition.location)
    kept = list(batch_files(source, start, end))
    paths = [hadoop_path(storage, each) for each in kept]
    size = partial(size_of, storage)
    return in_groups(kept, paths, now.schema, now.schema_of, size=size, storage=lambda: storage)


def batch_files(source: Source, start: StreamPlace, end: StreamPlace) -> Iterator[FileRow]:
    """Yield the files between two places."""
    if end.is_snapshot:
        for file in snapshot_files(source, start):
            yield file
            if (file.path, file.vector) == end.after:
                return
        return
    for commit in ChangeFeed(source.reads, source.row, start.version):
        if commit.version > end.version:
            return
        yield from given(source, commit)


def check_columns(source: Source, end: StreamPlace) -> None:
    """Raise Refusal if a batch ends behind a change of the columns that the stream has."""
    position = int(end.token.split(":")[2])
    table = source.row.table
    if position <= source.position:
        return
    definition = source.reads.definition(table, position)
    if shape(definition) != shape(source.reads.definition(table, source.position)):
        raise Refusal(
            SCHEMA,
            f"table {source.row.name} has other columns at version {end.version} than this stream: "
            "start the stream again",
        )
