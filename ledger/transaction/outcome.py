"""The outcome of a commit without an answer, looked up in the read model.

It is needed only if the txn has ended meanwhile: then a second commit does not return the answer.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from ledger.core.events.events import Control, TxnAborted
from ledger.definitions.client_reads import View
from ledger.errors import OutcomeUnknownError, RefusedError
from ledger.reads.port import TxnRow
from ledger.session.receipt import ALREADY_APPLIED, Receipt, TableVersion
from ledger.session.refusals import conflict


def found_out(
    view: View, txn: int, asked: Sequence[tuple[int, int]], error: RefusedError
) -> Receipt:
    """Return the receipt of an earlier commit; raise its conflict, else `error`.

    `asked` are the commit commands (session, n) without an answer in time. Raises
    OutcomeUnknownError for the last of them if rows cannot be read: it may have been executed.
    """
    try:
        reads = view.reads(error.position)
        answers = [reads.outcome(*each) for each in asked]
        row = reads.txn(txn)
    except Exception as failure:
        raise not_found_out(txn, *asked[-1], failure) from failure
    for answer in answers:
        if answer is not None and answer.outcome == ALREADY_APPLIED:
            at, token = datetime.now(UTC), view.origin.at(answer.first)
            return Receipt(0, answer.first, at, token, repeated=True, skipped=True)
    if row is not None and row.status == "committed":
        return receipt_of_row(view, row)
    if row is not None and row.evidence is not None:
        control = Control(b"", 0, row.ended, 0, row.session, 0, row.ended_at, txn)
        raise conflict(
            TxnAborted(row.reason, one_shot=False, parts=(), evidence=row.evidence), control
        )
    raise error


def not_found_out(txn: int, session: int, n: int, failure: Exception) -> OutcomeUnknownError:
    """Return the error for a commit that may or may not have been executed."""
    return OutcomeUnknownError(
        f"txn {txn} may or may not be committed: the rows cannot be read ({failure}). Commit again "
        f"once they can, or ask ledger.outcome({session}, {n}) then",
        session=session,
        n=n,
        retry_unchanged=True,
    )


def receipt_of_row(view: View, row: TxnRow) -> Receipt:
    """Return the receipt of a committed txn."""
    versions = {
        part.table: TableVersion(part.write_id, part.version)
        for part in row.parts
        if part.version is not None
    }
    at = datetime.fromtimestamp(row.ended_at / 1000, UTC)
    return Receipt(row.txn, row.ended, at, view.origin.at(row.ended), versions, repeated=True)
