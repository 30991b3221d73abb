"""What a txn holds: its snapshot, its write ids, and those of many txns at once."""

import pytest

from ledger.client import Ledger
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.errors import LogError
from ledger.log.lossy import LossyLog
from ledger.testing import InMemoryLedger
from tests.oracle.reads import StateReads
from tests.sdk.writing import written


def test_txns_opened_together_have_neighbouring_ids(ledger: Ledger) -> None:
    earlier = ledger.begin()

    txns = ledger.begin_many(3)

    first = earlier.id + 1
    assert [first, first + 1, first + 2] == [txn.id for txn in txns]
    assert ValidTxnList(first + 2, (earlier.id, first, first + 1), (), earlier.id) == (
        txns[2].valid_txns
    )


def test_what_a_txn_may_see_stays_as_it_was_when_it_opened(ledger: Ledger) -> None:
    writer = ledger.begin()
    reader = ledger.begin("read_only")

    writer.commit()

    assert not reader.valid_txns.is_valid(writer.id)
    assert ledger.snapshot().is_valid(writer.id)


@pytest.mark.parametrize("inline_max", [0, 256])
def test_a_list_too_long_for_its_event_is_the_same(log: LossyLog, inline_max: int) -> None:
    limits = DEFAULT_LIMITS._replace(snapshot_inline_max=inline_max)
    with InMemoryLedger(log=log, limits=limits) as memory:
        ledger = memory.connect()
        ledger.begin().abort("", ())
        earlier = ledger.begin()
        txns = ledger.begin_many(2)
        ledger.begin().commit()

        lists = [txn.valid_txns for txn in txns]

    assert [
        ValidTxnList(3, (earlier.id,), (1,), earlier.id),
        ValidTxnList(4, (earlier.id, 3), (1,), earlier.id),
    ] == lists


class Forgetful(StateReads):
    """A read model that has lost what happened to a txn."""

    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        return ValidTxnList(super().valid_txns(position).hwm, (), (), None)


def test_a_list_that_is_not_the_one_the_log_has_a_digest_of_is_refused(log: LossyLog) -> None:
    limits = DEFAULT_LIMITS._replace(snapshot_inline_max=0)
    with InMemoryLedger(log=log, limits=limits) as memory:
        ledger = Ledger.connect(log=log, reads=Forgetful(log), catalog="main")
        earlier, txn = memory.connect().begin(), ledger.begin()

        with pytest.raises(LogError, match="Rebuild its store"):
            _ = txn.valid_txns

        ledger.close()
    assert earlier.id < txn.id


def test_a_txn_has_one_write_id_in_a_table(ledger: Ledger) -> None:
    flights, routes = ledger.create_table("flights"), ledger.create_table("routes")
    txn = ledger.begin()

    assert txn.write_ids(["flights", routes.table]) == [1, 1]
    asked = ledger.token
    assert txn.write_id(flights) == 1
    assert asked == ledger.token


def test_write_ids_of_many_txns_come_in_one_round_trip(ledger: Ledger) -> None:
    flights, routes = ledger.create_table("flights"), ledger.create_table("routes")
    first, second = ledger.begin_many(2)

    ids = ledger.allocate([first, second], ["flights", routes])

    assert {
        (flights.table, first.id): 1,
        (flights.table, second.id): 2,
        (routes.table, first.id): 1,
        (routes.table, second.id): 2,
    } == ids
    assert second.write_id("routes") == 2
    assert ledger.allocate([], ["flights"]) == ledger.allocate([first], []) == {}


def test_a_txn_sees_its_own_write_id_and_those_committed_before_it(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")
    committed, still_open, own = (written(ledger, "flights") for _ in range(3))
    committed.commit()
    late = written(ledger, "flights")

    assert ValidWriteIdList("main.flights", 3, (1, 2), (), 1) == own.valid_write_ids(flights)
    assert ValidWriteIdList("main.flights", 4, (2, 3), (), 2) == late.valid_write_ids("flights")
    assert still_open.valid_write_ids("flights").is_valid(2)
