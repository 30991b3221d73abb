"""A trimmed log that loses its end, or a mark: what recovers it, and what is refused by name."""

from pathlib import Path

import pytest

from ledger.backup.errors import BackupForeignError
from ledger.backup.place import FolderPlace
from ledger.core.events.events import LogCut, LogTrimmed
from ledger.errors import LogDamagedError, TrimRefusedError
from ledger.log.port import Topic
from ledger.log.replay import Replay, verify
from ledger.log.trimmed import read_trim_mark, start_of
from ledger.machine.former_rows import check_rows_given_up
from ledger.recovery.adopting import adopt_topic, check_adoption
from ledger.recovery.ways import ways
from ledger.session.tail import read_genesis
from ledger.trimming.survey import plan
from ledger.trimming.trimming import carry_out
from projections.fold.follower import rebuild
from projections.rows.keys import CHECKPOINT, LOG
from projections.store.rocks_reader import RocksReader
from tests.backup.benches import NEVER, backed_up
from tests.backup.images.benches import followed_at, imaged
from tests.backup.trims import TrimmedLedger
from tests.recovery.logs import commits, copied, led

LOST = 12


class KilledError(Exception):
    """The process was killed before the records left."""


def killed(_offset: int) -> None:
    raise KilledError


@pytest.fixture
def trimmed(tmp_path: Path) -> TrimmedLedger:
    """Return a ledger whose log was trimmed, and went on."""
    found = TrimmedLedger(tmp_path)
    found.back_up()
    found.trim()
    found.grow()
    return found


