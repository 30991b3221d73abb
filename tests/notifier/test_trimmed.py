"""A notifier on a trimmed log: a new place begins with a checkpoint, or with the archive."""

from pathlib import Path

import pytest

from ledger.log.port import Topic
from projections.notifier.receivers import WebReceiver
from tests.backup.trims import TrimmedLedger
from tests.notifier.receiving import Running, delivery, desk

JSON = "application/json"


@pytest.fixture
def trimmed(tmp_path: Path) -> TrimmedLedger:
    """Return a ledger whose log was trimmed, and went on."""
    found = TrimmedLedger(tmp_path)
    found.back_up()
    found.trim()
    found.grow()
    return found


def told(trimmed: TrimmedLedger, place: Path, *, from_first: bool) -> list[int]:
    """Tell a new receiver until it has all, with one commit behind its start."""
    with desk() as server:
        teller = delivery(WebReceiver(server.url, JSON), place, from_first=from_first)
        running = Running(trimmed.log, teller)
        running.wait_for(lambda: teller.is_caught_up)
        before = len(server.taken)
        trimmed.grow(1)
        server.wait_for(before + 1)
        running.end()
        return list(server.taken)


@pytest.mark.parametrize("without", [(), (Topic.CHECKPOINTS,)], ids=["checkpoint", "image"])
def test_a_new_receiver_is_told_of_what_comes(
    trimmed: TrimmedLedger, tmp_path: Path, without: tuple[Topic, ...]
) -> None:
    for topic in without:
        trimmed.log.recreate(topic)
    taken = told(trimmed, tmp_path / "place", from_first=False)
    assert len(taken) == 1
    assert taken[0] > trimmed.log.ends(Topic.EVENTS)[0]


def test_one_that_wants_all_gets_what_was_trimmed_from_the_archive(
    trimmed: TrimmedLedger, tmp_path: Path
) -> None:
    taken = told(trimmed, tmp_path / "place", from_first=True)
    trimmed.log, whole = trimmed.restored(), trimmed.log
    again = told(trimmed, tmp_path / "other", from_first=True)
    assert again[: len(taken)] == taken
    assert taken[0] < whole.ends(Topic.EVENTS)[0]
