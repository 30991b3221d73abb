"""A reader beside a busy writer shows whole batches, all that were written, and nothing else.

The writer of `tests.projections.writing` flushes, compacts, changes manifests, restarts and
rebuilds all the time, and is killed now and then. After every refresh all rows are compared with
what the history says, and a scan of the refresh before is read to its end.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import pytest

from projections.store.port import KEYS_END
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from tests.projections.writing import NUMBER_KEY, History, number_of, writing_process

LAST = 150
"""The last batch of a history that is short enough to know all its states."""


class Watch:
    """A reader of the store at `root`, and what it must show."""

    def __init__(self, root: Path) -> None:
        self.reader = RocksReader.open(root)
        self.history = History()
        self.old_rows = self.history.rows_after(number_of(self.reader))
        self.old_scan = self.reader.scan(b"", KEYS_END)

    def close(self) -> None:
        self.reader.close()

    def difference(self, reported: int) -> str:
        """Refresh after batch `reported` was written; say what is wrong, nothing if all is well."""
        self.reader.refresh()
        number = number_of(self.reader)
        rows = self.history.rows_after(number)
        checks = {
            f"stale: shows {number} after {reported}": number < reported,
            f"torn at {number}": list(self.reader.scan(b"", KEYS_END)) != rows,
            f"a row of its own at {number}": any(self.reader.get(k) != v for k, v in rows[::50]),
            f"an old scan changed at {number}": list(self.old_scan) != self.old_rows,
        }
        self.old_rows = rows
        self.old_scan = self.reader.scan(b"", KEYS_END)
        return ", ".join(wrong for wrong, is_so in checks.items() if is_so)


def differences(root: Path, *, kills: int, batches: int) -> list[str]:
    """Watch writers that are killed after `batches` batches each; return all that was wrong."""
    RocksStore.open(root).close()
    with closing(Watch(root)) as watch:
        found = chain.from_iterable(
            differences_until_killed(root, watch, batches) for _ in range(kills)
        )
        return [wrong for wrong in found if wrong]


def differences_until_killed(root: Path, watch: Watch, batches: int) -> list[str]:
    """Watch one writer until it has reported `batches` batches, then kill it."""
    with writing_process(root, last=10**6) as writer:
        assert writer.stdout
        found = [watch.difference(int(number)) for number in islice(writer.stdout, batches)]
        writer.kill()
    return found


def test_every_refresh_shows_a_state_the_store_really_had(tmp_path: Path) -> None:
    assert differences(tmp_path / "store", kills=3, batches=120) == []


def test_every_thread_of_a_reader_sees_whole_batches(tmp_path: Path) -> None:
    root = tmp_path / "store"
    RocksStore.open(root).close()
    history = History()
    expected = [history.rows_after(number) for number in range(LAST + 1)]

    def is_whole(reader: RocksReader) -> bool:
        reader.refresh()
        rows = list(reader.scan(b"", KEYS_END))
        return rows == expected[int(dict(rows).get(NUMBER_KEY, b"0"))]

    with writing_process(root, LAST), RocksReader.open(root) as reader, ThreadPoolExecutor(4) as do:
        assert all(do.map(is_whole, [reader] * 400))


@pytest.mark.slow
def test_thousands_of_refreshes_show_states_the_store_really_had(tmp_path: Path) -> None:
    assert differences(tmp_path / "store", kills=40, batches=200) == []
