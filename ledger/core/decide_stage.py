"""Decide on chunks of a footprint that is too large for one record.

They wait with their open txn, its commit names their count and digest, and they are gone with its
end, whichever it is. What waits at one time is bounded.
"""

from ledger.core.commands import StageWrites
from ledger.core.conflicts.footprints import fault_of
from ledger.core.decide_txns import check_tables, writable_txn
from ledger.core.events.events import WritesStaged
from ledger.core.refusals import Reason, Refused
from ledger.core.staged_progress import staged_weight
from ledger.core.state import DomainState

STAGED_BYTES_MAX = 64 * 1024 * 1024
CHUNKS_MAX = 1_000


def stage(state: DomainState, command: StageWrites) -> WritesStaged:
    """Keep a chunk for the commit; chunks of a table come in order, from 1."""
    txn = writable_txn(state, command.session, command.txn)
    table = state.tables.visible(command.table, command.txn)
    if table is None:
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {command.table}", command.table)
    if table.definition.kind != "managed":
        raise Refused(Reason.TABLE_EXTERNAL, f"table {table.name} is external", command.table)
    following = len(txn.staged.get(command.table, ())) + 1
    if command.number != following:
        raise Refused(
            Reason.STAGED_WRITES_DIFFER,
            f"chunk {command.number} of table {table.name} came where {following} is next",
            command.table,
        )
    check_tables(txn.txn, len(txn.staged) + (following == 1))
    fault = fault_of(command.footprint)
    if fault:
        raise Refused(Reason.COMMAND_INVALID, fault, command.table)
    if command.footprint.protocol is not None:
        raise Refused(
            Reason.COMMAND_INVALID,
            "a protocol comes with the commit, not with a chunk before it",
            command.table,
        )
    waiting = state.txns.staged_bytes + staged_weight(command.footprint)
    if following > CHUNKS_MAX or waiting > STAGED_BYTES_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"at most {CHUNKS_MAX} chunks of a table and {STAGED_BYTES_MAX} bytes of file lists, "
            "hashes, progress and domains wait for their commits",
            command.txn,
        )
    return WritesStaged(command.table, command.number, command.footprint)
