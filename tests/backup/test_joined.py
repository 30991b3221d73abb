"""A trimmed log and its backup as one log: every reader finds all events, or a named error."""

from pathlib import Path
from shutil import rmtree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.backup.contents import manifest_in
from ledger.backup.images.starting import BY_TRIM, NO_IMAGES
from ledger.backup.joined import JoinedLog, joined_log
from ledger.backup.place import FolderPlace
from ledger.core.commands import IsolationLevel
from ledger.errors import LogTrimmedError
from ledger.log.port import Record, Topic, records_between
from ledger.log.replay import verify, what_if
from tests.backup.benches import Step, backed_up, commit, folder, grow, restored, stray, zombie
from tests.backup.images.benches import STEPS, Host
from tests.backup.trims import TrimmedLedger
from tests.driver import Driver
from tests.projections.followed import PATIENT

SERIALIZABLE: IsolationLevel = "Serializable"


@pytest.fixture
def trimmed(tmp_path: Path) -> TrimmedLedger:
    """Return a ledger whose log was trimmed, and went on."""
    found = TrimmedLedger(tmp_path)
    found.back_up()
    found.trim()
    found.grow()
    return found


@PATIENT
@example([stray, commit, Driver.open_session, zombie, Driver.open_session], [], 1)
@given(
    st.lists(st.sampled_from([*STEPS, zombie, stray]), max_size=8),
    st.lists(st.sampled_from([*STEPS, zombie, stray]), max_size=8),
    st.integers(1, 7),
)
def test_it_has_the_records_that_there_were(
    before: list[Step], after: list[Step], limit: int
) -> None:
    with folder() as path:
        host = Host(path)
        grow(host.driver, [commit, *before])
        host.back_up()
        whole = [*host.driver.records]
        mark = host.trim()
        grow(host.driver, after)
        whole += host.driver.records[len(host.driver.records) - (end_of(host) - len(whole)) :]
        joined = joined_log(host.log)
        assert joined.ends(Topic.EVENTS) == (0, len(whole))
        for first in (0, 1, mark.offset - 1, mark.offset, len(whole) - 1):
            reader = joined.reader(Topic.EVENTS, first)
            found = list[Record]()
            while reader.next_offset() < len(whole):
                found += reader.read(limit, 0.0)
            assert found == whole[first:]


def end_of(host: Host) -> int:
    return host.log.ends(Topic.EVENTS)[1]


def test_a_restore_joins_archive_and_log_with_equal_digests(trimmed: TrimmedLedger) -> None:
    again = trimmed.restored()
    assert again.ends(Topic.EVENTS) == (0, trimmed.log.ends(Topic.EVENTS)[1])
    assert verify(again).digest == trimmed.whole_digest()
    assert joined_log(again) is again


def test_a_trimmed_log_is_verified_from_where_it_begins(trimmed: TrimmedLedger) -> None:
    alone, whole = verify(trimmed.log), verify(joined_log(trimmed.log))
    first, end = trimmed.log.ends(Topic.EVENTS)
    assert (alone.head, alone.records, alone.digest) == (whole.head, end - first, "")
    assert (alone.begun.offset, whole.begun.offset) == (first, 0)
    assert whole.records == end


def test_a_log_is_judged_again_from_its_first_commit(trimmed: TrimmedLedger) -> None:
    assert list(what_if(BY_TRIM.whole(trimmed.log), SERIALIZABLE)) == list(
        what_if(trimmed.restored(), SERIALIZABLE)
    )


def test_a_new_backup_of_a_trimmed_log_begins_with_the_old_one(
    trimmed: TrimmedLedger, tmp_path: Path
) -> None:
    backed_up(trimmed.log, trimmed.backup)
    backed_up(trimmed.log, tmp_path / "new")
    old, new = manifest_in(FolderPlace(trimmed.backup)), manifest_in(FolderPlace(tmp_path / "new"))
    assert new.reached == old.reached
    trimmed.grow()
    assert backed_up(trimmed.log, tmp_path / "new").new_records
    again = TrimmedLedger(tmp_path / "other").log
    for topic in Topic:
        again.recreate(topic)
    assert restored(tmp_path / "new", again).is_whole
    assert verify(again).digest == trimmed.whole_digest()


def test_without_its_archive_no_new_backup_is_begun(trimmed: TrimmedLedger, tmp_path: Path) -> None:
    trimmed.backup.rename(tmp_path / "moved")
    with pytest.raises(LogTrimmedError, match=str(trimmed.backup)):
        backed_up(trimmed.log, tmp_path / "new")
    assert FolderPlace(tmp_path / "new").names() == set()
    assert isinstance(joined_log(trimmed.log, str(tmp_path / "moved")), JoinedLog)
    assert trimmed.log.ends(Topic.EVENTS)[0]


def test_an_older_backup_goes_on_with_what_the_archive_holds(tmp_path: Path) -> None:
    ledger = TrimmedLedger(tmp_path)
    backed_up(ledger.log, tmp_path / "older")
    ledger.grow()
    ledger.back_up()
    ledger.trim()
    backed_up(ledger.log, tmp_path / "older")
    backed_up(ledger.log, ledger.backup)
    older, newer = (manifest_in(FolderPlace(each)) for each in (tmp_path / "older", ledger.backup))
    assert older.reached == newer.reached


@pytest.mark.parametrize("what", ["absent", "of another ledger", "ends too early", "damaged"])
def test_an_archive_that_does_not_fit_is_refused_by_name(
    trimmed: TrimmedLedger, tmp_path: Path, what: str
) -> None:
    place = tmp_path / "wrong"
    if what == "of another ledger":
        other = TrimmedLedger(tmp_path / "other")
        backed_up(other.log, place)
    elif what == "ends too early":
        early = TrimmedLedger(tmp_path / "other")
        backed_up(early.log, place)
    elif what == "damaged":
        trimmed.backup.rename(place)
        file = next(place.glob("events-*"))
        file.write_bytes(file.read_bytes()[:-1])
    log = joined_log(trimmed.log, str(place))
    with pytest.raises(LogTrimmedError, match=str(place)) as refused:
        list(records_between(log, Topic.EVENTS, 0, 5))
    assert refused.value.archive == str(trimmed.backup)


def test_off_leaves_a_trimmed_log_as_it_is(trimmed: TrimmedLedger) -> None:
    rmtree(trimmed.backup)
    assert NO_IMAGES.whole(trimmed.log) is trimmed.log
    with pytest.raises(LogTrimmedError):
        verify(BY_TRIM.whole(trimmed.log))
