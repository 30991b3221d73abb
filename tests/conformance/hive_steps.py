"""The operations of suite `hive`: each is one call of the product and says its answer in words.

The words are those of the cases: symbolic txn names, `ok`, `not_open`, `next`. Nothing is compared
here, and no rule of Hive is applied.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    CommitTxn,
    DropTable,
    RenameTable,
    TxnType,
)
from ledger.core.events.events import (
    CommandRefused,
    CommandRepeated,
    Event,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    WriteIdsAllocated,
)
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.lists.visibility import valid_txn_list
from ledger.core.refusals import Reason
from ledger.core.state.txns import TxnStatus
from tests.conformance.hive_case import HiveCase, Step, body_of

# Hive has two types more than the ledger: each behaves like the one beside it (facts a2).
TYPES: dict[str, TxnType] = {
    "DEFAULT": "default",
    "MATER_VIEW_REBUILD": "default",
    "READ_ONLY": "read_only",
    "REPL_CREATED": "replicated",
    "COMPACTION": "compaction",
    "REBALANCE_COMPACTION": "compaction",
    "SOFT_DELETE": "soft_delete",
}
STATUS_WORDS = {"open": "ok", "aborted": "txn_aborted"}
NOT_OPEN = (Reason.TXN_NOT_OPEN, Reason.TXN_READ_ONLY)


class Answer(NamedTuple):
    """What the product said, in the words of the cases, and every answer that is right."""

    got: Any
    accepted: list[Any]


def open_txn(case: HiveCase, step: Step) -> None:
    case.open_txn(step["as"], TYPES[step.get("type", "DEFAULT")])


def allocate_write_id(case: HiveCase, step: Step) -> Answer:
    """Take the write id of one txn, or those of several in one call."""
    asked = step["txns"] if "txns" in step else step["txn"]
    names = asked if isinstance(asked, list) else [asked]
    opened = [name for name in names if name in case.txns]
    event = case.ledger.ask(
        case.session(opened[0] if opened else names[0]),
        AllocateWriteIds,
        [case.txn(name) for name in names],
        [case.table(step["table"]).table],
    )
    if isinstance(event.body, CommandRefused) and event.body.reason in NOT_OPEN:
        return Answer("not_open", [step["expect"]])
    write_ids = [given.write_id for given in body_of(event, WriteIdsAllocated).ids]
    return Answer(write_ids if isinstance(asked, list) else write_ids[0], [step["expect"]])


def commit(case: HiveCase, step: Step) -> Answer:
    """Commit a txn with what it wrote."""
    name, writes, before = step["txn"], case.writes(step), case.status(step["txn"])
    event = case.ledger.ask(case.session(name), CommitTxn, case.txn(name), writes)
    remembered = {"committed": "ok", "aborted": "txn_aborted"}.get(before)
    if isinstance(event.body, TxnAborted) and event.body.reason == "conflict":
        return Answer("write_conflict", [step["expect"]])
    return Answer(ended(case, name, event, TxnCommitted), accepted(case, step, remembered))


def abort(case: HiveCase, step: Step) -> Answer:
    """Abort a txn, saying which tables it wrote."""
    name, writes, before = step["txn"], case.writes(step), case.status(step["txn"])
    wrote = [write.table for write in writes]
    event = case.ledger.ask(case.session(name), AbortTxn, case.txn(name), "case", wrote)
    remembered = {"aborted": "ok"}.get(before)
    return Answer(ended(case, name, event, TxnAborted), accepted(case, step, remembered))


def heartbeat(case: HiveCase, step: Step) -> Answer:
    """Ask what became of a txn."""
    before = case.status(step["txn"])
    remembered = {"aborted": "txn_aborted"}.get(before)
    return Answer(status_word(before), accepted(case, step, remembered))


def timeout(case: HiveCase, step: Step) -> Answer:
    """Let the session of a txn be silent for a lease, after it has written what the step says."""
    case.record(step)
    case.let_time_out(step["txn"])
    status = case.status(step["txn"])
    return Answer("still_open" if status == "open" else status, [step["expect"]])


def snapshot(case: HiveCase, step: Step) -> None:
    """Take the valid txn list of a txn, or of nobody, as of now."""
    txn = 0 if step["txn"] is None else case.txns[step["txn"]]
    case.snapshots[step["as"]] = valid_txn_list(case.ledger.state, txn)


def valid_txns(case: HiveCase, step: Step) -> Answer:
    """Read a snapshot."""
    listed = case.snapshots[step["snapshot"]]
    got = {
        "hwm": case.name(listed.hwm),
        "open": case.names(listed.open),
        "aborted": case.names(listed.aborted),
        "min_open": None if listed.min_open is None else case.name(listed.min_open),
    }
    return Answer(got, [step["expect"]])


def valid_write_ids(case: HiveCase, step: Step) -> Answer:
    """Read the write ids of a table that are valid now under a snapshot taken before."""
    got = fields(write_id_list(case, step))
    forms = [step[form] for form in ("expect", "expect_full") if form in step]
    longer = [reaching(form, got["hwm"]) for form in forms]
    return Answer(got, forms + [form for form in longer if form not in forms])


def reaching(form: Mapping[str, Any], hwm: int) -> Mapping[str, Any]:
    """Return the list of equal answers that ends at `hwm`: the further ids are open to its reader.

    Whether a list ends below the ids of younger txns or names them depends on whether mappings of
    older ones have been cleaned yet (facts b3), and both compare as equal (b8).
    """
    further = range(form.get("hwm", hwm) + 1, hwm + 1)
    if not further or "open" not in form:
        return form
    longer = {**form, "hwm": hwm, "open": [*form["open"], *further]}
    if longer.get("min_open", 0) is None:
        longer["min_open"] = further[0]
    return longer


def is_write_id_valid(case: HiveCase, step: Step) -> Answer:
    """Ask the same list about one write id."""
    return Answer(write_id_list(case, step).is_valid(step["write_id"]), [step["expect"]])


def compact_aborted(case: HiveCase, step: Step) -> None:
    """Note that the data of an aborted txn is gone; it is told to the ledger when Hive trims."""
    case.compacted.append(step["txn"])


def watermark(case: HiveCase, step: Step) -> Answer:
    """Read the cleanup watermark after housekeeping."""
    case.clean()
    return Answer(case.name(case.ledger.reads.watermark().watermark), [step["expect"]])


def t2w_entries(case: HiveCase, step: Step) -> Answer:
    """Read the txns of a table's mappings; without cleaning, those below the watermark may stay."""
    cleans = step.get("clean", True)
    if cleans:
        case.clean()
    least = 0 if cleans else case.ledger.reads.watermark().watermark
    rows = case.ledger.reads.mappings(case.table_to_read(step["table"]).table)
    got = sorted(row.txn for row in rows if row.txn >= least)
    expected = sorted(txn for txn in map(case.txn, step["expect"]) if txn >= least)
    return Answer(case.names(got), [case.names(expected)])


