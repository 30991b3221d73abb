"""What Spark's writes do to a table: rows added, replaced, or files written again.

The files are noted in the statement's txn exactly as the verbs of `Transaction` note them. A write
without a txn, such as `df.write.insertInto`, gets one here. What its query read is not known then:
the whole table counts as read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.type_fields import field_number, physical_name
from ledger.files.footers import added_by_footers
from ledger.files.storage import storage_at
from ledger.files.written_files import discard
from ledger.log.wire.file_list import AddFile
from ledger.properties.type_text import ELEMENT, KEY, VALUE
from ledger.reads.row_counts import ChangedRows
from ledger.snapshot.reading import is_in_folders
from ledger.statements.deleting import delete
from ledger.statements.marking import ChangedFiles
from ledger.statements.target import StatementTable
from ledger.work.writes import coarse_write
from spark_sink.catalog.columns import computed_columns
from spark_sink.catalog.divisions import check_sortable, division_answers
from spark_sink.catalog.options import SINK, WRITE, check_options
from spark_sink.catalog.read.conditions import condition_of, is_understood
from spark_sink.catalog.read.files import check_names, hadoop
from spark_sink.catalog.session.open_statements import (
    CatalogState,
    Question,
    StagedWrite,
    StatementsTxn,
    unsupported,
)
from spark_sink.catalog.write.constraints import check_written
from spark_sink.catalog.write.counting import note_last, rows_of, rows_rewritten
from spark_sink.catalog.write.few_rows import append
from spark_sink.catalog.write.marks import kept_rows, marked_files
from spark_sink.catalog.write.overwriting import (
    APPEND,
    WROTE,
    check_meant,
    replace,
    rows_meant,
    zone_of,
)
from spark_sink.catalog.write.stream_offsets import is_new_batch
from spark_sink.catalog.write.write_batches import check_batch, note_batch

STREAMED: Final = "STREAMING UPDATE"
# Names of operations in the log, as the verbs give them.
REWRITES: Final = {"update": "UPDATE", "delete": "DELETE", "merge": "MERGE"}


def stage(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Begin a write, and answer where its files go."""
    joined, mode = state.find(asked), str(asked["mode"])
    txn = StatementsTxn(state.ledger.begin()) if joined is None else joined
    try:
        table = txn.txn.statement(int(asked["id"]), mode, time_zone=zone_of(asked))
        use = SINK if asked.get("streamed") else WRITE
        place, name = table.definition.location, table.row.name
        check_options(asked.get("options", {}), use, place, state.name, name)
        check_batch(asked, txn)
        check_meant(table, asked)
        check_names(table.schema)
        if mode not in REWRITES:
            check_sortable(table.schema)
        table.schema.check_holds_rows()
        below = ""
        if is_in_folders(table.row):
            if mode != APPEND or table.definition.kind != "managed":
                table.check_listed()
            below = f"delta_{table.work.write_id(table.number)}/"
    except BaseException:
        if joined is None:
            txn.abort("the write of Spark could not begin")
        raise
    execution = str(asked.get("execution") or "")
    write = StagedWrite(table, int(asked["position"]), joined is None, execution)
    location = storage_at(table.definition.location).location
    filtered = set(table.schema.bloom)
    return {
        "write": state.stage(txn, write),
        "folder": hadoop(location),
        "below": below,
        "writer": table.work.writer.name,
        "computed": computed_columns(table.schema),
        "divided": division_answers(table.schema),
        "filtered": [
            column.physical for column in table.schema.data_columns if column.name in filtered
        ],
        "stored": {
            column.name: {
                "name": column.physical,
                "id": column.id,
                "nullable": column.nullable,
                "in": stored_fields(column.type),
            }
            for column in table.schema.data_columns
        },
    }


def stored_fields(type_: pa.DataType) -> Mapping[str, Any]:
    """Return the names and ids of the fields of a type in new files, by their names."""
    if pa.types.is_struct(type_):
        found = {each.name: each for each in type_}
    elif pa.types.is_list(type_):
        found = {ELEMENT: type_.value_field}
    elif pa.types.is_map(type_):
        found = {KEY: type_.key_field, VALUE: type_.item_field}
    else:
        return {}
    return {
        name: {
            "name": physical_name(each),
            "id": field_number(each),
            "in": stored_fields(each.type),
        }
        for name, each in found.items()
    }


def numbers(state: CatalogState, asked: Question) -> Mapping[str, int]:
    """Answer which numbers a task of a write may give to rows of an identity column."""
    write = state.staged(str(asked["write"]))
    if write is None:
        raise unsupported(f"the write {asked['write']} is over, or belongs to another process")
    found = write.table.numbers(int(asked["column"]), int(asked["count"]))
    return {"first": found[0], "step": found.step}


def wrote(state: CatalogState, asked: Question) -> None:
    """End a write: note its files; a write without a txn commits here."""
    found = state.unstage(str(asked["write"]))
    if found is None:
        raise unsupported(f"the write {asked['write']} is over, or belongs to another process")
    txn, write = found
    try:
        rows = note(txn, write, asked, state.seen_position(write))
        txn.changes += 1
        if rows is not None:
            write.table.counted(rows)
        note_last(state, asked, write.table.row.name, operation_of(asked), rows)
    except BaseException:
        discard(storage_at(write.table.definition.location), asked["files"])
        if is_last(txn, write, asked):
            txn.abort("the write of Spark failed")
        raise
    if write.is_alone:
        commit_alone(state, txn, write)


