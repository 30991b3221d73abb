"""The judge itself: it finds what is planted, says nothing of clean histories; its mutants die."""

from pathlib import Path

import pytest

from tests.consistency.history import Txn, read_history, write_history
from tests.consistency.judge.anomalies import ALLOWED, LEVELS, MEANINGS, SKEWS, Kind
from tests.consistency.judge.clean import CLEAN
from tests.consistency.judge.judging import anomalies, judge
from tests.consistency.judge.mutants import MUTANTS, broken, told_by
from tests.consistency.judge.planted import PLANTED
from tests.docs.make import DOCS
from tests.isolation.mutants import Mutant


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_anomaly_is_found(name: str) -> None:
    kind, history = PLANTED[name]
    assert kind in {anomaly.kind for anomaly in anomalies(history)}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_history_has_no_anomaly(name: str) -> None:
    assert list(anomalies(CLEAN[name])) == []


def test_every_kind_is_planted_once_at_least() -> None:
    assert {kind for kind, _ in PLANTED.values()} == set(MEANINGS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_of_the_judge_dies(mutant: Mutant) -> None:
    with broken(mutant):
        first = next(told_by(), None)

    assert first is not None


def test_the_honest_judge_is_no_mutant() -> None:
    assert list(told_by()) == []


@pytest.mark.parametrize(
    ("name", "forbidding"),
    [
        ("write skew over two tables", {"serializable"}),
        ("write skew in one table", {"serializable", "write-serializable"}),
        ("a key merged twice", {"serializable", "write-serializable"}),
        ("half of a txn over two tables", set(LEVELS)),
        ("a register replaced twice", set(LEVELS)),
    ],
)
def test_a_level_forbids_what_it_says(name: str, forbidding: set[str]) -> None:
    history = PLANTED[name][1]
    assert {level for level in LEVELS if judge(history, level).forbidden} == forbidding


@pytest.mark.parametrize(
    ("name", "is_let_pass"),
    [
        ("write skew over two tables", True),
        ("write skew that time closes", True),
        ("write skew in one table", False),
        ("two claims that both found no row", False),
        ("a long fork over two tables", False),
    ],
)
def test_a_door_that_tells_no_reads_is_let_skews_over_several_tables_pass(
    name: str, *, is_let_pass: bool
) -> None:
    verdict = judge(PLANTED[name][1], "serializable", SKEWS)
    assert (not verdict.forbidden) is is_let_pass


def test_no_level_allows_what_a_stronger_one_forbids_less() -> None:
    assert ALLOWED["serializable"] < ALLOWED["write-serializable"] < ALLOWED["snapshot-isolation"]


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    history = PLANTED["changes that leave a row out"][1]
    write_history(history.txns, tmp_path)
    assert [plain(txn) for txn in read_history(tmp_path).txns] == [
        plain(txn) for txn in history.txns
    ]


def test_a_txn_of_a_killed_client_is_unknown(tmp_path: Path) -> None:
    write_history(PLANTED["half of a transfer"][1].txns, tmp_path)
    [file] = tmp_path.iterdir()
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-1]) + lines[-1][:9])

    assert [txn.outcome for txn in read_history(tmp_path).txns] == ["committed", "unknown"]


def plain(txn: Txn) -> tuple[object, ...]:
    results = [list(rows) if rows is not None else None for rows in txn.results]
    return txn.id, txn.session, list(txn.operations), results, txn.outcome, txn.begun, txn.ended


KINDS_OF_CYCLES: frozenset[Kind] = frozenset({"G0", "G1c", "G-single", "G2-item", "G2-table"})


def test_a_cycle_is_told_with_the_rows_that_show_it() -> None:
    found = [
        anomaly
        for _, history in PLANTED.values()
        for anomaly in anomalies(history)
        if anomaly.kind in KINDS_OF_CYCLES
    ]
    assert all("->" in anomaly.what and len(anomaly.txns) > 1 for anomaly in found)


def test_the_page_of_levels_says_which_level_allows_which_kind() -> None:
    text = (DOCS / "isolation.md").read_text(encoding="utf-8")
    part = text.partition("<!-- kinds -->")[2].partition("<!-- end of kinds -->")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()
    ]
    wanted = {kind for kind in MEANINGS if kind.startswith("G")} | ALLOWED["snapshot-isolation"]
    assert {row[0]: row[1:] for row in rows[2:]} == {
        kind: [MEANINGS[kind], *("allowed" if kind in ALLOWED[level] else "·" for level in LEVELS)]
        for kind in wanted
    }
