"""Anomalies on the command line: counted by kind, listed, and acknowledged in the log."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.cli.answers import Output
from ledger.cli.tables.anomalies import (
    ACKNOWLEDGED,
    AnomalyCount,
    Known,
    acknowledge,
    counted,
    counts_shown,
    pages,
)
from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.machine.process import ExitCode
from ledger.testing import InMemoryLedger
from tests.driver import CATALOG
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import BY_HOUR, command_line, played, told


def haunted(*ghosts: int) -> Followed:
    """Return a domain with commits that remove so many files each that never were."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights", made=BY_HOUR)
    for number in ghosts:
        commit(domain, session, table, [], [f"ghost-{each}" for each in range(number)])
    return domain


@pytest.mark.parametrize(
    ("ghosts", "size", "pages_of", "is_all"),
    [
        ([], 3, [], True),
        ([1, 1], 3, [2], True),
        ([2, 2], 3, [2, 2], True),
        ([1, 2, 1], 3, [1, 2, 1], True),
        ([2], 2, [2], False),
        ([4, 1], 2, [2, 1], False),
    ],
)
def test_pages(ghosts: list[int], size: int, pages_of: list[int], *, is_all: bool) -> None:
    """All anomalies come page by page, once each; of one commit no more than a page holds."""
    found = list(pages(haunted(*ghosts).reads, None, size=size))

    assert [len(rows) for rows, _ in found] == pages_of
    assert all(is_whole for _, is_whole in found) == is_all


def test_the_status_of_a_ledger_has_a_line_for_each_kind_of_anomaly(tmp_path: Path) -> None:
    lakeledger = command_line(haunted(60, 3), tmp_path)
    shown = lakeledger("status").stdout
    result = lakeledger("status", "--output", "json")

    assert result.exit_code == ExitCode.UNHEALTHY  # There is no broker here.
    assert json.loads(result.stdout)["anomalies"] == {"removed_not_live": 63}
    assert "removed_not_live 63\n" in shown
    assert "ghost" not in shown


def test_where_one_commit_has_more_than_are_counted_that_is_said() -> None:
    found = AnomalyCount({"added_live": 7}, is_all=False)
    assert counts_shown(found, Output.JSON) == {
        "anomalies": {"added_live": 7},
        "more_anomalies": True,
    }
    assert counts_shown(found, Output.TABLE)["anomalies"] == [{"added_live": "7 or more"}]


def test_anomalies_are_listed_with_table_kind_and_path(tmp_path: Path) -> None:
    lakeledger = command_line(played(), tmp_path)
    shown = lakeledger("anomaly", "list", "--catalog", CATALOG).stdout.splitlines()
    (row,) = told(lakeledger("anomaly", "list", "--catalog", CATALOG, "--output", "json"))

    assert shown[0].split() == ["position", "name", "kind", "path"]
    assert shown[1].split()[1:] == ["lake.flights", "removed_not_live", "ghost"]
    assert (row["kind"], row["path"], row["acknowledged"]) == ("removed_not_live", "ghost", False)
    after = str(row["position"])
    assert told(lakeledger("anomaly", "list", "--after", after, "--output", "json")) == []


@pytest.mark.parametrize(("limit", "listed"), [(1, 1), (2, 2), (5, 3)])
def test_no_more_are_listed_than_were_asked_for(tmp_path: Path, limit: int, listed: int) -> None:
    lakeledger = command_line(haunted(2, 1), tmp_path)
    shown = lakeledger("anomaly", "list", "--limit", str(limit), "--output", "json")

    assert len(told(shown)) == listed


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Return a client of a ledger with two tables, each with a commit that says what cannot be."""
    with InMemoryLedger() as memory, closing(memory.connect()) as found:
        for name in ("one", "two"):
            found.create_table(name)
            remove_ghost(found, name)
        yield found


def remove_ghost(ledger: Ledger, name: str) -> None:
    """Remove a file that was never there."""
    with ledger.transaction() as txn:
        txn.remove_files(name, [RemoveFile("ghost")])


def counts(ledger: Ledger, table: str | None = None) -> int:
    """Return how many anomalies nobody has acknowledged."""
    reads = ledger.reads()
    number = None if table is None else ledger.table(table).table
    return sum(counted(reads, ledger.catalog, number).kinds.values())


def test_what_is_acknowledged_is_counted_no_longer(ledger: Ledger) -> None:
    before = ledger.table("one").version
    acknowledge(ledger, None, None)
    assert (counts(ledger), ledger.table("one").version) == (0, before)
    assert acknowledge(ledger, None, None) == []

    remove_ghost(ledger, "one")
    assert (counts(ledger), counts(ledger, "one"), counts(ledger, "two")) == (1, 1, 0)


def test_the_anomalies_of_one_table_are_acknowledged(ledger: Ledger) -> None:
    (row,) = acknowledge(ledger, "one", None)
    assert (row["name"], row["acknowledged"]) == ("main.one", {"removed_not_live": 1})
    assert (counts(ledger, "one"), counts(ledger, "two")) == (0, 1)


def test_only_what_was_known_up_to_a_position_is_acknowledged(ledger: Ledger) -> None:
    first, second = ledger.reads().anomalies(None, 9)
    acknowledge(ledger, None, first.position)
    known = Known(ledger.reads(), ledger.catalog)

    assert (known.has(first), known.has(second)) == (True, False)


def test_two_clients_that_acknowledge_use_one_table(ledger: Ledger) -> None:
    acknowledge(ledger, "one", None)
    acknowledge(ledger, "two", None)

    assert counts(ledger) == 0
    assert [row.name for row in ledger.reads().tables()].count(ACKNOWLEDGED) == 1


def test_the_anomalies_of_a_table_that_is_gone_need_no_word_of_anybody(ledger: Ledger) -> None:
    ledger.drop_table("one")
    assert counts(ledger) == 1


def test_paths_that_were_added_a_second_time_are_one_line(ledger: Ledger) -> None:
    files = [AddFile(f"f-{each}") for each in range(70)]
    for _ in range(2):
        ledger.append("two", files)
    kinds = counted(ledger.reads(), ledger.catalog).kinds
    assert kinds == {"added_live": 70, "removed_not_live": 2}

    acknowledge(ledger, None, None)
    assert counts(ledger) == 0
