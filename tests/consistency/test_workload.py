"""Clients ask what their seed says, and no value twice."""

from collections import Counter
from itertools import islice

from tests.consistency.operations import Append, Feed, Insert, Operation, Read, from_json, to_json
from tests.consistency.workload import SEVERAL_TABLES, TRANSACTIONS, Plan, Workload


def plans(seed: int, *, client: int = 0, life: int = 0, lacks: tuple[str, ...] = ()) -> list[Plan]:
    workload = Workload(seed, client, life, frozenset(lacks))
    return list(islice(iter(workload.next, None), 400))


def operations(found: list[Plan]) -> list[Operation]:
    return [step for plan in found for step in plan.operations]


def test_a_seed_decides_what_is_asked() -> None:
    assert plans(7) == plans(7)
    assert plans(7) != plans(8)


def test_no_value_is_written_twice_by_clients_and_their_lives() -> None:
    found = [
        step.value
        for client in (0, 10)
        for life in (0, 1)
        for step in operations(plans(7, client=client, life=life))
        if isinstance(step, Append)
    ]
    assert len(found) == len(set(found)) > 0


def test_what_a_system_lacks_is_not_asked() -> None:
    found = plans(7, lacks=(TRANSACTIONS, SEVERAL_TABLES, "Feed", "Upsert"))
    kinds = {type(step).__name__ for step in operations(found)}

    assert not any(plan.is_txn for plan in found)
    assert not kinds & {"Feed", "Upsert", "Write", "Add"}


def test_an_operation_is_read_from_json_as_it_was() -> None:
    found = operations(plans(7))
    assert [from_json(to_json(step)) for step in found] == found


def test_clients_often_read_what_another_one_writes_and_write_what_it_reads() -> None:
    """Each pair of places is met from both sides, so two such txns at once are write skew."""
    met = Counter(
        (read.table, written.table)
        for client in (0, 10)
        for plan in plans(7, client=client)
        for read, written in [plan.operations] * (len(plan.operations) == 2)
        if isinstance(read, Read) and isinstance(written, Insert | Append)
    )
    for pair in (("lists_a", "lists_b"), ("bag", "stock")):
        assert min(met[pair], met[pair[::-1]]) >= 5
    assert met["bag", "bag"] >= 10


def test_a_feed_begins_anew_or_goes_on_from_a_place_of_its_table() -> None:
    workload = Workload(7, 0, 0, frozenset())
    for table in ("stock", "bank", "keyed"):
        workload.note_place(table, len(table))
    feeds = [
        step
        for plan in islice(iter(workload.next, None), 2000)
        for step in plan.operations
        if isinstance(step, Feed)
    ]
    assert {(feed.table, feed.after) for feed in feeds} == {
        (table, after) for table in ("stock", "bank", "keyed") for after in (0, len(table))
    }
