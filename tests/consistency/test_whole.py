"""Which shares a whole check has, how its time is parted, and what its tables and its end say."""

from pathlib import Path

import pytest

from tests.consistency.judge.anomalies import LEVELS
from tests.consistency.summary import Shown, tables
from tests.consistency.systems import GRAINS, SUBJECTS, chosen
from tests.consistency.whole import Share, ledger_shares, peer_shares, run_shares, sharing

RUN = {
    "subject": "ledger-iceberg",
    "version": "lakeledger 1",
    "commit": "abc",
    "level": "serializable",
    "grain": "rows",
    "flush": "yes",
    "seed": 7,
    "seconds": 30.4,
    "strikes": {"pause client": 2, "kill broker": 1},
    "lacks": ["tokens"],
    "untried": [],
    "is_read_at_end": True,
}
DOORS = [name for name in SUBJECTS if name.startswith("ledger-")]


@pytest.mark.parametrize("door", DOORS)
def test_each_door_has_all_levels_and_both_grains(door: str) -> None:
    pairs = [(share.level, share.grain) for share in ledger_shares() if share.subject == door]

    assert {level for level, _ in pairs} == set(LEVELS)
    assert {grain for _, grain in pairs} == set(GRAINS)
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("door", ["ledger-sdk", "ledger-no-flush"])
def test_the_sdk_has_all_pairs(door: str) -> None:
    assert sum(share.subject == door for share in ledger_shares()) == len(LEVELS) * len(GRAINS)


def test_a_peer_runs_at_the_level_that_it_promises() -> None:
    found = {share.subject: share.level for share in peer_shares()}

    assert found["ducklake-file"] == found["ducklake-postgres"] == "snapshot-isolation"
    assert found["deltalake"] == "serializable"


def test_the_time_of_all_shares_is_what_was_given() -> None:
    shares = list(ledger_shares())
    beside = sum(share.beside_s for share in shares)
    each = sharing(shares, 2400)(0)

    assert beside + each * len(shares) == pytest.approx(2400, abs=1)
    assert sharing(shares, 0)(0) == 15


@pytest.mark.parametrize(
    ("name", "level", "grain", "what"),
    [
        ("ducklake-file", "serializable", None, "one of snapshot-isolation, got serializable"),
        ("deltalake", None, "rows", "one of default, got rows"),
        ("ledger-sdk", None, "row", "one of file, rows, got row"),
    ],
)
def test_what_a_system_does_not_promise_is_refused(
    name: str, level: str | None, grain: str | None, what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        chosen(name, level, grain)


def test_the_first_level_is_the_default() -> None:
    assert chosen("ducklake-file", None, None) == ("snapshot-isolation", "default")


def test_a_share_that_cannot_run_fails_the_check_and_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "a file"
    folder.touch()
    said: list[str] = []
    share = Share("deltalake", "serializable", "default")

    assert run_shares([share], lambda _: 1.0, 1, folder, said.append) == 1
    assert said[-1].startswith("deltalake-serializable-default did not run")


def test_the_tables_say_what_ran_and_what_was_found() -> None:
    outcomes = {"committed": 90, "aborted": 8, "unknown": 1}
    run = Shown(RUN, outcomes, {"lost row": 1}, {"G2-item": 2})
    lines = list(tables([run, run]))

    wanted = (
        "| ledger-iceberg | Serializable | rows | yes | 7 | 30 | 90 | 8 | 1 | lost row "
        "| not promised: G2-item: 2 |"
    )
    assert lines.count(wanted) == 2
    strikes = "| ledger-iceberg | Serializable | rows | kill broker, pause client: 2 |"
    assert lines.count(strikes) == 2
    assert lines.count("| ledger-iceberg | lakeledger 1, commit abc | tokens | none |") == 1
