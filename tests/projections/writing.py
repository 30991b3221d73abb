"""A history of batches that is the same everywhere, and a process that writes it to a store.

`python -m tests.projections.writing ROOT LAST` goes on after the last batch that ROOT holds and
prints the number of each batch once it is written. It ends after batch LAST, and it often restarts
and sometimes rebuilds the store, as a follower may.
"""

import subprocess
import sys
from pathlib import Path
from random import Random

from projections.rows.packing import pack
from projections.store.port import FORMAT_VERSION, Row, RowChange, RowReader, format_stamp
from projections.store.rocks import RocksLimits
from projections.store.rocks_store import RocksStore

NUMBER_KEY = b"number"
"""Holds the number of the latest batch, as projections keep their position."""

TINY_LIMITS = RocksLimits(write_buffer_bytes=64 << 10, manifest_bytes_max=1 << 10)
"""Tables come and go every few batches, and manifests every few dozen."""

RESTART_EVERY = 53
REBUILD_EVERY = 211


def batch(number: int) -> list[RowChange]:
    """Return the changes of one batch: rows put, rows deleted, and its number."""
    chance = Random(number)  # noqa: S311 - the same in every process, not secret
    changes: list[RowChange] = [
        (pack(b"r", chance.randrange(2000)), chance.choice([None, chance.randbytes(200)]))
        for _ in range(chance.randrange(60))
    ]
    return [*changes, (NUMBER_KEY, b"%d" % number)]


class History:
    """The rows that a store must hold after any number of batches, going up."""

    def __init__(self) -> None:
        self._number = 0
        self._rows: dict[bytes, bytes | None] = dict([format_stamp(FORMAT_VERSION)])

    def rows_after(self, number: int) -> list[Row]:
        """Return the rows after batch `number`, which is not below the one asked for before."""
        assert number >= self._number, f"batch {self._number} was there, now it is {number}"
        while self._number < number:
            self._number += 1
            self._rows.update(batch(self._number))
        return sorted((key, value) for key, value in self._rows.items() if value is not None)


def writing_process(root: Path, last: int) -> subprocess.Popen[str]:
    """Start a process that writes the history up to batch `last` to the store at `root`."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, str(root), str(last)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )


def number_of(rows: RowReader) -> int:
    """Return the number of the latest batch, 0 if there is none."""
    return int(rows.get(NUMBER_KEY) or b"0")


def main(root: Path, last: int) -> None:
    """Write on to batch `last`."""
    store = RocksStore.open(root, limits=TINY_LIMITS)
    for number in range(number_of(store) + 1, last + 1):
        store.write(batch(number))
        print(number, flush=True)  # noqa: T201 - the reading process waits for it
        if number % REBUILD_EVERY == 0:
            store.close()
            store = rebuilt(root, number)
        elif number % RESTART_EVERY == 0:
            store.close()
            store = RocksStore.open(root, limits=TINY_LIMITS)
    store.close()


def rebuilt(root: Path, number: int) -> RocksStore:
    """Return a new store of the batches up to `number`, published in place of the old one."""
    store = RocksStore.rebuild(root, limits=TINY_LIMITS)
    for earlier in range(1, number + 1):
        store.write(batch(earlier))
    store.publish()
    return store


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
