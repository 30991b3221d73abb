"""The fixtures that the package registers with pytest."""

from pathlib import Path

from ledger.client import Ledger
from ledger.testing import InMemoryLedger


def test_a_client_of_a_test_has_rows(
    ledger_client: Ledger, in_memory_ledger: InMemoryLedger, tmp_path: Path
) -> None:
    ledger_client.create_table("shop.carts", [{"id": 1}])
    other = in_memory_ledger.connect()

    assert other.scan("shop.carts").count() == 1
    assert Path(other.table("shop.carts").location).is_relative_to(tmp_path)
