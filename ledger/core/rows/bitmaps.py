"""Bitmaps: sets of row numbers of one file, as bytes in RoaringBitmap's portable form of 32 bits.

The form is public (github.com/RoaringBitmap/RoaringFormatSpec). Bytes of a command come from any
program, and the library that reads them trusts their headers. So each part is checked first, and a
bitmap that names more rows than a file can have is refused. A written bitmap is a function of its
rows: every container has its smallest form.
"""

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyroaring import BitMap

    RowSet = BitMap
else:
    RowSet = Any

ROW_MAX: Final = (1 << 31) - 1
WITHOUT_RUNS: Final = 12346
WITH_RUNS: Final = 12347
SHORT: Final = struct.Struct("<H")
WORD: Final = struct.Struct("<I")
PAIR: Final = struct.Struct("<HH")
CONTAINERS_MAX: Final = (ROW_MAX >> 16) + 1
# A form with runs has the places of its containers only from this number of containers on.
PLACES_FROM: Final = 4
ARRAY_MAX: Final = 4096
BITS: Final = 1 << 16
BITSET_BYTES: Final = BITS // 8
TOO_MANY: Final = f"a row number must be {ROW_MAX} at most"


def empty() -> RowSet:
    """Return a set of row numbers that has none yet."""
    from pyroaring import BitMap  # noqa: PLC0415 - slow to load, and needed for tables with marks

    return BitMap()


def rows_from(first: int, count: int) -> RowSet:
    """Return `count` rows from number `first` on."""
    from pyroaring import BitMap  # noqa: PLC0415 - see `empty`

    return BitMap(range(first, first + count)) if count > 0 else BitMap()


def rows_in(data: bytes) -> RowSet:
    """Return the rows of a bitmap, b"" for none; raises ValueError for any other bytes."""
    from pyroaring import BitMap  # noqa: PLC0415 - see `empty`

    if not data:
        return BitMap()
    problem = fault_of(data)
    if problem:
        raise ValueError(problem)
    found: RowSet = BitMap.deserialize(data)
    return found


def bytes_of(rows: RowSet) -> bytes:
    """Return the bytes of a set of rows, b"" for an empty one; equal sets have equal bytes."""
    if not rows:
        return b""
    same = rows.copy()
    same.run_optimize()
    found: bytes = same.serialize()
    keys = undecided_keys(found)
    for key in keys:
        every = rows_from(key * BITS, BITS)
        again = type(rows)((rows & every).to_array())
        again.run_optimize()
        same = (same - every) | again
    return same.serialize() if keys else found


def undecided_keys(data: bytes) -> list[int]:
    """Return the containers of a written bitmap that may be runs only because they were before.

    A list of 2 n + 1 rows is as long as n runs. Then the library keeps the form that it has, so
    such a container is to be made anew from its rows.
    """
    (cookie,) = WORD.unpack_from(data)
    if cookie & 0xFFFF != WITH_RUNS:
        return []
    count = (cookie >> 16) + 1
    runs = data[WORD.size : (start := WORD.size + (count + 7) // 8)]
    heads = PAIR.iter_unpack(data[start : start + count * PAIR.size])
    return [
        key
        for number, (key, most) in enumerate(heads)
        if runs[number // 8] >> number % 8 & 1 and most < ARRAY_MAX and most % 2 == 0
    ]


def fault_of(data: bytes) -> str:
    """Return what is wrong with the bytes of a bitmap that is not empty, "" if all is well.

    The work is bounded by the number of bytes.
    """
    try:
        return Reading(data).fault()
    except (struct.error, IndexError):
        return f"a bitmap of {len(data)} bytes is cut short"


class Reading:
    """One look over the bytes of a bitmap."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def fault(self) -> str:
        """Return what is wrong, "" if all is well."""
        (cookie,) = WORD.unpack_from(self._data)
        self._at = WORD.size
        if cookie == WITHOUT_RUNS:
            (count,) = WORD.unpack(self._take(WORD.size))
            return self._fault_of(count, b"") if count <= CONTAINERS_MAX else TOO_MANY
        if cookie & 0xFFFF == WITH_RUNS:
            count = (cookie >> 16) + 1
            return self._fault_of(count, self._take((count + 7) // 8))
        return f"a bitmap must begin with {WITHOUT_RUNS} or {WITH_RUNS}, got {cookie}"

    def _fault_of(self, count: int, runs: bytes) -> str:
        heads = list(PAIR.iter_unpack(self._take(count * PAIR.size)))
        if not heads or any(key >= after for (key, _), (after, _) in pairwise(heads)):
            return "a bitmap must have containers, in ascending order"
        if heads[-1][0] >= CONTAINERS_MAX:
            return TOO_MANY
        places = self._places(count) if not runs or count >= PLACES_FROM else ()
        for number, (_, most) in enumerate(heads):
            if places and places[number] != self._at:
                return f"container {number} of a bitmap must lie at byte {self._at}"
            is_run = bool(runs) and bool(runs[number // 8] >> number % 8 & 1)
            if not (self._is_run_container(most + 1) if is_run else self._is_container(most + 1)):
                return f"container {number} of a bitmap is damaged"
        left = len(self._data) - self._at
        return f"{left} bytes follow a bitmap" if left else ""

    def _places(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self._take(count * WORD.size))

    def _is_container(self, rows: int) -> bool:
        if rows <= ARRAY_MAX:
            numbers = struct.unpack(f"<{rows}H", self._take(rows * SHORT.size))
            return all(before < after for before, after in pairwise(numbers))
        return int.from_bytes(self._take(BITSET_BYTES)).bit_count() == rows

    def _is_run_container(self, rows: int) -> bool:
        (count,) = SHORT.unpack(self._take(SHORT.size))
        found, free = 0, 0
        for start, more in PAIR.iter_unpack(self._take(count * PAIR.size)):
            # Runs that touch each other are one run in the smallest form.
            if start < free or start + more >= BITS:
                return False
            found, free = found + more + 1, start + more + 2
        return found == rows

    def _take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise IndexError(size)
        self._at += size
        return found
