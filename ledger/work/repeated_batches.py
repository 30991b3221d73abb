"""Explains and logs every batch that is skipped as done before.

Usually a skipped batch was sent again after a crash: its application has recorded the very same
version. A version far below the recorded one usually comes from a stream that begins anew, with a
new checkpoint, under the old name. Its batches hold other rows, and all of them would be skipped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ledger.core.commands import AppVersion
from ledger.definitions.client_reads import View
from ledger.errors import LedgerError
from ledger.log_lines import LogLines
from ledger.reads.port import Reads
from ledger.session.receipt import Receipt

log_lines = LogLines("lakeledger.apps")

AHEAD_MIN = 2
"""A batch this many versions below the recorded one was not the application's last."""


class Recorded(NamedTuple):
    """The progress that an application had recorded in a table; `version` None = unknown."""

    app: AppVersion
    table: int
    version: int | None

    @property
    def begins_anew(self) -> bool:
        """Whether the batch does not repeat the last one, but is far older."""
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
            f"new checkpoint, all its batches up to {self.version} are skipped, although they hold "
            "other rows: give the application another name, for a stream one with its query id"
        )


def noted_receipt(
    receipt: Receipt, view: View, apps: Sequence[AppVersion], tables: Iterable[int]
) -> Receipt:
    """Return the receipt of a commit; a skipped one gets a note, which is also logged.

    `apps` is the progress that the commit should have recorded in `tables`.
    """
    if not receipt.skipped or not apps:
        return receipt
    found = [recorded_by(view, app, tables) for app in apps]
    note = "; ".join(map(str, found))
    warn(receipt, found, note)
    return replace(receipt, note=note)


def recorded_by(view: View, app: AppVersion, tables: Iterable[int]) -> Recorded:
    """Return the recorded progress of an application in the first table that has some."""
    try:
        reads: Reads = view.reads()
        rows = [(table, reads.app(table, app.app)) for table in tables]
    except LedgerError:
        # The commit is answered: an unreadable read model is no reason to fail.
        return Recorded(app, 0, None)
    known = [(table, row.version) for table, row in rows if row is not None]
    return Recorded(app, *known[0]) if known else Recorded(app, 0, None)


def warn(receipt: Receipt, found: Sequence[Recorded], note: str) -> None:
    """Log a batch that was skipped."""
    first = found[0]
    log_lines.warning(
        "batch skipped",
        application=first.app.app,
        version=first.app.version,
        recorded=first.version,
        position=receipt.position,
        begins_anew=any(each.begins_anew for each in found),
        why=note,
    )
