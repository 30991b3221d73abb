"""Reads of metadata say the same from rows, from a state in memory and over HTTP."""

from typing import Any

import pytest

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.reads.metadata import Bounds, Metadata, MetadataAnswer, MetadataReads, Read
from projections.cache.reads import MetadataCache
from projections.queries import StoreReads
from tests.driver import CATALOG, Driver
from tests.oracle.reads import StateReads
from tests.projections.cache_history import Played, drawn
from tests.projections.cached import listed, location, made
from tests.projections.followed import rows_of
from tests.projections.test_reads_agree import plain
from tests.web.served import serving

AT_ONCE = Bounds(max_wait_ms=0)


def every_read(history: Played) -> list[Read]:
    """Return what every reader there ever was asks for, by id and by name."""
    by_id = [
        Read(reader.table, reader.ids, what=what, own_txn=reader.own_txn)
        for reader in history.readers
        for what in ("table", "stats:delay")
    ]
    by_name = [
        Read(reader.name, reader.ids, reader.table, catalog=CATALOG)
        for reader in history.readers
        if not reader.own_txn
    ]
    newest = [Read(table, None) for table in history.changes]
    return by_id + by_name + newest


def values(reads: MetadataReads, asked: list[Read]) -> list[Metadata | None]:
    found: list[MetadataAnswer] = list(reads.metadata(asked, AT_ONCE))
    assert len({each.position for each in found}) == 1
    return [each.value for each in found]


@pytest.mark.parametrize("seed", range(8))
def test_rows_and_state_agree(seed: int) -> None:
    history = drawn(seed)
    asked = every_read(history)

    rows, state = StoreReads(rows_of(history.driver)), StateReads(history.driver.log)

    assert values(rows, asked) == values(state, asked)
    assert any(values(rows, asked))


def test_a_list_for_an_external_table() -> None:
    """Rows and events answer it with what is there: no position brings ids of that table."""
    domain = Driver()
    external = made("x0", "external")
    table = domain.create_table(domain.open_session(), "x", made=external)
    asked = [Read(table, listed(ids)) for ids in ("3:", "0:")]

    for reads in (StoreReads(rows_of(domain)), StateReads(domain.log)):
        assert [location(each) for each in reads.metadata(asked, AT_ONCE)] == ["x0", "x0"]


def test_nothing_is_lost_on_the_way() -> None:
    history = drawn(3)
    asked = every_read(history)
    store = rows_of(history.driver)

    with serving(lambda: StoreReads(store.reader())) as served:
        assert plain(values(served.reads, asked)) == plain(values(StoreReads(store), asked))


OF_ANOTHER = ValidWriteIdList("lake.other", 0, (), (), None)


@pytest.mark.parametrize(
    ("error", "odd", "says"),
    [
        (ValueError, {"max_wait_ms": -1}, "max_wait_ms is -1; it is a number from 0"),
        (ValueError, {"max_lag_ms": -1}, "max_lag_ms is -1; it is a number from 0"),
        (ValueError, {"policy": "newest"}, "policy is 'newest'; it is one of: list, latest"),
        (ValueError, {"table": 1, "table_id": 2}, "give table or table_id, got both: 1 and 2"),
        (TypeError, {"max_wait_ms": "1"}, "max_wait_ms is '1', which is no whole number"),
        (TypeError, {"max_lag_ms": "1"}, "max_lag_ms is '1', which is no whole number"),
        (TypeError, {"table": None, "table_id": 1}, "table is None, which is no whole number"),
        (TypeError, {"table_id": "1"}, "table_id is '1', which is no whole number"),
        (TypeError, {"write_ids": "t:0::"}, "write_ids must be a ValidWriteIdList, got 't:0::'"),
        (ValueError, {"write_ids": OF_ANOTHER}, "a list of table lake.t, got a list of lake.other"),
    ],
    ids=str,
)
def test_what_can_be_none(error: type[Exception], odd: dict[str, Any], says: str) -> None:
    """A read or bounds that can be none are refused in the same words, whoever is asked."""
    domain = Driver()
    domain.create_table(domain.open_session(), "t")
    read: dict[str, Any] = {"table": "t", "write_ids": listed("0:"), "catalog": CATALOG, **odd}
    bounds = {name: read.pop(name) for name in Bounds._fields if name in read}
    store = rows_of(domain)

    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (
            *(StoreReads(store), StateReads(domain.log)),
            *(MetadataCache.over(store), served.reads),
        ):
            with pytest.raises(error, match=says):
                reads.metadata([Read(**read)], Bounds(**bounds))
