"""What became of a txn whose commit was not answered: found out from the read model.

Needed only where the txn has ended meanwhile, so that to commit again would not tell.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from ledger.core.events import Control, TxnAborted
from ledger.errors import RefusedError
from ledger.reads import TxnRow
from ledger.receipt import ALREADY_APPLIED, Receipt, TableVersion
from ledger.refusals import conflict
from ledger.view import View


def found_out(
    view: View, txn: int, asked: Iterable[tuple[int, int]], error: RefusedError
) -> Receipt:
    """Return the receipt of a commit that was `asked` for before; raise a conflict, else `error`.

    `asked` are the commands (session, n) that were to commit it and had no answer in time.
    """
    reads = view.reads(error.position)
    answers = [reads.outcome(*each) for each in asked]
    for answer in answers:
        if answer is not None and answer.outcome == ALREADY_APPLIED:
            at, token = datetime.now(UTC), view.origin.at(answer.first)
            return Receipt(0, answer.first, at, token, repeated=True, skipped=True)
    row = reads.txn(txn)
    if row is not None and row.status == "committed":
        return receipt_of_row(view, row)
    if row is not None and row.evidence is not None:
        control = Control(b"", 0, row.ended, 0, row.session, 0, row.ended_at, txn)
        raise conflict(
            TxnAborted(row.reason, one_shot=False, parts=(), evidence=row.evidence), control
        )
    raise error


def receipt_of_row(view: View, row: TxnRow) -> Receipt:
    """Return the receipt of a committed txn."""
    versions = {
        each.table: TableVersion(each.write_id, each.version)
        for each in row.parts
        if each.version is not None
    }
    at = datetime.fromtimestamp(row.ended_at / 1000, UTC)
    return Receipt(row.txn, row.ended, at, view.origin.at(row.ended), versions, repeated=True)
