"""The form of row changes in checkpoints: it is JSON, and gives the same changes again."""

import json

from hypothesis import given, settings

from ledger.core.conflicts.index import ConflictIndex
from ledger.core.evolve.form import (
    footprint_form,
    footprint_from,
    restore_winners,
    row_changes_form,
    row_changes_from,
    winners_form,
)
from ledger.core.invariants import index_view
from ledger.core.rows.changes import RowChanges
from tests.core.parts import NOTHING
from tests.core.rewritten_files import Model
from tests.log.strategies import records_of


@given(records_of(RowChanges))
@settings(deadline=None)
def test_any_row_changes_come_back(rows: RowChanges) -> None:
    assert row_changes_from(json.loads(json.dumps(row_changes_form(rows)))) == rows


def test_a_footprint_without_rows_has_the_form_that_it_always_had() -> None:
    """Checkpoints of earlier versions are read, and most have the same bytes."""
    form = footprint_form(NOTHING)

    assert len(form) == len(NOTHING) - 1
    assert footprint_from(form) == NOTHING
    assert row_changes_from(row_changes_form(None)) is None


def test_an_index_of_rows_comes_back() -> None:
    model = Model.after(7, 30)
    form = json.loads(json.dumps(winners_form(model.index)))
    again = ConflictIndex()
    restore_winners(again, form)

    assert any(part.footprint and part.footprint.rows for part in again.parts)
    assert index_view(again) == index_view(model.index)
    assert again.entries == model.index.entries
