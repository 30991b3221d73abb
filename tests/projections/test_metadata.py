"""Rows of metadata: every change with who sees it, what waits, and the ids that have not ended."""

from collections.abc import Callable

import pytest

from ledger.core.commands import TableDefinition
from ledger.core.state.domain import DomainState
from ledger.reads.metadata import TableMetadata, described
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.ids import NO_IDS, ReaderIds, lowered
from projections.cache.entries.rows_as_entries import changes, ids_of, store_answer
from projections.cache.ports import EntryRead
from projections.rows.keys import (
    DEFINED,
    NAME_TAKEN,
    NAMED,
    OPEN_ID,
    WAITING,
    number_key,
    read_value,
)
from projections.rows.packing import pack
from projections.store.port import prefix_end
from tests.driver import CATALOG
from tests.projections.followed import Followed


def made(word: str) -> TableDefinition:
    return TableDefinition("managed", "listed", word, (), (), ())


def rows(domain: Followed, prefix: bytes) -> list[object]:
    return [read_value(data) for _, data in domain.rows.scan(prefix, prefix_end(prefix))]


def told(domain: Followed, name: str, ids: ReaderIds | None, own_txn: int = 0) -> str | None:
    found = store_answer(domain.rows, EntryRead((CATALOG, name), ids, own_txn=own_txn))
    if found.name is None or found.objects is None:
        return None
    value = described(found.table, found.name, found.objects, "table")
    assert isinstance(value, TableMetadata)
    return value.definition.location


def test_changes_are_kept_with_who_sees_them(domain: Followed) -> None:
    """A change at once, one by a commit of its own and one of a txn each have rows by what it did.

    An end has both.
    """
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    domain.alter_table(session, table, made("v1"), "ALTER")
    txn = domain.open_txn(session)
    domain.alter_table(session, table, made("v2"), "ALTER", txn=txn)
    domain.rename_table(session, table, "r", txn=txn)
    domain.commit(session, txn)
    domain.drop_table(session, table)

    found = [
        [tuple(change)[1:] for change in changes(domain.rows, kind, table)]
        for kind in (NAMED, DEFINED)
    ]

    assert found == [
        [(0, None, True), (2, (CATALOG, "r"), False), (0, (CATALOG, "t"), False)],
        [(0, None, True), (2, None, False), (1, None, False), (0, None, False)],
    ]
    assert rows(domain, number_key(DEFINED, table))[1] == {"write_id": 1}
    assert rows(domain, pack(NAME_TAKEN, CATALOG)) == [table, table]


@pytest.mark.parametrize("ends", ["commit", "abort", "expire"])
def test_what_waits_goes_with_its_txn(domain: Followed, ends: str) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    txn = domain.open_txn(session)
    domain.alter_table(session, table, made("v1"), "ALTER", txn=txn)
    domain.create_table(session, "u", txn=txn)
    domain.rename_table(session, table, "r", txn=txn)
    before = rows(domain, number_key(WAITING, txn))
    end: dict[str, Callable[[], object]] = {
        "commit": lambda: domain.commit(session, txn),
        "abort": lambda: domain.abort(session, txn),
        "expire": lambda: domain.tidy(txns=[txn]),
    }
    end[ends]()

    assert len(before) == 3
    assert rows(domain, number_key(WAITING, txn)) == []


def test_ids_are_kept_till_they_commit(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", layout="directories")
    first = domain.open_txn(session, size=3)
    domain.allocate(session, range(first, first + 3), [table])
    domain.commit(session, first)
    domain.abort(session, first + 1)
    before = ids_of(domain.rows, table)
    domain.commit(session, first + 2)
    domain.forget(session, [first + 1])
    after = ids_of(domain.rows, table)

    assert (before.hwm, before.open, before.aborted) == (3, {3: first + 2}, {2: first + 1})
    assert (after.hwm, after.open, after.aborted) == (3, {}, {})
    assert rows(domain, number_key(OPEN_ID, table)) == []


def test_every_list_is_answered(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    domain.alter_table(session, table, made("v1"), "ALTER")
    txn = domain.open_txn(session)
    domain.alter_table(session, table, made("v2"), "ALTER", txn=txn)

    assert [told(domain, "t", lowered(hwm, ())) for hwm in (0, 1, 2)] == ["v0", "v1", "v1"]
    assert told(domain, "t", lowered(2, ()), own_txn=txn) == "v2"
    assert told(domain, "T", None) == "v1"
    assert told(domain, "u", None) is None


def drop_it(domain: Followed, session: int, table: int, txn: int) -> None:
    domain.alter_table(session, table, made("v1"), "ALTER", txn=txn)
    domain.drop_table(session, table, txn=txn)


def drop_it_under_changes(domain: Followed, session: int, table: int, txn: int) -> None:
    domain.alter_table(session, table, made("v1"), "ALTER", txn=txn)
    domain.rename_table(session, table, "r", txn=txn)
    domain.drop_table(session, table)


@pytest.mark.parametrize("drop", [drop_it, drop_it_under_changes])
def test_own_changes_end_with_the_table(
    domain: Followed, drop: Callable[[Followed, int, int, int], None]
) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    txn = domain.open_txn(session)
    drop(domain, session, table, txn)
    cache = bootstrap(DomainState())
    for event in domain.events:
        cache.apply(event)
    wanted = EntryRead(None, NO_IDS, table, own_txn=txn, token=domain.head.position)
    found = store_answer(domain.rows, wanted)

    assert (found.table, found.name, found.objects) == (table, None, None)
    assert cache.read(wanted).value is None


def test_how_final_an_answer_is(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], [table])
    domain.alter_table(session, table, made("v1"), "ALTER")
    lists = [lowered(2, (1,)), lowered(2, ()), lowered(1, (1,)), lowered(3, (1,))]

    found = [store_answer(domain.rows, EntryRead(None, ids, table))[1:3] for ids in lists]

    assert found == [(True, True), (False, False), (True, False), (False, False)]


def test_a_name_given_again_is_a_change(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    txn = domain.open_txn(session)
    domain.alter_table(session, table, made("v1"), "ALTER", txn=txn)
    domain.rename_table(session, table, "r", txn=txn)
    domain.commit(session, txn)
    before = told(domain, "t", lowered(0, ()))
    domain.rename_table(session, table, "r")

    assert before == "v0"
    assert told(domain, "t", lowered(0, ())) is None
    assert told(domain, "r", lowered(0, ())) == "v0"
