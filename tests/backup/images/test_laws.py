"""Rows that begin with an image are those of a follower that read every event."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.backup.images.reading import verified
from ledger.backup.images.starting import BY_TRIM, StartImages
from ledger.log.trimmed import start_of
from projections.fold.fold import FoldMark
from projections.images.beginning import anew_with, open_begun
from projections.rows.keys import LOG, read_value
from projections.store.memory import MemoryStore
from projections.store.port import RowReader
from tests.backup.benches import Step, folder, grow
from tests.backup.images.benches import STEPS, Host, begun_of, follow_to_end
from tests.core.histories import played, random_steps
from tests.projections.digests import digest
from tests.projections.followed import PATIENT, rows_of

HISTORIES = st.lists(st.sampled_from(STEPS), min_size=1, max_size=10)


def position_of(rows: RowReader) -> int:
    stored = rows.get(LOG)
    assert stored is not None
    return FoldMark(*read_value(stored)).position


@PATIENT
@given(st.lists(st.tuples(HISTORIES, HISTORIES, st.integers(1, 4)), min_size=1, max_size=3))
def test_an_image_and_the_rest_of_the_log_make_the_rows_of_the_whole(
    rounds: list[tuple[list[Step], list[Step], int]],
) -> None:
    """With trims between: in each round a new host begins with the newest image."""
    with folder() as path:
        host, whole = Host(path), MemoryStore()
        for number, (before, after, kept) in enumerate(rounds):
            grow(host.driver, before)
            follow_to_end(host.log, whole)
            image = host.back_up()
            assert verified(host.place, image).keys() == {"rows"}
            begun = start_of(host.log).head.position
            # A cut leaves positions out.
            left = [each.control.position for each in host.driver.events]
            trimmed = host.trim(
                [each for each in left if begun + 1 < each <= image.checkpoint][-kept:][0]
            )
            assert begun_of(host.log) == trimmed.offset > 0
            grow(host.driver, after)
            expected = digest(follow_to_end(host.log, whole))
            with open_begun(host.log, path / f"new-{number}", BY_TRIM) as rows:
                assert position_of(rows) == image.position
                assert digest(follow_to_end(host.log, rows)) == expected
            with anew_with(host.log, host.root, BY_TRIM) as rows:
                assert digest(follow_to_end(host.log, rows)) == expected


@settings(PATIENT, max_examples=10)
@given(st.integers(0, 2**32), st.integers(1, 150))
def test_random_histories(seed: int, length: int) -> None:
    """All kinds of events: an image at any position leads to the same rows."""
    with folder() as path:
        steps = random_steps(seed, 150)
        host = Host(path)
        host.driver = played(steps[:length]).driver
        image = host.back_up()
        longer = played(steps).driver
        with open_begun(longer.log, path / "new", StartImages(host.place.path)) as rows:
            assert position_of(rows) == image.position
            assert digest(follow_to_end(longer.log, rows)) == digest(rows_of(longer))
