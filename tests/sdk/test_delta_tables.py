"""Published Delta tables: each imports, and at each version is what its own log says it was."""

from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.delta.report import Disagreement, ImportReport, delta_versions
from tests.sdk.delta_tables import (
    NAME,
    TABLES,
    checkpoints,
    expected,
    import_stepwise,
    imported_state,
    names,
    vacuumed,
)

pytestmark = pytest.mark.skipif(not names(), reason="there are no published tables in ../shared")

# Its versions 3 and 4 change metadata that version 2 changed after they had read version 1: no
# writer may commit that, the log was made by hand.
CONTRADICTING = "two_apps_cdc"
# Tables with a version that was made from an older one than that before it.
REBASED = ["append_date_partition_rebased", "append_vacuumed_log", "unknown_actions"]


@pytest.mark.parametrize("name", names())
def test_at_each_imported_version_a_table_is_as_expected(ledger: Ledger, name: str) -> None:
    assert list(import_stepwise(ledger, TABLES / name)) == expected(name)


@pytest.mark.parametrize("name", names())
def test_imported_at_once_it_is_the_same_in_the_end(ledger: Ledger, name: str) -> None:
    first = import_delta(ledger, TABLES / name, NAME)
    reads = ledger.reads()
    position = reads.position()
    second = import_delta(ledger, TABLES / name, NAME)

    state = imported_state(reads, first.table, first.version, first.delta_version)
    assert state == expected(name)[-1]
    assert second[:5] == first[:5]
    assert (second.versions, reads.position()) == (0, position)


@pytest.mark.parametrize(("name", "checkpoint"), checkpoints())
def test_from_a_checkpoint(ledger: Ledger, tmp_path: Path, name: str, checkpoint: int) -> None:
    """Without what came before a checkpoint, a table is the same from there on."""
    table = vacuumed(name, tmp_path / name, checkpoint)

    assert list(import_stepwise(ledger, table)) == expected(name, first=checkpoint)


@pytest.mark.parametrize("name", REBASED)
def test_rebased_versions_come_out_as_commits(ledger: Ledger, name: str) -> None:
    found = import_delta(ledger, TABLES / name, NAME)

    assert (found.rebased, found.disagreed) == (1, ())


def test_a_log_that_says_what_no_writer_may_do_is_imported_all_the_same(ledger: Ledger) -> None:
    found = import_delta(ledger, TABLES / CONTRADICTING, NAME)

    assert found[-4:] == (
        5,
        2,
        (Disagreement(3, "MetadataChanged"), Disagreement(4, "MetadataChanged")),
        2,
    )


def test_the_levels_recorded_by_databricks_are_kept_version_by_version(ledger: Ledger) -> None:
    found = import_delta(ledger, TABLES / "cdf_nonpartitioned", NAME)

    rows = ledger.reads().versions(found.table, 10)
    assert [row.level for row in rows] == ["Serializable"] * 5


def test_version_numbers_of_a_log_without_early_ones_are_told_apart(ledger: Ledger) -> None:
    found: ImportReport = import_delta(ledger, TABLES / "append_vacuumed_log", NAME)
    numbers = delta_versions(ledger.reads(), found.table)

    assert (found.version, found.delta_version) == (7, 12)
    assert numbers is not None
    assert (numbers.first, numbers.newest) == (5, 12)
    assert (numbers.of_delta(12), numbers.of_ledger(0), numbers.of_delta(4)) == (7, 5, -1)
