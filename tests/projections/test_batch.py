"""What a batch says of a row, and what it writes in the end."""

from projections.store.batch import Batch
from projections.store.memory import MemoryStore


def test_value_made_at_the_end() -> None:
    stands = [b"early"]
    batch = Batch(MemoryStore())
    batch.update([(b"a", lambda: stands[-1]), (b"b", lambda: stands[-1])])
    batch.put(b"b", b"ended")
    stands.append(b"late")

    assert batch.get(b"a") == b"late"
    assert batch.settled() == [(b"a", b"late"), (b"b", b"ended")]


def test_a_row_is_what_the_batch_makes_of_it_or_else_what_the_store_holds() -> None:
    store = MemoryStore()
    store.write([(b"a", b"1"), (b"b", b"2")])
    batch = Batch(store)
    batch.put(b"a", None)

    assert [batch.get(key) for key in (b"a", b"b", b"c")] == [None, b"2", None]


def test_rows_that_were_fetched_at_once_are_those_of_the_store() -> None:
    store = MemoryStore()
    store.write([(b"a", b"1"), (b"b", b"2")])
    batch = Batch(store)
    batch.fetch([b"c", b"b", b"a"])
    batch.put(b"a", b"9")

    assert [batch.get(key) for key in (b"a", b"b", b"c")] == [b"9", b"2", None]
    assert list(Batch(batch).get_many([b"c", b"a", b"b"])) == [None, b"9", b"2"]
    batch.changes.clear()
    assert batch.get(b"a") == b"1"
