"""What every row store must do; each adapter runs this class with its own two fixtures.

`store` is an empty store of the default format. `reader` reads the same rows as another process
would: `refresh` brings it up to date.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest

from projections.errors import StoreClosedError
from projections.store.paging import PAGE_ROWS
from projections.store.port import (
    FORMAT_KEY,
    KEYS_END,
    RowChange,
    RowReader,
    RowStore,
    highest_first,
    prefix_end,
)
from tests.projections.digests import digest

FEW_KEYS = [b"a", b"a\x00", b"a\xff", b"b", b"ba", b"c"]
MANY_KEYS = [b"m%05d" % number for number in range(3 * PAGE_ROWS)]


def put(keys: Iterable[bytes]) -> list[RowChange]:
    """Return a batch that gives each key itself as its value."""
    return [(key, key) for key in keys]


class StoreContract:
    """Tests of the port."""

    def test_several_rows(self, store: RowStore, reader: RowReader) -> None:
        """Several keys give what each of them gives, in their order."""
        store.write(put(FEW_KEYS[:3]))
        reader.refresh()
        keys = [b"b", *FEW_KEYS[:3], b"a", b""]
        for rows in (store, reader):
            assert list(rows.get_many(keys)) == [rows.get(key) for key in keys]
            assert list(rows.get_many([])) == []
        store.close()
        with pytest.raises(StoreClosedError):
            store.get_many(keys)

    def test_a_key_that_was_never_written_has_no_value(self, store: RowStore) -> None:
        assert store.get(b"a") is None

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ([(b"a", b"1")], b"1"),
            ([(b"a", b"1"), (b"a", b"2")], b"2"),
            ([(b"a", b"1"), (b"a", None)], None),
            ([(b"a", None), (b"a", b"1")], b"1"),
            ([(b"b", None)], b"0"),
            ([(b"a", b"")], b""),
            ([(b"a", b"\x00\xff\n")], b"\x00\xff\n"),
            ([], b"0"),
        ],
    )
    def test_batch(self, store: RowStore, changes: list[RowChange], expected: bytes | None) -> None:
        """A batch puts and deletes rows, and of several changes of one key the last one wins."""
        store.write([(b"a", b"0")])
        store.write(changes)
        assert store.get(b"a") == expected

    @pytest.mark.parametrize("key", [b"", b"\xff", b"\xff\x00"])
    def test_an_impossible_key_is_refused(self, store: RowStore, key: bytes) -> None:
        with pytest.raises(ValueError, match="nothing was written"):
            store.write([(b"a", b"1"), (key, b"2")])
        assert store.get(b"a") is None

    @pytest.mark.parametrize(
        ("start", "end", "options", "expected"),
        [
            (b"a", b"c", {}, [b"a", b"a\x00", b"a\xff", b"b", b"ba"]),
            (b"a", b"c", {"reverse": True}, [b"ba", b"b", b"a\xff", b"a\x00", b"a"]),
            (b"a\x00", b"b", {}, [b"a\x00", b"a\xff"]),
            (b"a\x01", b"bz", {"reverse": True}, [b"ba", b"b", b"a\xff"]),
            (b"a", b"c", {"limit": 2}, [b"a", b"a\x00"]),
            (b"a", b"c", {"limit": 2, "reverse": True}, [b"ba", b"b"]),
            (b"a", b"c", {"limit": 0}, []),
            (b"a", b"c", {"limit": 9}, [b"a", b"a\x00", b"a\xff", b"b", b"ba"]),
            (b"b", b"b", {}, []),
            (b"c", b"a", {}, []),
            (b"c", b"a", {"reverse": True}, []),
            (b"d", b"e", {}, []),
            (b"d", b"e", {"reverse": True}, []),
            (b"c", KEYS_END, {}, [b"c"]),
            (b"", b"a\x00", {"reverse": True}, [b"a", FORMAT_KEY]),
        ],
    )
    def test_a_scan_gives_the_rows_from_start_up_to_before_end_in_order_or_backwards(
        self,
        store: RowStore,
        start: bytes,
        end: bytes,
        options: dict[str, Any],
        expected: list[bytes],
    ) -> None:
        store.write(put(FEW_KEYS))
        assert [key for key, _ in store.scan(start, end, **options)] == expected

    @pytest.mark.parametrize("limit", [PAGE_ROWS - 1, PAGE_ROWS, PAGE_ROWS + 1, None])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_scan_of_many_rows_gives_each_of_them_once_in_either_direction_and_with_any_limit(
        self,
        store: RowStore,
        limit: int | None,
        reverse: bool,  # noqa: FBT001 - a column of the table
    ) -> None:
        store.write(put(MANY_KEYS))
        rows = list(store.scan(b"m", b"n", limit=limit, reverse=reverse))
        assert rows == [(key, key) for key in sorted(MANY_KEYS, reverse=reverse)[:limit]]

    @pytest.mark.parametrize("count", [0, 1, 4, 5, 20, 21, len(MANY_KEYS)])
    def test_each_row_comes_once_from_the_highest_down(self, store: RowStore, count: int) -> None:
        keys = MANY_KEYS[:count]
        store.write(put([*FEW_KEYS, *keys, b"n"]))
        assert list(highest_first(store, b"m", b"n")) == [(key, key) for key in reversed(keys)]

    def test_scan_shows_one_state(self, store: RowStore) -> None:
        store.write(put(MANY_KEYS))
        scan = store.scan(b"m", b"n")
        store.write([(key, None) for key in MANY_KEYS[::2]])
        store.write([(b"m%05d+" % number, b"") for number in range(len(MANY_KEYS))])

        assert [key for key, _ in scan] == MANY_KEYS

    @pytest.mark.parametrize(
        ("prefix", "expected"),
        [(b"a", FEW_KEYS[:3]), (b"a\xff", [b"a\xff"]), (b"b", [b"b", b"ba"]), (b"z", [])],
    )
    def test_prefix(self, store: RowStore, prefix: bytes, expected: list[bytes]) -> None:
        """A scan up to the end of a prefix gives the rows of the prefix and no others."""
        store.write(put(FEW_KEYS))
        assert [key for key, _ in store.scan(prefix, prefix_end(prefix))] == expected

    def test_the_end_of_the_empty_prefix_is_the_end_of_all_keys(self, store: RowStore) -> None:
        store.write(put(FEW_KEYS))
        assert [key for key, _ in store.scan(b"", prefix_end(b""))] == [FORMAT_KEY, *FEW_KEYS]

    def test_digest_is_of_the_rows_alone(self, store: RowStore) -> None:
        store.write(put(FEW_KEYS))
        before = digest(store)
        store.write([(b"a", None), (b"b", b"other"), (b"z", b"")])
        between = digest(store)
        store.write([(b"z", None), (b"b", b"b"), (b"a", b"a")])

        assert digest(store) == before != between

    def test_reader_refreshes(self, store: RowStore, reader: RowReader) -> None:
        """A reader shows what was written before its refresh."""
        store.write([(b"a", b"1"), (b"b", b"2")])
        reader.refresh()
        seen = digest(reader)
        store.write([(b"a", None), (b"c", b"3")])

        assert digest(reader) == seen
        reader.refresh()
        assert digest(reader) == digest(store) != seen

    def test_reader_refreshes_for_nothing(self, store: RowStore, reader: RowReader) -> None:
        """Refreshing without news changes nothing."""
        reader.refresh()
        reader.refresh()
        assert digest(reader) == digest(store)

    def test_reader_shows_whole_batches(self, store: RowStore, reader: RowReader) -> None:
        batches = [[(key, b"%d" % number) for key in MANY_KEYS] for number in range(100)]
        store.write(batches[0])
        seen = set()
        with ThreadPoolExecutor(1) as writer:
            writing = [writer.submit(store.write, batch) for batch in batches]
            while not all(each.done() for each in writing):
                reader.refresh()
                seen.add(frozenset(value for _, value in reader.scan(b"m", b"n")))

        assert {len(values) for values in seen} <= {1}

    def test_scan_outlives_a_refresh(self, store: RowStore, reader: RowReader) -> None:
        """A scan that began before a refresh goes on in the older state."""
        store.write(put(MANY_KEYS))
        reader.refresh()
        scan = reader.scan(b"m", b"n")
        store.write([(key, None) for key in MANY_KEYS])
        reader.refresh()

        assert list(reader.scan(b"m", b"n")) == []
        assert [key for key, _ in scan] == MANY_KEYS

    @pytest.mark.parametrize(
        "use",
        [
            lambda rows: rows.get(b"a"),
            lambda rows: rows.scan(b"a", b"b"),
            lambda rows: rows.refresh(),
            lambda rows: rows.__enter__().get(b"a"),
        ],
    )
    def test_after_close_everything_is_refused_and_closing_again_is_not(
        self, store: RowStore, reader: RowReader, use: Callable[[RowReader], object]
    ) -> None:
        reader.close()
        reader.close()
        store.close()
        store.close()
        with pytest.raises(StoreClosedError):
            use(reader)
        with pytest.raises(StoreClosedError):
            use(store)

    def test_a_write_after_close_is_refused_not_lost(self, store: RowStore) -> None:
        store.close()
        with pytest.raises(StoreClosedError):
            store.write([(b"a", b"1")])

    def test_scan_never_ends_early(self, store: RowStore) -> None:
        store.write(put(MANY_KEYS))
        scan = store.scan(b"m", b"n")
        seen = [key for key, _ in islice(scan, 3)]
        store.close()
        try:
            seen += [key for key, _ in scan]
        except StoreClosedError:
            return
        assert seen == MANY_KEYS