def commit_alone(state: CatalogState, txn: StatementsTxn, write: StagedWrite) -> None:
    """Commit a write that has a txn of its own.

    The txn deletes its files if it is aborted. Nothing else may: without an answer the commit may
    have taken effect.
    """
    try:
        state.note_alone(write, txn.txn.commit())
    except BaseException:
        txn.abort("the write of Spark failed")
        raise


def unstage(state: CatalogState, asked: Question) -> None:
    """Delete the files of a write that failed."""
    found = state.unstage(str(asked["write"]))
    if found is None:
        return
    txn, write = found
    discard(storage_at(write.table.definition.location), asked.get("files", ()))
    if is_last(txn, write, asked):
        txn.abort("the write of Spark failed")


def is_last(txn: StatementsTxn, write: StagedWrite, asked: Question) -> bool:
    """Return whether a write that fails ends its txn: Spark does not do that for a stream."""
    return write.is_alone or (bool(asked.get("streamed")) and not txn.is_shared)


def operation_of(asked: Question) -> str:
    """Return the name of a write in the log."""
    return STREAMED if "stream" in asked else REWRITES.get(str(asked["mode"]), WROTE)


def note(txn: StatementsTxn, write: StagedWrite, asked: Question, seen: int) -> ChangedRows | None:
    """Note the files of a write in its txn, and return the rows that it changed, if they are known.

    What a write without a txn has read is not known: the whole table, as of the position `seen`.
    """
    table, paths = write.table, list(asked["files"])
    table.work.check()
    storage = storage_at(table.definition.location)
    if "stream" in asked and not is_new_batch(txn.txn, table, asked["stream"]):
        discard(storage, paths)
        return ChangedRows()
    note_batch(asked, txn.txn, table.number)
    table.work.files.note(table.definition.location, storage, paths, table.definition)
    results = asked.get("results")
    made = None if results is None else [tuple(each) for each in results]
    adds = added_by_footers(storage, table.schema, paths, made).files
    check_written(table, adds, asked)
    is_unknown = write.is_alone and "stream" not in asked
    if is_unknown and not is_in_folders(table.row) and not table.is_new:
        txn.txn.read(table.number, position=seen, whole=True)
    mode = str(asked["mode"])
    if mode in REWRITES:
        changed = ChangedFiles(table, columns_read(table))
        if "marked" in asked:
            marked = marked_files(txn, table, asked["marked"])
            removed = [each.file for each in marked]
            kept = table.write(kept_rows(table, changed, marked), placing=changed.placing)
        else:
            removed = [txn.file(table.number, *each) for each in asked.get("removed", ())]
            changed.files += removed
            kept = ()
        changed.state_given(adds)
        changed.note(kept, REWRITES[mode], adds)
        return rows_rewritten(asked, removed, adds)
    added = rows_of(adds)
    if is_in_folders(table.row):
        add_to_folders(table, adds)
    elif mode == APPEND:
        if adds:
            append(table, adds, operation_of(asked))
    else:
        return ChangedRows(added, deleted=replace(table, rows_meant(asked), adds))
    return ChangedRows(added)


def columns_read(table: StatementTable) -> Sequence[str]:
    """Return the columns by which the txn has chosen rows of a table."""
    noted = table.work.writes.noted(table.number)
    return () if noted is None else noted.scanned_columns()


def add_to_folders(table: StatementTable, adds: Sequence[AddFile]) -> None:
    """Declare rows in the folders of the txn's write id, partition by partition."""
    folder = f"delta_{table.work.write_id(table.number)}/"
    for partition in dict.fromkeys(add.path.rpartition(folder)[0].rstrip("/") for add in adds):
        write = coarse_write("insert", table.row, partition=partition or None)
        table.work.writes.add(table.number, write, 0)


def can_delete(state: CatalogState, asked: Question) -> bool:
    """Answer whether a condition takes whole files, by their partitions alone."""
    table = known(state, asked)
    if not is_understood(asked["where"]) or table is None or is_in_folders(table.row):
        return False
    condition = table.condition(condition_of(asked["where"]))
    return set(condition.columns) <= set(table.schema.partition_columns)


def can_overwrite(_: CatalogState, asked: Question) -> bool:
    """Answer whether the rows of a condition can be replaced."""
    return is_understood(asked["where"])


def known(state: CatalogState, asked: Question) -> StatementTable | None:
    """Return the table of a question for a look at it; raises as a statement would."""
    txn = state.find(asked)
    if txn is not None:
        return txn.txn.statement(int(asked["id"]), "delete")
    with state.ledger.transaction("read_only") as look:
        return look.statement(int(asked["id"]), "delete")


def delete_files(state: CatalogState, asked: Question) -> None:
    """Delete the rows of a condition by whole files."""
    where = condition_of(asked["where"])
    # TRUNCATE has no txn in Spark.
    with state.lend(state.find(asked)) as txn:
        table = txn.statement(int(asked["id"]), "delete")
        rows = delete(table, where)
    note_last(state, asked, table.row.name, "DELETE", rows)
