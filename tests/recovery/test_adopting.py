"""A copy of the events in another topic is compared with what is left, and taken for the ledger."""

from contextlib import suppress
from pathlib import Path

import pytest

from ledger.errors import LogDamagedError, RestoreUnfinishedError
from ledger.log.checkpoints import Checkpoint
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.restored import Restored, write_restored
from ledger.recovery.adopting import adopt_topic, check_adoption, mark_adopted
from ledger.recovery.cutting import append_cut, write_checkpoint
from ledger.recovery.survey import created_in
from ledger.session.tail import read_genesis
from tests.recovery.logs import commits, copied, followed, led, surveyed

HOLE = 7


@pytest.fixture
def whole(tmp_path: Path) -> MemoryLog:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
    followed(log, tmp_path / "rows")
    return log


def is_accepted(log: MemoryLog) -> bool:
    """Tell whether readers take the events for the ledger."""
    with suppress(LogDamagedError):
        read_genesis(log, 0.0)
        return True
    return False


def test_a_whole_copy_is_adopted_as_it_is(whole: MemoryLog, tmp_path: Path) -> None:
    copy = copied(whole)
    with pytest.raises(LogDamagedError, match=r"recorded in topic .* lakeledger recover --adopt"):
        read_genesis(copy, 0.0)
    found = surveyed(copy, tmp_path / "rows")
    assert (found.is_copy, found.is_ahead, found.verdicts) == (True, False, ["the same"])
    check_adoption(found, adopt=True, cut=False)
    adopt_topic(copy, found)

    assert is_accepted(copy)
    assert not surveyed(copy, tmp_path / "rows").is_copy
    assert len(copy.topics[Topic.EVENTS].records) == len(whole.topics[Topic.EVENTS].records)
    with led(copy) as ledger:
        (txn,) = commits(ledger, count=1)
    assert txn == found.state.txns.next_txn


def test_a_short_copy_is_adopted_with_a_cut_alone(whole: MemoryLog, tmp_path: Path) -> None:
    copy = copied(whole, len(whole.topics[Topic.EVENTS].records) // 2)
    found = surveyed(copy, tmp_path / "rows")
    assert (found.is_copy, found.verdicts) == (True, ["ahead"])
    with pytest.raises(LogDamagedError, match=r"rows of this host.*recover --adopt --cut"):
        check_adoption(found, adopt=True, cut=False)
    with pytest.raises(LogDamagedError, match="recover --adopt --cut"):
        check_adoption(found, adopt=False, cut=True)
    check_adoption(found, adopt=True, cut=True)
    event = append_cut(copy, found, "a copy")
    assert not is_accepted(copy)
    mark_adopted(copy, found, event.control.position)

    assert is_accepted(copy)
    before = surveyed(whole, None).state.txns.next_txn
    with led(copy) as ledger:
        (txn,) = commits(ledger, count=1)
    assert txn >= before
    assert surveyed(copy, tmp_path / "rows").verdicts[-1] == "lost by a cut"


def test_a_copy_of_another_history_is_found_by_its_chain(whole: MemoryLog, tmp_path: Path) -> None:
    short = copied(whole, len(whole.topics[Topic.EVENTS].records) // 2)
    write_restored(short, 0, mark_of(short, is_whole=True))
    with led(short) as ledger:
        commits(ledger, count=30)
    found = surveyed(copied(short), tmp_path / "rows")
    assert found.is_copy
    assert found.head.position > found.witnesses[-1].seen.position
    assert found.verdicts == ["another history"]
    with pytest.raises(LogDamagedError, match="recover --adopt --cut"):
        check_adoption(found, adopt=True, cut=False)


def test_checkpoints_that_name_offsets_of_a_former_topic_are_replaced(whole: MemoryLog) -> None:
    found = surveyed(whole, None)
    copy = copied(whole)
    records = copy.topics[Topic.EVENTS].records
    records[:] = [record._replace(offset=record.offset + HOLE) for record in records]
    write_checkpoint(copy, Checkpoint(found.state, found.head, found.end))
    found = surveyed(copy, None)
    assert found.verdicts[0] == "the same"
    mark_adopted(copy, found, found.head.position)
    with pytest.raises(LogDamagedError, match="a state checkpoint names position"), led(copy):
        pass
    adopt_topic(copy, found)
    with led(copy) as ledger:
        assert commits(ledger, count=1)


def test_an_unfinished_restore(whole: MemoryLog) -> None:
    """What a restore has not finished is not adopted: the restore goes on with it."""
    copy = copied(whole, 4)
    write_restored(copy, 0, mark_of(copy, is_whole=False))
    with pytest.raises(RestoreUnfinishedError, match="run the same lakeledger restore again"):
        surveyed(copy, None)


def test_the_topic_that_the_events_were_recorded_in_is_no_copy(whole: MemoryLog) -> None:
    found = surveyed(whole, None)
    assert not found.is_copy
    check_adoption(found, adopt=True, cut=False)
    check_adoption(found, adopt=False, cut=True)


def mark_of(log: MemoryLog, *, is_whole: bool) -> Restored:
    ledger = created_in(log).ledger
    return Restored(ledger, log.topic_id(Topic.EVENTS), 1, 1, "", is_whole=is_whole)
