"""The rows that a statement changed, where people look at the history."""

import pytest

from ledger.cli.answers import Output
from ledger.cli.tables.tables import version_fields
from ledger.client import Ledger
from ledger.reads.row_counts import ChangedRows, rows_in
from projections.web.pages.rendering import shown_rows


def test_the_history_has_changed_rows(ledger_client: Ledger) -> None:
    ledger_client.create_table("shop.carts", [{"id": 1}, {"id": 2}])
    ledger_client.update("shop.carts", {"id": "id + 10"}, "id = 1")
    newest, first = ledger_client.history("shop.carts")

    assert version_fields(newest, Output.JSON)["rows"] == ChangedRows(0, 1, 0)._asdict()
    assert version_fields(newest, Output.TABLE)["rows"] == "1 updated"
    assert (shown_rows(newest.info), shown_rows(first.info)) == ("1 updated", "2 inserted")


@pytest.mark.parametrize(
    "info",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"operationMetrics": {"numFiles": "1"}}',
        '{"operationMetrics": 3}',
    ],
)
def test_the_info_of_another_writer_has_no_counts(info: str) -> None:
    assert rows_in(info) is None
    assert shown_rows(info) == ""