def drop_table(case: HiveCase, step: Step) -> None:
    """Drop a table; its name is free again."""
    body_of(case.ask_operator(DropTable, 0, 0, case.table(step["table"]).table), TableDropped)


def drop_database(case: HiveCase, step: Step) -> None:
    prefix = f"{step['db'].lower()}."
    tables = [
        table.table for table in case.ledger.reads.tables() if table.name.lower().startswith(prefix)
    ]
    for table in tables:
        body_of(case.ask_operator(DropTable, 0, 0, table), TableDropped)


def rename_table(case: HiveCase, step: Step) -> None:
    """Give a table another name."""
    table = case.table(step["table"]).table
    case.free_name(step["to"])
    body_of(case.ask_operator(RenameTable, 0, 0, table, step["to"]), TableRenamed)


def ended(case: HiveCase, name: str, event: Event, kind: type) -> str:
    """Say how an end was answered: a repeat is ok, a txn that is not open is told by its status."""
    body = event.body
    if isinstance(body, CommandRefused) and body.reason == Reason.TXN_NOT_OPEN:
        return status_word(case.status(name))
    if isinstance(body, CommandRepeated) and body.outcome == kind.__name__:
        return "ok"
    body_of(event, kind)
    return "ok"


def accepted(case: HiveCase, step: Step, remembered: str | None) -> list[Any]:
    """Return the answers that are right where Hive may have forgotten what is still known here."""
    known = step["expect"] == "no_such_txn" and step["txn"] in case.txns and remembered is not None
    return [step["expect"], remembered] if known else [step["expect"]]


def status_word(status: TxnStatus) -> str:
    """Say what a txn is, as a heartbeat does."""
    return STATUS_WORDS.get(status, "no_such_txn")


def write_id_list(case: HiveCase, step: Step) -> ValidWriteIdList:
    """Return the valid write id list of a step's table under its snapshot, as of now."""
    table = case.table_to_read(step["table"]).table
    return case.ledger.reads.valid_write_ids(table, case.snapshots[step["snapshot"]])


def fields(listed: ValidTxnList | ValidWriteIdList) -> dict[str, Any]:
    """Return a list in the form of a case."""
    return {
        "hwm": listed.hwm,
        "min_open": listed.min_open,
        "open": list(listed.open),
        "aborted": list(listed.aborted),
    }
