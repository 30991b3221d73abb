"""Writes that an application numbers, by Delta's options txnAppId and txnVersion.

A write with a number that was recorded before changes nothing. The ledger keeps the number as the
progress of an application, as `Transaction.app` does.
"""

from ledger.transaction.transaction import Transaction
from spark_sink.catalog.options import TXN_APP, TXN_VERSION, small
from spark_sink.catalog.session.open_statements import Question, StatementsTxn, unsupported


def batch_of(asked: Question) -> tuple[str, int] | None:
    """Return the application of a write and its number, None for a write without."""
    options = small(asked.get("options", {}))
    app, version = options.get(TXN_APP.lower()), options.get(TXN_VERSION.lower())
    if app is None and version is None:
        return None
    if not app or version is None or not (version.isascii() and version.isdigit()):
        raise unsupported(
            f"{TXN_APP} and {TXN_VERSION} must be a name and a whole number, got {app!r} and "
            f"{version!r}: give both"
        )
    return app, int(version)


def check_batch(asked: Question, txn: StatementsTxn) -> None:
    """Raise Refusal for a numbered write whose txn has other statements, or for half a number."""
    if batch_of(asked) is not None and txn.is_shared:
        raise unsupported(
            f"{TXN_APP} must be left out in a transaction of several statements, which is skipped "
            "as a whole: call txn.app(...) of the transaction"
        )


def note_batch(asked: Question, txn: Transaction, table: int) -> None:
    """Record the number of a write in its txn."""
    batch = batch_of(asked)
    if batch is not None:
        app, version = batch
        txn.app(app, version, tables=[table])
