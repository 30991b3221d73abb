"""The questions over HTTP: the path of each, and its call of `Reads`.

`ledger.reads.http` is the client of all of them. A question with a body is a POST, and still a
read.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.reads.http_questions import VERSION_PATH
from ledger.reads.port import (
    ConflictRow,
    FileChange,
    FileRow,
    HistoryRow,
    PartitionRow,
    Reached,
    Reads,
    VersionRow,
)
from projections.web.asked import Asked
from projections.web.listing import FEW, Paged, Size
from projections.web.metadata_questions import check_wait, metadata

Asking = TypeVar("Asking")
Ask = Callable[[Reads, Asked], Any]
GET: Final = ("GET",)


def few(_asked: Asked) -> Size:
    """Return the size of an answer that is always short."""
    return Size.FEW


def whole(_asked: Asked) -> Size:
    """Return the size of an answer that has all rows as of one moment."""
    return Size.WHOLE


def by_limit(many: Size) -> Callable[[Asked], Size]:
    """Return a function that decides the size of an answer by its limit."""
    return lambda asked: many if asked.limit() > FEW else Size.FEW


def of_listing(asked: Asked) -> Size:
    """Return the size of a listing of files or partitions: all rows if no limit is given."""
    limit = asked.limit_or_none()
    return Size.FEW if limit is not None and limit <= FEW else Size.PAGES


class Question(NamedTuple, Generic[Asking]):
    """A path below `root`, the function that answers it, its methods and size.

    Answers with `Paged` rows are read page by page.
    """

    path: str
    ask: Callable[[Asking, Asked], Any]
    methods: Sequence[str] = GET
    size: Callable[[Asked], Size] = few
    root: str = VERSION_PATH


def of_table(ask: Callable[[Reads, int, Asked], Any]) -> Ask:
    """Return a question about the table in the path."""
    return lambda reads, asked: ask(reads, asked.number("table"), asked)


def reached(reads: Reads, asked: Asked) -> Reached:
    """Return how far the rows are, once they have come to a position and to `seen`."""
    asked.max_wait_ms = asked.number_or_none("max_wait_ms") or 0
    check_wait(asked.max_wait_ms)
    seen = Reached(asked.number_or_none("seen") or 0, asked.text_or_none("chain") or "")
    return reads.reach(asked.number_or_none("at_least") or 0, seen, 0)


def files(reads: Reads, table: int, asked: Asked) -> Sequence[FileRow] | Paged[Reads, FileRow]:
    """Return the files of a table, now or as of a position or a version, perhaps with a limit.

    The pages of a long listing are all as of one position.
    """
    position, version = place_of(asked)
    path, vector = (asked.text_or_none(each) or "" for each in ("path", "vector"))
    limit, where = asked.limit_or_none(), asked.condition()
    if of_listing(asked) is Size.FEW:
        return reads.files(
            table,
            where=where,
            position=position,
            version=version,
            limit=limit,
            path=path,
            vector=vector,
        )
    as_of = reads.position() if position is None and version is None else position

    def page(source: Reads, last: FileRow | None, rows: int) -> Sequence[FileRow]:
        behind = (path, vector) if last is None else (last.path, last.vector)
        return source.files(
            table,
            where=where,
            position=as_of,
            version=version,
            limit=rows,
            path=behind[0],
            vector=behind[1],
        )

    return Paged(page, limit)


def changes(_reads: Reads, table: int, asked: Asked) -> Paged[Reads, FileChange]:
    """Return the files that versions of a table added and removed."""
    first, last = asked.number("first"), asked.number("last")
    place = asked.number_or_none("place") or 0

    def page(source: Reads, found: FileChange | None, rows: int) -> Sequence[FileChange]:
        behind = (first, place) if found is None else (found.version, found.place)
        return source.file_changes(table, behind[0], last, rows, place=behind[1])

    return Paged(page, asked.limit())


def partitions(reads: Reads, table: int, asked: Asked) -> Paged[Reads, PartitionRow]:
    """Return the partitions of a table, now or as of a position or a version."""
    position, version = place_of(asked)
    after, where = asked.number_or_none("after") or 0, asked.condition()
    as_of = reads.position() if position is None and version is None else position
    return Paged(
        lambda source, last, rows: source.partitions(
            table,
            where=where,
            position=as_of,
            version=version,
            limit=rows,
            after=after if last is None else last.number,
        ),
        asked.limit_or_none(),
    )


def place_of(asked: Asked) -> tuple[int | None, int | None]:
    """Return the position or the version of a question, at most one of them."""
    asked.check_one_of("version", "position")
    return asked.number_or_none("position"), asked.number_or_none("version")


def history(_reads: Reads, asked: Asked) -> Paged[Reads, HistoryRow]:
    """Return the events that follow a position."""
    after = asked.number_or_none("after") or 0
    return Paged(
        lambda source, last, rows: source.history(after if last is None else last.position, rows),
        asked.limit(),
    )


def conflicts(_reads: Reads, asked: Asked) -> Paged[Reads, ConflictRow]:
    """Return the lost commits that follow a position."""
    after = asked.number_or_none("after") or 0
    return Paged(
        lambda source, last, rows: source.conflicts(after if last is None else last.position, rows),
        asked.limit(),
    )


def versions(_reads: Reads, table: int, asked: Asked) -> Paged[Reads, VersionRow]:
    """Return the versions of a table below one, newest first."""
    below = asked.number_or_none("below")
    return Paged(
        lambda source, last, rows: source.versions(
            table, rows, below=below if last is None else last.version
        ),
        asked.limit(),
    )


def version(reads: Reads, table: int, asked: Asked) -> VersionRow | None:
    """Return a version of a table, the newest unless its number, a position or a time is given."""
    asked.check_one_of("version", "position", "at")
    position, number = (asked.number_or_none(each) for each in ("position", "version"))
    at = asked.number_or_none("at")
    # `version_row` takes 0 for no time; no version is that old.
    if at == 0:
        return None
    return reads.version_row(table, version=number, position=position, at=at or 0)


def valid_write_ids(reads: Reads, table: int, asked: Asked) -> ValidWriteIdList:
    """Return the write ids valid under the list in the body, or else at a position or now."""
    txns = asked.txns()
    if txns is not None:
        return reads.valid_write_ids(table, txns)
    return reads.write_ids_at(table, asked.number_or_none("position"))


QUESTIONS: Final[Sequence[Question[Reads]]] = (
    Question("/identity", lambda reads, _: reads.identity()),
    Question("/reached", reached),
    Question("/snapshot", lambda reads, asked: reads.valid_txns(asked.number_or_none("position"))),
    Question("/metadata", metadata, ("GET", "POST")),
    Question("/watermark", lambda reads, _: reads.watermark()),
    Question("/counts", lambda reads, _: reads.counts()),
    Question("/history", history, size=by_limit(Size.PAGES)),
    Question("/conflicts", conflicts, size=by_limit(Size.PAGES)),
    Question(
        "/anomalies",
        lambda reads, asked: reads.anomalies(
            asked.number_or_none("table"), asked.limit(), after=asked.number_or_none("after") or 0
        ),
        size=by_limit(Size.WHOLE),
    ),
    Question(
        "/txns/open",
        lambda reads, asked: reads.open_txns(asked.limit()),
        size=by_limit(Size.WHOLE),
    ),
    Question(
        "/txns/aborted",
        lambda reads, asked: reads.aborted_txns(asked.limit()),
        size=by_limit(Size.WHOLE),
    ),
    Question(
        "/progress",
        lambda reads, asked: reads.progress(asked.text_or_none("app") or ""),
        size=whole,
    ),
    Question("/txns/{txn}", lambda reads, asked: reads.txn(asked.number("txn"))),
    Question("/txns/{txn}/conflict", lambda reads, asked: reads.conflict(asked.number("txn"))),
    Question("/sessions/opened-with", lambda reads, asked: reads.session_of(asked.digits("nonce"))),
    Question("/sessions/{session}", lambda reads, asked: reads.session(asked.number("session"))),
    Question(
        "/sessions/{session}/outcomes/{n}",
        lambda reads, asked: reads.outcome(asked.number("session"), asked.number("n")),
    ),
    Question(
        "/tables",
        lambda reads, asked: reads.tables(include_dropped=asked.flag("include_dropped")),
        size=whole,
    ),
    Question(
        "/tables/named",
        lambda reads, asked: reads.table_named(asked.text("catalog"), asked.text("name")),
    ),
    Question("/tables/{table}", of_table(lambda reads, table, _: reads.table(table))),
    Question(
        "/tables/{table}/definition",
        of_table(
            lambda reads, table, asked: reads.definition(table, asked.number_or_none("position"))
        ),
    ),
    Question(
        "/tables/{table}/mappings",
        of_table(lambda reads, table, _: reads.mappings(table)),
        size=whole,
    ),
    Question("/tables/{table}/valid-write-ids", of_table(valid_write_ids), ("GET", "POST")),
    Question("/tables/{table}/files", of_table(files), ("GET", "POST"), of_listing),
    Question("/tables/{table}/partitions", of_table(partitions), ("GET", "POST"), of_listing),
    Question("/tables/{table}/changes", of_table(changes), size=by_limit(Size.PAGES)),
    Question(
        "/tables/{table}/paths",
        of_table(lambda reads, table, asked: reads.file_paths(table, asked.digits("hash"))),
    ),
    Question("/tables/{table}/version", of_table(version)),
    Question("/tables/{table}/versions", of_table(versions), size=by_limit(Size.PAGES)),
    Question(
        "/tables/{table}/apps", of_table(lambda reads, table, _: reads.apps(table)), size=whole
    ),
    Question(
        "/tables/{table}/apps/named",
        of_table(lambda reads, table, asked: reads.app(table, asked.text("name"))),
    ),
    Question("/tables/{table}/mark", of_table(lambda reads, table, _: reads.table_mark(table))),
    Question(
        "/tables/{table}/released-files",
        of_table(
            lambda reads, table, asked: reads.released_files(
                table,
                asked.limit(),
                since=asked.number_or_none("since") or 0,
                path=asked.text_or_none("path") or "",
            )
        ),
        size=by_limit(Size.WHOLE),
    ),
    Question(
        "/tables/{table}/aborted-write-ids",
        of_table(lambda reads, table, asked: reads.aborted_write_ids(table, asked.limit())),
        size=by_limit(Size.WHOLE),
    ),
    Question("/tables/{table}/protocol", of_table(lambda reads, table, _: reads.protocol(table))),
    Question(
        "/tables/{table}/domains",
        of_table(lambda reads, table, _: reads.domains(table)),
        size=whole,
    ),
)
