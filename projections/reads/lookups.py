"""Lookups: the answers of `ledger.reads`, each made from the rows of one state.

The counterpart of the projections: facts that become known at different times are in several rows,
and here are one answer. Valid lists have a module of their own, `snapshots`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ledger.core.commands import TableDefinition
from ledger.core.evolve.form import definition_from
from ledger.core.limits import NUMBER_MAX
from ledger.core.state.tables import name_key
from ledger.errors import ReaderBehindError
from ledger.reads.lineage import Gap, check_same
from ledger.reads.port import (
    Counts,
    DefinitionRow,
    HistoryRow,
    Identity,
    OutcomeRow,
    Reached,
    SessionRow,
    TableRow,
    TxnPart,
    TxnRow,
    WatermarkRow,
)
from projections.rows.keys import (
    ANSWER,
    COUNTS,
    CUT,
    DEFINITION,
    FORGOTTEN,
    GENESIS,
    HISTORY,
    LOG,
    NAME,
    NONCE,
    SESSION,
    SESSION_END,
    TABLE,
    TABLE_CREATED,
    TXN,
    TXN_PART,
    WATERMARK,
    WRITE_IDS,
    last_number,
    name_row_key,
    number_key,
    pair_key,
    read_value,
)
from projections.rows.txns.conflicts import evidence_from
from projections.store.port import RowReader, prefix_end

Fields = dict[str, Any]


def read(rows: RowReader, key: bytes) -> Any:
    """Return the value of a JSON row, None if there is no such row."""
    data = rows.get(key)
    return None if data is None else read_value(data)


def is_row_number(number: int) -> bool:
    """Return whether a number can be in a key: ids, positions and counts of commands."""
    return 0 < number <= NUMBER_MAX


def read_numbered(rows: RowReader, kind: bytes, number: int) -> Any:
    """Return the value of a row named by a number, None also for a number out of range."""
    return read(rows, number_key(kind, number)) if is_row_number(number) else None


def position(rows: RowReader) -> int:
    """Return the position the rows end with."""
    mark = read(rows, LOG)
    return 0 if mark is None else int(mark[0])


def reached(rows: RowReader, seen: Reached) -> Reached:
    """Return how far the rows are.

    Raises LogRewrittenError if the rows reach `seen` and have another chain there.
    """
    position, chain, offset, *_ = read(rows, LOG) or (0, "", 0)
    if 0 < seen.position <= position:
        check_same(seen, chain_at(rows, seen.position), lambda: gaps(rows))
    return Reached(position, chain, offset)


def gaps(rows: RowReader) -> list[Gap]:
    """Return what cuts left out of the log, oldest first."""
    found = rows.scan(CUT, prefix_end(CUT))
    return [Gap(read_value(data)[0], last_number(key)) for key, data in found]


def chain_at(rows: RowReader, position: int) -> str:
    """Return the chain of the log at an applied position, "" at 0."""
    event: Fields | None = read_numbered(rows, HISTORY, position)
    return "" if event is None else str(event.get("chain", ""))


def identity(rows: RowReader) -> Identity:
    """Return the identity of the ledger; raises ReaderBehindError before its creation."""
    created = read(rows, GENESIS)
    if created is None:
        raise ReaderBehindError(position(rows), position(rows) + 1, 0)
    return Identity(created["ledger"], created["name"], created.get("domain", 0))


def session(rows: RowReader, number: int) -> SessionRow | None:
    """Return a session from its row, None for an unknown one."""
    opened: Fields | None = read_numbered(rows, SESSION, number)
    if opened is None:
        return None
    return SessionRow(
        number,
        user=opened.get("user", ""),
        host=opened.get("host", ""),
        application=opened.get("application", ""),
        lease_ms=opened["lease_ms"],
        ended=read_numbered(rows, SESSION_END, number) or 0,
    )


def session_of(rows: RowReader, nonce: bytes) -> int | None:
    """Return the session that was opened last with a nonce."""
    found: int | None = read(rows, NONCE + nonce)
    return found


def outcome(rows: RowReader, number: int, n: int) -> OutcomeRow | None:
    """Return the first answer to a command."""
    if not (is_row_number(number) and is_row_number(n)):
        return None
    answer = read(rows, pair_key(ANSWER, number, n))
    return None if answer is None else OutcomeRow(number, n, *answer)


def txn(rows: RowReader, number: int) -> TxnRow | None:
    """Return a txn from its row and the row of its session, None for an unknown number."""
    found: Fields | None = read_numbered(rows, TXN, number)
    if found is None:
        return None
    asker = session(rows, found["session"])
    assert asker is not None, (
        f"txn {number} belongs to session {found['session']}, which has no row"
    )
    opened, ended = found["opened"], found.get("ended", 0)
    lost = found.get("evidence")
    return TxnRow(
        number,
        found["type"],
        found["session"],
        asker.user,
        asker.host,
        asker.application,
        status=found["status"],
        opened=opened,
        opened_at=at(rows, opened),
        deadline=found.get("deadline", 0),
        min_open=found.get("min_open", 0),
        ended=ended,
        ended_at=at(rows, ended),
        forgotten=read_numbered(rows, FORGOTTEN, number) or 0,
        reason=found.get("reason", ""),
        parts=parts_of(rows, number, found),
        evidence=evidence_from(lost) if lost is not None else None,
        reads=tuple(found.get("reads", ())),
    )


def parts_of(rows: RowReader, number: int, fields: Fields) -> tuple[TxnPart, ...]:
    """Return the parts of a txn; the parts of an open one may have rows of their own."""
    parts = fields.get("parts", ())
    if not parts and fields["status"] == "open":
        prefix = number_key(TXN_PART, number)
        parts = [read_value(data) for _, data in rows.scan(prefix, prefix_end(prefix))]
    return tuple(TxnPart(*part) for part in parts)


def txns(rows: RowReader, numbers: Iterable[int]) -> list[TxnRow]:
    """Return several txns in the order of the given ids; unknown ids are left out."""
    found = (txn(rows, number) for number in numbers)
    return [row for row in found if row is not None]


def at(rows: RowReader, where: int) -> int:
    """Return the time of a position, 0 for position 0."""
    event = read_numbered(rows, HISTORY, where)
    return 0 if event is None else int(event["at"])


def table(rows: RowReader, number: int) -> TableRow | None:
    """Return an incarnation of a table."""
    created = read_numbered(rows, TABLE_CREATED, number)
    if created is None:
        return None
    kinds = (TABLE, WRITE_IDS)
    return table_row(number, created, *(read_numbered(rows, kind, number) for kind in kinds))


def table_named(rows: RowReader, catalog: str, name: str) -> TableRow | None:
    """Return the table that holds a name now."""
    if not is_name(catalog, name):
        return None
    number = read(rows, name_row_key(name_key(catalog, name)))
    return None if number is None else table(rows, number)


def is_name(catalog: str, name: str) -> bool:
    """Return whether a table can have this name: no key can hold a zero byte."""
    return "\0" not in catalog + name and is_text(catalog + name)


def is_text(text: str) -> bool:
    """Return whether a text can be in the log, where all are UTF-8; an argument need not be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def definition(rows: RowReader, number: int, where: int) -> TableDefinition | None:
    """Return the committed definition of a table as of an applied position."""
    return next((found for _, found in definitions(rows, number, where, limit=1)), None)


