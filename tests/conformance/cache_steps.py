"""The operations of suite `cache` that append to the log: one step, one event."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ledger.core.commands import TableDefinition
from ledger.core.events.events import (
    AbortedForgotten,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AbortedPart, AllocatedId, CommittedPart, ForgottenPart
from tests.conformance.cache_case import CacheCase, Step, altered, listed, made
from tests.conformance.cache_ledger import AT, CATALOG

NEVER_MS = 2**62
TABLE_FIELDS = {"table", "table_id", "kind", "metadata", "list", "open", "objects"}


def given(case: CacheCase, step: Step) -> None:
    """Bring about the start state: its tables, their write ids, and caches that hold them."""
    for table in step["tables"]:
        require_fields(table, TABLE_FIELDS)
        definition = made(table["kind"], table["metadata"], table.get("objects") or {})
        create(case, table["table"], table["table_id"], definition)
        if table.get("list") is not None:
            give_ids(case, table)
    case.begin()
    for cache in step["caches"]:
        require_fields(cache, {"cache", "tables"})
        pair = case.cache(cache["cache"])
        for name in cache["tables"]:
            pair.load(case.ledger.state, case.table(name, 0).table)


def require_fields(part: Step, known: Collection[str]) -> None:
    """Raise ValueError if a part of a step has a field that would be ignored."""
    unknown = sorted(set(part) - set(known))
    if unknown:
        raise ValueError(f"only fields of {sorted(known)} are known, not {unknown}")


def create(case: CacheCase, name: str, table: int, definition: TableDefinition) -> None:
    """Create a table before the case begins."""
    case.ledger.expect_table(table)
    case.ledger.write(TableCreated(table, 0, 0, 0, CATALOG, name, definition))
    case.call(table, name, definition, definition.location)


def give_ids(case: CacheCase, table: Step) -> None:
    """Give out the write ids of a table and end all but those that the case calls open.

    Each valid one is the only write of a txn that one command opened and committed.
    """
    ids, number = listed(table["list"]), table["table_id"]
    still_open = {write_id: name for name, write_id in (table.get("open") or {}).items()}
    version, txn = 0, case.ledger.state.txns.next_txn
    for write_id in range(1, ids.hwm + 1):
        if ids.is_valid(write_id):
            version += 1
            part = CommittedPart(number, 0, write_id, version, 0, (), committed_at=AT)
            case.ledger.write(TxnCommitted("default", one_shot=True, parts=[part]), txn)
            txn += 1
            continue
        name = still_open.get(write_id, "")
        holder = case.txns[name] if name in case.txns else opened(case)
        case.ledger.write(WriteIdsAllocated([AllocatedId(number, holder, write_id)]))
        if name:
            case.txns[name] = holder
        else:
            case.ledger.write(aborted(case, holder), holder)
        txn = case.ledger.state.txns.next_txn


def opened(case: CacheCase) -> int:
    """Open a txn before the case begins and return its id."""
    txn = case.ledger.state.txns.next_txn
    case.ledger.write(open_body(case), txn)
    return txn


def open_body(case: CacheCase) -> TxnOpened:
    least = case.ledger.state.txns.min_open()
    return TxnOpened("default", 1, least, NEVER_MS, inline=True, open=(), aborted=(), digest=0)


def open_txn(case: CacheCase, step: Step) -> None:
    txn = case.txns[step["txn"]] = case.ledger.state.txns.next_txn
    case.write(step, open_body(case), txn)


def allocate_write_id(case: CacheCase, step: Step) -> None:
    """Give a txn a write id."""
    txn, write_id = case.txns[step["txn"]], step["write_id"]
    table = case.table(step["table"], txn)
    case.ledger.expect_write_id(table, txn, write_id)
    case.write(step, WriteIdsAllocated([AllocatedId(table.table, txn, write_id)]))


def alter_table(case: CacheCase, step: Step) -> None:
    """Alter a table: pending in a txn, by a commit of its own, or at once without a write id."""
    txn, write_id = case.txns[step["txn"]], step.get("write_id") or 0
    table = case.table(step["table"], txn)
    definition = altered(case.definition(table, txn), step)
    name = name_for(case, table.table, txn)
    case.call(table.table, name, definition, definition.location)
    one_shot = not txn and write_id > 0
    version = table.version + 1 if one_shot else -1
    if txn:
        case.ledger.expect_write_id(table, txn, write_id)
    number = 1 if one_shot else len(case.pending(txn)) + bool(txn)
    body = TableAltered(
        table.table, number, write_id, 0, one_shot, version, AT, definition, "ALTER"
    )
    case.write(step, body, case.ledger.state.txns.next_txn if one_shot else txn)


def create_table(case: CacheCase, step: Step) -> None:
    txn, definition = case.txns[step["txn"]], made(step["kind"], step["metadata"], {})
    number = len(case.pending(txn)) + bool(txn)
    case.ledger.expect_table(step["table_id"])
    case.call(step["table_id"], step["table"], definition, definition.location)
    body = TableCreated(
        step["table_id"], number, step.get("write_id") or 0, 0, CATALOG, step["table"], definition
    )
    case.write(step, body, txn)


def rename_table(case: CacheCase, step: Step) -> None:
    """Give a table another name; the case has another word for it from then on."""
    txn, write_id = case.txns[step["txn"]], step.get("write_id") or 0
    table = case.table(step["table"], txn)
    case.call(table.table, step["new_table"], case.definition(table, txn), step["metadata"])
    if txn:
        case.ledger.expect_write_id(table, txn, write_id)
    number = len(case.pending(txn)) + bool(txn)
    body = TableRenamed(table.table, number, write_id, 0, CATALOG, step["new_table"])
    case.write(step, body, txn)


def drop_table(case: CacheCase, step: Step) -> None:
    txn, write_id = case.txns[step["txn"]], step.get("write_id") or 0
    table = case.table(step["table"], txn)
    if txn:
        case.ledger.expect_write_id(table, txn, write_id)
    number = len(case.pending(txn)) + bool(txn)
    case.write(step, TableDropped(table.table, number, write_id, 0), txn)


def commit(case: CacheCase, step: Step) -> None:
    txn = case.txns[step["txn"]]
    case.write(step, committed(case, txn), txn)


def abort(case: CacheCase, step: Step) -> None:
    txn = case.txns[step["txn"]]
    case.write(step, aborted(case, txn), txn)


def forget_aborted(case: CacheCase, step: Step) -> None:
    """Say that no data of aborted txns is left: of one, or of some ids of a table, or of all."""
    aborted_txns = case.ledger.state.txns.aborted
    if step.get("txn") is not None:
        txns: Sequence[int] = [case.txns[step["txn"]]]
        parts = [ForgottenPart(txn, each) for txn in txns for each in aborted_txns[txn].wrote]
    else:
        table = case.table(step["table"], 0).table
        wanted = named_ids(step)
        txns = [
            txn
            for txn, left in aborted_txns.items()
            if table in left.write_ids and (not wanted or left.write_ids[table] in wanted)
        ]
        parts = [ForgottenPart(txn, table) for txn in txns]
    gone = [txn for txn in txns if aborted_txns[txn].wrote <= {part.table for part in parts}]
    case.write(step, AbortedForgotten(gone, parts))


def named_ids(step: Step) -> set[int]:
    """Return the write ids that a step names, one or several."""
    told = [step.get(field) or [] for field in ("write_ids", "ids", "write_id")]
    return {each for ids in told for each in (ids if isinstance(ids, list) else [ids])}


def name_for(case: CacheCase, table: int, txn: int) -> str:
    own = [change.name for change in case.pending(txn) if change.table == table and change.name]
    return [case.ledger.state.tables.by_id[table].name, *own][-1]


def touched(case: CacheCase, txn: int) -> Iterable[tuple[int, int, int]]:
    """Return table, write id and number of changes of every table a txn touched."""
    held = case.ledger.open(txn)
    for table in sorted(held.write_ids.keys() | held.metadata.keys()):
        yield table, held.write_ids.get(table, 0), held.metadata.get(table, 0)


def committed(case: CacheCase, txn: int) -> TxnCommitted:
    tables = case.ledger.state.tables.by_id
    parts: list[Any] = [
        CommittedPart(table, 0, write_id, tables[table].version + 1, changes, (), committed_at=AT)
        for table, write_id, changes in touched(case, txn)
        if table in tables
    ]
    return TxnCommitted("default", one_shot=False, parts=parts)


def aborted(case: CacheCase, txn: int) -> TxnAborted:
    """Return the abort of a txn, which left data wherever it has a write id."""
    parts = [
        AbortedPart(table, write_id, changes, write_id > 0)
        for table, write_id, changes in touched(case, txn)
    ]
    return TxnAborted("case", one_shot=False, parts=parts, evidence=None)
