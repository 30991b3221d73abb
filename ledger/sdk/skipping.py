"""Batches that are skipped as done before: never without a word.

The usual batch is one that was sent again after a crash: its application has recorded the very same
version. One far below comes as a rule from a stream that begins anew, with a new checkpoint, under
the name of the old one: its batches hold other rows, and none of them would be applied.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ledger.core.commands import AppVersion
from ledger.errors import LedgerError
from ledger.reads.port import Reads
from ledger.sdk.receipt import Receipt
from ledger.sdk.view import View

AHEAD_MIN = 2
"""A batch so many versions before the recorded one was not the last that an application sent."""


class Recorded(NamedTuple):
    """The progress that an application had recorded in a table before; `version` None = unknown."""

    app: AppVersion
    table: int
    version: int | None

    @property
    def begins_anew(self) -> bool:
        """Tell whether the batch is no repetition of the last one, but of one long before."""
        if self.version is None:
            return False
        behind = self.version - self.app.version
        return behind >= AHEAD_MIN or (self.app.version == 0 < behind)

    def __str__(self) -> str:
        done = f"batch {self.app.version} of application {self.app.app} was done before"
        if self.version is None:
            return done
        where = f"{done}: table {self.table} has recorded version {self.version}"
        if not self.begins_anew:
            return where
        return (
            f"{where}, far ahead of it. If the application begins anew, as a stream does with a "
            f"new checkpoint, its batches up to {self.version} are all skipped though they hold "
            "other rows: give it another name, for a stream one with the id of its query"
        )


def told(
    receipt: Receipt, view: View, apps: Sequence[AppVersion], tables: Iterable[int]
) -> Receipt:
    """Return the receipt of a commit, and say why it was skipped if it was: there and in the log.

    `apps` are the progress that it was to record in `tables`.
    """
    if not receipt.skipped or not apps:
        return receipt
    found = [recorded_by(view, each, tables) for each in apps]
    note = "; ".join(map(str, found))
    warn(receipt, found, note)
    return replace(receipt, note=note)


def recorded_by(view: View, app: AppVersion, tables: Iterable[int]) -> Recorded:
    """Return what an application had recorded, in the first of the tables that knows it."""
    try:
        reads: Reads = view.reads()
        rows = [(table, reads.app(table, app.app)) for table in tables]
    except LedgerError:
        # The commit is answered: that nobody can look up more is no reason to fail.
        return Recorded(app, 0, None)
    known = [(table, row.version) for table, row in rows if row is not None]
    return Recorded(app, *known[0]) if known else Recorded(app, 0, None)


def warn(receipt: Receipt, found: Sequence[Recorded], note: str) -> None:
    """Write a line of log about work that was not done."""
    import structlog  # noqa: PLC0415 - seldom needed, and a client is to load little

    first = found[0]
    structlog.get_logger("lakeledger.apps").warning(
        "batch skipped",
        application=first.app.app,
        version=first.app.version,
        recorded=first.version,
        position=receipt.position,
        begins_anew=any(each.begins_anew for each in found),
        why=note,
    )
