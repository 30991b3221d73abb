"""The row of the cleanup watermark: what it says, what holds it, and that it is always current."""

from collections.abc import Callable

import pytest
from hypothesis import given

from ledger.cli.tables.cleaning import explanation
from ledger.core.state.watermark import bounds
from projections.reads.lookups import watermark
from projections.rows.keys import WATERMARK
from tests.core.histories import Step, played, steps
from tests.driver import write
from tests.projections.followed import PATIENT, Followed, rows_of

Play = Callable[[Followed, int, int], object]
Numbers = tuple[int, int, int, int]
CLEAN = "remove its files, then: lakeledger clean --txn"
LET_END = "let it end, or: lakeledger txn abort"


def reader_behind_a_writer(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(session)
    domain.open_txn(session, "read_only")
    domain.commit(session, 1, write(table))


def abort_with_data(domain: Followed, session: int, _table: int) -> None:
    """Abort a txn that wrote two tables whose files lie under their write ids."""
    tables = [domain.create_table(session, name, layout="directories") for name in ("a", "b")]
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], tables)
    domain.abort(session, txn, tables)


def drop_one(domain: Followed, session: int, table: int) -> None:
    abort_with_data(domain, session, table)
    domain.drop_table(session, table + 1)


def both(domain: Followed, session: int, table: int) -> None:
    """Let a txn that saw an aborted one open hold the same bound as that."""
    later = domain.open_session()
    directory = domain.create_table(session, "logs", layout="directories")
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], [directory])
    domain.open_txn(later)
    domain.abort(session, txn)
    domain.commit(session, 0, write(table))


def open_below(domain: Followed, session: int, table: int) -> None:
    domain.open_txn(domain.open_session())
    abort_with_data(domain, session, table)


def open_above(domain: Followed, session: int, table: int) -> None:
    abort_with_data(domain, session, table)
    domain.open_txn(session)


@pytest.mark.parametrize(
    ("play", "numbers", "holders", "tables"),
    [
        (lambda _d, _s, _t: None, (1, 1, 1, 1), (None, None), []),
        (lambda d, s, t: d.commit(s, 0, write(t)), (2, 2, 2, 2), (None, None), []),
        (lambda d, s, _: d.open_txn(s, size=3), (1, 1, 4, 4), (1, None), []),
        (reader_behind_a_writer, (1, 1, 3, 3), (2, None), []),
        (abort_with_data, (1, 2, 1, 2), (None, 1), [2, 3]),
        (drop_one, (1, 2, 1, 2), (None, 1), [3]),
        (open_below, (1, 1, 2, 3), (1, None), []),
        (open_above, (1, 2, 1, 3), (None, 1), [2, 3]),
        (both, (1, 1, 1, 4), (2, 1), [2]),
    ],
    ids=[
        *("nothing", "moved on", "oldest", "min history", "aborted", "less of it"),
        *("open below", "open above", "both"),
    ],
)
def test_the_row_names_the_bounds_and_the_txns_that_hold_the_watermark_where_it_is(
    play: Play, numbers: Numbers, holders: tuple[int | None, int | None], tables: list[int]
) -> None:
    domain = Followed()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))

    row = domain.reads.watermark()
    assert row[:4] == numbers
    assert (row.open and row.open.txn, row.aborted and row.aborted.txn) == holders
    assert list(row.tables) == tables


@pytest.mark.parametrize(
    ("play", "held_by", "remedy"),
    [
        (lambda d, s, t: d.commit(s, 0, write(t)), "nothing", None),
        (lambda d, s, _: d.open_txn(s, size=3), "open txn 1 of ada@host", f"{LET_END} 1"),
        (reader_behind_a_writer, "open txn 2 of ada@host, which saw txn 1 open", f"{LET_END} 2"),
        (abort_with_data, "aborted txn 1 with data in a, b", f"{CLEAN} 1"),
        (
            both,
            "aborted txn 1 with data in logs; open txn 2 of ada@host, which saw txn 1 open",
            f"{CLEAN} 1; {LET_END} 2",
        ),
    ],
    ids=["nothing", "itself", "min history", "aborted", "both"],
)
def test_what_holds_the_watermark_is_named(play: Play, held_by: str, remedy: str | None) -> None:
    domain = Followed()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))
    fields = explanation(domain.reads)

    assert (fields["held_by"], fields.get("remedy")) == (held_by, remedy)
    assert bool(fields.get("since")) == (remedy is not None)


def test_the_watermark_keeps_the_mappings_of_every_table() -> None:
    domain = Followed()
    session, later = domain.open_session(), domain.open_session("bob")
    table = domain.create_table(session, "flights")
    domain.open_txn(later)
    for _ in range(3):
        domain.commit(session, 0, write(table))
    domain.drop_table(session, table)
    domain.create_table(session, "planes", txn=domain.open_txn(session))

    assert explanation(domain.reads)["mappings_kept"] == 4


def test_who_holds_the_watermark_is_told_with_name_session_and_time() -> None:
    domain = Followed()
    domain.open_txn(domain.open_session("bob"), size=2)

    holder = domain.reads.watermark().open
    assert holder is not None
    assert (holder.txn, holder.user, holder.opened, holder.min_open) == (1, "bob", 5, 1)
    assert holder.opened_at == domain.events[-1].control.at


@PATIENT
@given(history=steps(min_size=30))
def test_row_is_the_state(history: list[Step]) -> None:
    driver = played(history).driver

    row = watermark(rows_of(driver))
    assert row[:4] == bounds(driver.state.txns)
    assert row.watermark == min(row.open_bound, row.aborted_bound, row.next_txn)


def test_what_happens_outside_of_txns_leaves_no_watermark(domain: Followed) -> None:
    session = domain.open_session()
    domain.drop_table(session, domain.create_table(session, "flights"))
    before = domain.rows.get(WATERMARK)
    domain.open_txn(session)

    assert before is None
    assert domain.rows.get(WATERMARK) is not None
