"""External tables in a cache: their readers bring no list, and one that comes proves nothing."""

import pytest

from ledger.core.lists.text import ID_MAX
from ledger.errors import LimitExceededError, UnknownTableError
from ledger.reads.metadata import Read, ReadAt
from projections.cache.lists import ReadLists
from projections.cache.store import Reopened
from tests.driver import CATALOG
from tests.projections.cached import Cached, listed, location, made
from tests.projections.followed import Followed

LONG_MS = 30_000


def test_an_external_table_needs_no_list(cached: Cached) -> None:
    other = cached.domain.create_table(cached.session, "x", made=made("x0", "external"))
    changed = cached.domain.alter_table(cached.session, other, made("x1", "external"), "ALTER")
    cached.catch_up()
    token = changed.control.position

    assert location(cached.cache.read("x", None, token=token)) == "x1"
    assert cached.cache.read("x", None, token=token).source == "cache"
    assert cached.read(None) == ("v0", "store", "null_list")


@pytest.mark.parametrize("ids", ["3:", "3:2", f"{ID_MAX}:"])
def test_a_list_for_an_external_table_is_for_the_store(cached: Cached, ids: str) -> None:
    """No position brings its ids: it is answered at once, with what is there, and not kept.

    An empty list is none. A table that was dropped is not there, whatever the list.
    """
    other = cached.domain.create_table(cached.session, "x", made=made("x0", "external"))
    cached.catch_up()
    found = [cached.cache.read("x", listed(ids), max_wait_ms=LONG_MS) for _ in range(2)]
    txn = cached.domain.open_txn(cached.session)
    cached.domain.alter_table(cached.session, other, made("x1", "external"), "ALTER", txn=txn)
    cached.domain.commit(cached.session, txn)
    cached.catch_up()
    found.append(cached.cache.read("x", listed(ids), max_wait_ms=LONG_MS))
    empty = cached.cache.read("x", listed("2:1,2"))
    waited = cached.cache.waits.count
    cached.domain.drop_table(cached.session, other)
    cached.catch_up()
    gone = cached.cache.read(other, listed(ids), max_wait_ms=20)

    told = [(location(each), each.source, each.reason) for each in found]
    assert told == [(word, "store", "incomparable") for word in ("x0", "x0", "x1")]
    assert (location(empty), empty.source) == ("x1", "cache")
    assert (gone.value, gone.source) == (None, "store")
    assert waited == cached.cache.fills[True] == 0


def test_no_list_of_an_external_table_is_told() -> None:
    domain = Followed()
    table = domain.create_table(domain.open_session(), "x", made=made("x0", "external"))
    lists = ReadLists(Reopened(lambda: domain.reads))

    assert lists.read_at(ReadAt("x", CATALOG)) == Read("x", None, table, catalog=CATALOG)
    assert (lists.newest(0), lists.newest(9)) == ([], [Read(table, None)])
    with pytest.raises(LimitExceededError, match="has no write ids"):
        lists.read_at(ReadAt("x", CATALOG, position=domain.head.position))
    with pytest.raises(UnknownTableError):
        lists.read_at(ReadAt(None, CATALOG))
