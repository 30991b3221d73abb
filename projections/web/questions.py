"""The questions that can be asked over HTTP: a path each, and what it asks of `Reads`.

`ledger.http.reads` asks every one of them. A question with a body is a POST all the same a read.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ledger.core.valid_lists import ValidWriteIdList
from ledger.reads import FileRow, Reached, Reads, VersionRow
from projections.web.asked import Asked
from projections.web.metadata_questions import check_wait, metadata

Asking = TypeVar("Asking")
Ask = Callable[[Reads, Asked], Any]
GET: Final = ("GET",)


class Question(NamedTuple, Generic[Asking]):
    """A path below `/v1`, how it is answered from what is asked there, and its methods."""

    path: str
    ask: Callable[[Asking, Asked], Any]
    methods: Sequence[str] = GET


def of_table(ask: Callable[[Reads, int, Asked], Any]) -> Ask:
    """Return a question about the table in the path."""
    return lambda reads, asked: ask(reads, asked.number("table"), asked)


def reached(reads: Reads, asked: Asked) -> Reached:
    """Return how far the rows are, once they have come to a position and to what was seen."""
    asked.max_wait_ms = asked.number_or_none("max_wait_ms") or 0
    check_wait(asked.max_wait_ms)
    seen = Reached(asked.number_or_none("seen") or 0, asked.text_or_none("chain") or "")
    return reads.reach(asked.number_or_none("at_least") or 0, seen, 0)


def files(reads: Reads, table: int, asked: Asked) -> Sequence[FileRow]:
    """Return the files of a table, now or as of a position or a version, or some of them."""
    asked.check_one_of("version", "position")
    position, version = (asked.number_or_none(each) for each in ("position", "version"))
    path, vector = (asked.text_or_none(each) or "" for each in ("path", "vector"))
    limit = asked.limit_or_none()
    return reads.files(
        table, position=position, version=version, limit=limit, path=path, vector=vector
    )


def version(reads: Reads, table: int, asked: Asked) -> VersionRow | None:
    """Return a version of a table, the newest unless its number, a position or a time is given."""
    asked.check_one_of("version", "position", "at")
    position, number = (asked.number_or_none(each) for each in ("position", "version"))
    at = asked.number_or_none("at")
    # `version_row` takes 0 for no time at all; there is no version of then.
    if at == 0:
        return None
    return reads.version_row(table, version=number, position=position, at=at or 0)


def valid_write_ids(reads: Reads, table: int, asked: Asked) -> ValidWriteIdList:
    """Return the write ids valid under the list in the body, without one at a position or now."""
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
    Question(
        "/history",
        lambda reads, asked: reads.history(asked.number_or_none("after") or 0, asked.limit()),
    ),
    Question(
        "/conflicts",
        lambda reads, asked: reads.conflicts(asked.number_or_none("after") or 0, asked.limit()),
    ),
    Question(
        "/anomalies",
        lambda reads, asked: reads.anomalies(
            asked.number_or_none("table"), asked.limit(), after=asked.number_or_none("after") or 0
        ),
    ),
    Question("/txns/open", lambda reads, asked: reads.open_txns(asked.limit())),
    Question("/txns/aborted", lambda reads, asked: reads.aborted_txns(asked.limit())),
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
    Question("/tables/{table}/mappings", of_table(lambda reads, table, _: reads.mappings(table))),
    Question("/tables/{table}/valid-write-ids", of_table(valid_write_ids), ("GET", "POST")),
    Question("/tables/{table}/files", of_table(files)),
    Question(
        "/tables/{table}/paths",
        of_table(lambda reads, table, asked: reads.file_paths(table, asked.digits("hash"))),
    ),
    Question("/tables/{table}/version", of_table(version)),
    Question(
        "/tables/{table}/versions",
        of_table(
            lambda reads, table, asked: reads.versions(
                table, asked.limit(), below=asked.number_or_none("below")
            )
        ),
    ),
    Question("/tables/{table}/apps", of_table(lambda reads, table, _: reads.apps(table))),
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
    ),
    Question(
        "/tables/{table}/aborted-write-ids",
        of_table(lambda reads, table, asked: reads.aborted_write_ids(table, asked.limit())),
    ),
    Question("/tables/{table}/protocol", of_table(lambda reads, table, _: reads.protocol(table))),
    Question("/tables/{table}/domains", of_table(lambda reads, table, _: reads.domains(table))),
)
