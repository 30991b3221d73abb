"""What holds behind a power cut, as checks of one ledger that is up again."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from ledger.core.events.events import Event, LogCut
from ledger.errors import LedgerError
from ledger.log.replay import Replay
from ledger.reads.port import Reads, TxnRow
from projections.queries import open_reads
from tests.core.cutting import ids_given
from tests.integration.audit import Check, told
from tests.integration.power.readers import PATIENCE_S
from tests.integration.power.struck import TABLE, Receipt, StruckLedger, commit

TRIES: Final = 4


def checks_of(ledger: StruckLedger, kept: int) -> Iterator[Check]:
    """Yield the laws of a ledger whose log kept its events up to a position; it is up again."""
    where, is_lost = ledger.where, ledger.receipts[-1].position > kept
    ledger.roles.wait_for_leader()
    with closing(open_reads(where.store)) as rows, where.connect("new", rows) as client:
        if not client.tables():
            # Its creation was lost, and so nothing of the former one is known.
            client.create_table(TABLE, layout="directories")
        fresh = [commit(client) for _ in range(1 + ledger.plan.again)]
        client.wait(fresh[-1].position, PATIENCE_S)
        yield Check("a new client gets nothing that was given", told(again(ledger, fresh)))
        yield Check("old receipts are their own, or lost", told(strange(ledger, rows, kept)))
        yield Check("no lost file becomes visible", told(visible(ledger, rows, kept)))
        errors = ledger.readers.errors(fresh[-1].position)
        unnoticed = [name for name, error in errors.items() if error is None]
        if is_lost:
            yield Check("every reader that was ahead notices", told(unnoticed))
        else:
            ended = [f"{name}: {error}" for name, error in errors.items() if error is not None]
            yield Check("no reader is stopped where nothing was lost", told(ended))
        unnamed = [
            f"{name}: {error!r}"
            for name, error in errors.items()
            if error is not None and not isinstance(error, LedgerError)
        ]
        yield Check("what stops a reader has a name", told(unnamed))
        yield Check("the old writer goes on, or is told", writes_on(ledger, is_lost=is_lost))
    with closing(where.log()) as log:
        events = list(Replay(log))
    yield Check("no id is given twice", told(twice(ledger.given, events, kept)))
    failure = ledger.roles.failure()
    yield Check("the roles run on", "" if failure is None else repr(failure))


def again(ledger: StruckLedger, fresh: Sequence[Receipt]) -> list[object]:
    """Return what new receipts share with old ones."""
    old = {part for receipt in ledger.receipts for part in receipt.given()}
    return sorted(old & {part for each in fresh for part in each.given()}, key=str)


def strange(ledger: StruckLedger, rows: Reads, kept: int) -> list[str]:
    """Return the old receipts that are answered as something else than their own or lost."""
    found = []
    for receipt in ledger.receipts:
        row = rows.txn(receipt.txn)
        if row is None:
            found.append(f"txn {receipt.txn} is not known")
        elif not (is_own(receipt, row) if receipt.position <= kept else is_lost(row)):
            found.append(f"txn {receipt.txn}: {row.status} {row.reason} of {row.application}")
    return found


def is_own(receipt: Receipt, row: TxnRow) -> bool:
    """Tell whether a txn is the one of a receipt."""
    ids = [(part.write_id, part.version) for part in row.parts]
    told_of = (row.status, row.application, row.ended, ids)
    return told_of == (
        "committed",
        "writer",
        receipt.position,
        [(receipt.write_id, receipt.version)],
    )


def is_lost(row: TxnRow) -> bool:
    """Tell whether a txn is shown as lost by a cut."""
    return (row.status, row.reason) == ("aborted", "cut")


def visible(ledger: StruckLedger, rows: Reads, kept: int) -> list[int]:
    """Return the write ids that are lost and that a reader sees, or has seen and sees no more."""
    found = []
    for receipt in ledger.receipts:
        if rows.table(receipt.table) is None:
            continue
        is_visible = rows.write_ids_at(receipt.table).is_valid(receipt.write_id)
        if is_visible is not (receipt.position <= kept):
            found.append(receipt.write_id)
    return found


def writes_on(ledger: StruckLedger, *, is_lost: bool) -> str:
    """Let the old writer commit; return what is wrong with what it is told, "" if nothing is."""
    errors: list[LedgerError] = []
    receipt: Receipt | None = None
    for _ in range(TRIES):
        try:
            receipt = commit(ledger.writer)
        except LedgerError as error:
            errors.append(error)
        else:
            break
    if is_lost:
        return "" if errors else f"it is told nothing of what it lost, but {receipt}"
    if receipt is None:
        return f"nothing was lost, and it cannot go on: {errors[-1]!r}"
    return told(again(ledger, [receipt]))


def twice(before: list[Event], now: list[Event], kept: int) -> list[object]:
    """Return what events behind a cut gave to somebody that lost ones had given before."""
    lost = ids_given(each for each in before if each.control.position > kept)
    cuts = [each.control.position for each in now if isinstance(each.body, LogCut)]
    later = [
        each for each in now if each.control.position > kept and each.control.session not in cuts
    ]
    return sorted(lost & ids_given(later), key=str)