def definitions(
    rows: RowReader, number: int, where: int, limit: int | None = None
) -> Iterator[tuple[int, TableDefinition]]:
    """Yield (position, committed definition) of a table up to a position, newest first."""
    if not is_row_number(number):
        return
    ends = pair_key(DEFINITION, number, 0), pair_key(DEFINITION, number, max(0, where) + 1)
    for key, data in rows.scan(*ends, limit=limit, reverse=True):
        yield last_number(key), definition_from(read_value(data))


def definitions_behind(
    rows: RowReader, number: int, where: int, behind: int, limit: int | None
) -> Iterator[DefinitionRow]:
    """Yield the committed definitions of a table up to a position, behind another, oldest first."""
    if not is_row_number(number) or behind >= where:
        return
    ends = pair_key(DEFINITION, number, max(0, behind) + 1), pair_key(DEFINITION, number, where + 1)
    for key, data in rows.scan(*ends, limit=limit):
        yield DefinitionRow(last_number(key), definition_from(read_value(data)))


def tables(rows: RowReader) -> list[TableRow]:
    """Return the tables that exist for all, by id; each holds a name."""
    numbers = sorted(read_value(data) for _, data in rows.scan(NAME, prefix_end(NAME)))
    return [row for row in (table(rows, number) for number in numbers) if row is not None]


def every_table(rows: RowReader) -> Iterator[TableRow]:
    """Return every incarnation, dropped ones too; each has one row of each kind."""
    kinds = (TABLE_CREATED, TABLE, WRITE_IDS)
    for parts in zip(*(rows.scan(kind, prefix_end(kind)) for kind in kinds), strict=False):
        yield table_row(last_number(parts[0][0]), *(read_value(data) for _, data in parts))


def table_row(number: int, created: Fields, standing: Fields, sequence: Fields) -> TableRow:
    """Return a table, made from its three rows."""
    return TableRow(
        number,
        created["catalog"],
        standing["name"],
        definition_from(standing["definition"]),
        version=sequence.get("version", 0),
        last_write_id=sequence.get("last_write_id", 0),
        mapped_from=sequence["mapped_from"],
        created=created["created"],
        changed=standing["changed"],
        operation=standing["operation"],
        partitioned=standing.get("partitioned", 0),
        dropped=standing.get("dropped", 0),
        creator=standing.get("creator", 0),
    )


def watermark(rows: RowReader) -> WatermarkRow:
    """Return the cleanup watermark and its holders."""
    now: Fields = read(rows, WATERMARK) or dict.fromkeys(
        ("watermark", "open_bound", "aborted_bound", "next_txn"), 1
    )
    return WatermarkRow(
        now["watermark"],
        now["open_bound"],
        now["aborted_bound"],
        now["next_txn"],
        open=txn(rows, now.get("open", 0)),
        aborted=txn(rows, now.get("aborted", 0)),
        tables=tuple(now.get("tables", ())),
    )


def counts(rows: RowReader) -> Counts:
    """Return how many txns, tables and mappings there are."""
    now: Fields = read(rows, COUNTS) or {}
    return Counts(*(now.get(name, 0) for name in Counts._fields))


def history(rows: RowReader, after: int, limit: int) -> Iterator[HistoryRow]:
    """Return the events that follow a position."""
    first = number_key(HISTORY, max(0, after) + 1)
    for key, data in rows.scan(first, prefix_end(HISTORY), limit=limit):
        yield history_row(last_number(key), read_value(data))


def history_row(where: int, fields: Fields) -> HistoryRow:
    """Return an event in brief."""
    return HistoryRow(
        where,
        fields["at"],
        fields["type"],
        txn=fields.get("txn", 0),
        session=fields.get("session", 0),
        n=fields.get("n", 0),
        tables=tuple(fields.get("tables", ())),
        outcome=fields.get("outcome", ""),
        message=fields.get("message", ""),
        ended=tuple(fields.get("ended", ())),
        forgotten=tuple(fields.get("forgotten", ())),
        watermark=fields["watermark"],
        next_txn=fields["next_txn"],
    )