@pytest.fixture
def lost(tmp_path: Path) -> TrimmedLedger:
    """Return a ledger that lost the end of its trimmed log, and of its image with it.

    The trim is lost too. Its checkpoints are gone, so that nothing but the backup has the state.
    """
    found = TrimmedLedger(tmp_path)
    found.grow()
    found.back_up()
    image = found.image_position()
    found.trim(image - LOST)
    found.lose(found.log.ends(Topic.EVENTS)[1] - image + LOST // 2)
    found.log.recreate(Topic.CHECKPOINTS)
    return found


def test_a_survey_of_a_trimmed_log_is_that_of_the_whole_one(trimmed: TrimmedLedger) -> None:
    trimmed.follow()
    found = trimmed.surveyed()
    assert not found.is_ahead
    assert found.shared is not None
    again = trimmed.restored()
    assert verify(again).head == found.head


def test_the_archive_tells_what_a_trimmed_log_lost(lost: TrimmedLedger) -> None:
    found = lost.surveyed()
    assert found.is_ahead
    assert {each.status for each in found.lost} >= {"committed"}
    assert [way.name for way in ways(found)] == ["restore", "cut"]


def test_a_trimmed_log_goes_on_behind_a_cut(lost: TrimmedLedger, tmp_path: Path) -> None:
    found = lost.recover()
    # The cut has written a checkpoint, and here even that is lost.
    lost.log.recreate(Topic.CHECKPOINTS)
    with led(lost.log) as ledger:
        (txn,) = commits(ledger, count=1)
    assert txn >= found.seen.next_txn
    check_rows_given_up(lost.rows, lost.log)
    # No image is of this log any more, so new rows come from the archive and the log.
    rebuild(lost.log, tmp_path / "again", NEVER)
    lost.backup, lost.rows = tmp_path / "new", tmp_path / "again"
    again = lost.restored(image=True)
    followed_at(again, tmp_path / "whole")
    assert verify(again).digest == lost.whole_digest()
    assert rows_at(tmp_path / "again") == rows_at(tmp_path / "whole")


def rows_at(root: Path) -> dict[bytes, bytes]:
    """Return the rows at a path, but those that name the topic or the place of a checkpoint."""
    with RocksReader.open(root) as rows:
        return {key: row for key, row in rows.scan(b"", b"\xff") if key not in {LOG, CHECKPOINT}}


def test_a_log_is_not_trimmed_by_an_image_that_it_lost(lost: TrimmedLedger, tmp_path: Path) -> None:
    lost.recover()
    lost.grow()
    lost.checkpoint()
    place, mark = FolderPlace(lost.backup), start_of(lost.log).mark
    assert mark is not None
    with pytest.raises(TrimRefusedError, match="events that the log has lost"):
        plan(lost.log, place, mark.below + 1)
    with pytest.raises(BackupForeignError, match="choose another path"):
        backed_up(lost.log, lost.backup)
    rebuild(lost.log, tmp_path / "again", NEVER)
    lost.backup, lost.rows = tmp_path / "new", tmp_path / "again"
    lost.back_up()
    assert lost.trim().archive == str(tmp_path / "new")
    rebuild(lost.log, tmp_path / "more", NEVER)
    assert verify(lost.restored()).digest == lost.whole_digest()


def test_a_log_that_lost_all_that_the_trim_left_goes_on_behind_a_cut(
    trimmed: TrimmedLedger,
) -> None:
    trimmed.follow()
    first, end = trimmed.log.ends(Topic.EVENTS)
    trimmed.lose(end - first)
    found = trimmed.recover()
    assert (found.head, found.end) == (start_of(trimmed.log).head, first)
    assert trimmed.grow(1)[0] >= found.seen.next_txn


def test_a_trim_that_was_killed_changes_nothing_and_is_made_again(trimmed: TrimmedLedger) -> None:
    before = start_of(trimmed.log)
    trimmed.back_up()
    with pytest.raises(KilledError):
        trimmed.trim(remove=killed)
    newer = read_trim_mark(trimmed.log)
    assert newer is not None
    assert start_of(trimmed.log) == before
    assert trimmed.trim(newer.below).offset == newer.offset
    assert start_of(trimmed.log).offset == newer.offset


def test_the_mark_of_a_lost_trim_does_not_count(trimmed: TrimmedLedger) -> None:
    """Another trim, whose first record lies elsewhere, is not taken for the lost one."""
    trimmed.follow()
    digest, before = trimmed.whole_digest(), start_of(trimmed.log)
    end = trimmed.log.ends(Topic.EVENTS)[1]
    trimmed.back_up()
    with pytest.raises(KilledError):
        trimmed.trim(remove=killed)
    trimmed.lose(trimmed.log.ends(Topic.EVENTS)[1] - end)
    assert start_of(trimmed.log) == before
    assert trimmed.whole_digest() == digest
    trimmed.recover()
    events = [type(event.body) for event in Replay(trimmed.log, begun=before)]
    assert LogCut in events
    assert events.count(LogTrimmed) == 1


def test_records_stay_if_the_log_was_cut_since_the_plan(trimmed: TrimmedLedger) -> None:
    trimmed.back_up()
    trimmed.checkpoint()
    place, first = FolderPlace(trimmed.backup), trimmed.log.ends(Topic.EVENTS)[0]
    planned = plan(trimmed.log, place, trimmed.image_position())
    trimmed.lose(3)
    trimmed.recover()
    with led(trimmed.log) as ledger, pytest.raises(TrimRefusedError, match="Plan the trim again"):
        carry_out(ledger, trimmed.log, planned, trimmed.remove, "room")
    assert trimmed.log.ends(Topic.EVENTS)[0] == first


def test_a_lost_mark_is_written_again_from_the_archive(trimmed: TrimmedLedger) -> None:
    digest, mark = trimmed.whole_digest(), start_of(trimmed.log).mark
    assert mark is not None
    trimmed.log.recreate(Topic.CATALOGS)
    with pytest.raises(LogDamagedError, match="lakeledger recover --adopt --backup PATH"):
        read_genesis(trimmed.log, 0.0)
    with pytest.raises(LogDamagedError):
        trimmed.surveyed()
    found = trimmed.surveyed(trimmed.backup)
    assert (found.is_copy, found.is_ahead) == (True, False)
    check_adoption(found, adopt=True, cut=False)
    adopt_topic(trimmed.log, found)
    assert start_of(trimmed.log).mark == mark._replace(image=mark.below, position=0, proofs=())
    assert trimmed.whole_digest() == digest
    assert trimmed.grow(1)


def test_another_backup_does_not_mark_a_log(trimmed: TrimmedLedger, tmp_path: Path) -> None:
    other = TrimmedLedger(tmp_path / "other")
    other.back_up()
    trimmed.log.recreate(Topic.CATALOGS)
    with pytest.raises(BackupForeignError, match="first record of the log"):
        trimmed.surveyed(other.backup)


def test_a_copy_of_a_trimmed_log_is_adopted_with_its_backup(trimmed: TrimmedLedger) -> None:
    digest, mark = trimmed.whole_digest(), start_of(trimmed.log).mark
    assert mark is not None
    copy = copied(trimmed.log)
    moved = copy.topics[Topic.EVENTS]
    moved.records[:] = trimmed.log.topics[Topic.EVENTS].records
    moved.start = mark.offset
    trimmed.log = copy
    with pytest.raises(LogDamagedError, match="no mark of a trim"):
        trimmed.surveyed()
    adopt_topic(copy, trimmed.surveyed(trimmed.backup))
    assert trimmed.whole_digest() == digest
    assert trimmed.grow(1)


def test_the_rows_of_a_trimmed_ledger_are_imaged_again(trimmed: TrimmedLedger) -> None:
    trimmed.back_up()
    before = trimmed.image_position()
    assert trimmed.trim(before).image == before
    assert imaged(FolderPlace(trimmed.backup), trimmed.rows).image is not None
