"""What a cache that follows the log keeps of answers of a store that is ahead of it, or behind."""

import pytest

from projections.cache.ids import ReaderIds
from projections.metadata_cache import Wanted
from projections.metadata_store import stored
from tests.projections.cache_play import Make, MultiVersion, OneVersion
from tests.projections.cached import listed, location, made
from tests.projections.followed import Followed

FOLDS = pytest.mark.parametrize("make", [MultiVersion, OneVersion])


def by_list(table: int, ids: str | None) -> Wanted:
    """Return a read of a table by the list `hwm:open ids`, or without one."""
    written = listed(ids)
    return Wanted(None, None if written is None else ReaderIds.of(written), table)


@FOLDS
def test_what_is_seen_without_a_list_is_not_kept_of_a_managed_table(make: Make) -> None:
    """Nobody can say which ids such an answer shows, so no reader's list may find it."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    cache = make(domain.state)
    cache.evict(table)
    domain.alter_table(session, table, made("v1"), "ALTER")

    kept = cache.fill(by_list(table, None), stored(domain.rows, by_list(table, None)))

    assert not kept
    assert location(cache.read(by_list(table, "0:"))) is None
