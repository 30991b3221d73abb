"""A second writer of bitmaps, straight from the public format: the smallest form of each container.

A list takes two bytes a row, a run four, a set of bits 8,192. If a list and runs are equally long,
the list is written.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

LISTED_MAX = 4_096
BITS_BYTES = 8_192


def written(rows: Iterable[int]) -> bytes:
    """Return the bytes of a set of rows, b"" for an empty one."""
    found = [
        (key, [row & 0xFFFF for row in members])
        for key, members in groupby(sorted(set(rows)), lambda row: row >> 16)
    ]
    if not found:
        return b""
    bodies = [container(members) for _, members in found]
    heads = b"".join(struct.pack("<HH", key, len(members) - 1) for key, members in found)
    flags = sum(is_run << number for number, (is_run, _) in enumerate(bodies))
    if flags:
        start = struct.pack("<HH", 12347, len(found) - 1)
        start += flags.to_bytes((len(found) + 7) // 8, "little")
    else:
        start = struct.pack("<II", 12346, len(found))
    places = b""
    if not flags or len(found) >= 4:
        at = len(start) + len(heads) + 4 * len(found)
        for _, body in bodies:
            places += struct.pack("<I", at)
            at += len(body)
    return start + heads + places + b"".join(body for _, body in bodies)


def container(members: Sequence[int]) -> tuple[bool, bytes]:
    """Return whether the smallest form of a container is runs, and its bytes."""
    runs = runs_of(members)
    plain = min(2 * len(members), BITS_BYTES)
    if 2 + 4 * len(runs) < plain:
        pairs = (struct.pack("<HH", first, last - first) for first, last in runs)
        return True, struct.pack("<H", len(runs)) + b"".join(pairs)
    if len(members) <= LISTED_MAX:
        return False, struct.pack(f"<{len(members)}H", *members)
    return False, sum(1 << row for row in members).to_bytes(BITS_BYTES, "little")


def runs_of(members: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last row of each run of neighbours."""
    breaks = [at for at, (row, after) in enumerate(pairwise(members), 1) if after > row + 1]
    return [
        (members[start], members[stop - 1]) for start, stop in pairwise([0, *breaks, len(members)])
    ]
