"""Conflicts: commits that lost, what each attempted, and the evidence against it.

There is one row for each lost commit, also for a one-shot. The row of a txn leads here by the
position of its end.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ledger.core.commands import CoarseWrite, TableWrite
from ledger.core.events.events import TxnAborted
from ledger.core.events.parts import Evidence, Side
from ledger.core.evolve.form import footprint_form, footprint_from
from projections.rows.applied import Applied
from projections.rows.keys import CONFLICT, Fields, number_key
from projections.rows.projection import Rows
from projections.store.port import RowChange


class ConflictFields(Fields):
    """A commit that lost: `attempted` has one list for each table."""

    evidence: Mapping[str, Any]
    txn: int = 0
    session: int = 0
    attempted: tuple[list[Any], ...] = ()
    level: str = ""


def aborted(applied: Applied, body: TxnAborted) -> Iterator[RowChange]:
    """Return the row of a commit that lost."""
    control = applied.control
    if body.evidence is None:
        return
    lost = ConflictFields(
        evidence=evidence_form(body.evidence),
        txn=control.txn,
        session=control.session,
        attempted=tuple([attempt_form(write) for write in body.attempted]),
        level=body.level,
    )
    yield number_key(CONFLICT, control.position), lost.value()


def evidence_form(evidence: Evidence) -> Mapping[str, Any]:
    """Return evidence by field."""
    return {**evidence._asdict(), "winner": evidence.winner._asdict()}


def evidence_from(form: Mapping[str, Any]) -> Evidence:
    """Return the evidence in a stored form, with its winner as a record."""
    return Evidence(**{**form, "winner": Side(**form["winner"])})


def attempt_form(write: TableWrite) -> list[Any]:
    """Return one table of an attempted commit as a list."""
    *plain, footprint = write
    return [*plain, None if footprint is None else footprint_form(footprint)]


def attempt_from(form: list[Any]) -> TableWrite:
    """Return one table of an attempted commit."""
    table, read_at, writes, footprint = form
    coarse = [CoarseWrite(*write) for write in writes]
    return TableWrite(
        table, read_at, coarse, None if footprint is None else footprint_from(footprint)
    )


ROWS: Final[Mapping[type, Rows]] = {TxnAborted: aborted}
