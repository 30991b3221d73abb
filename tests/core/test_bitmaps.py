"""Bitmaps: one form for each set of rows, and no bytes from outside reach the library unchecked."""

import random
import struct
from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from ledger.core.rows.bitmaps import (
    CONTAINERS_MAX,
    ROW_MAX,
    TOO_MANY,
    bytes_of,
    empty,
    fault_of,
    rows_from,
    rows_in,
)
from tests.core.bitmap_writer import written

MUTATIONS = 20_000
SPANS = st.builds(
    lambda key, start, count: range((key << 16) + start, (key << 16) + start + count),
    st.integers(0, 5) | st.sampled_from([CONTAINERS_MAX - 1]),
    st.integers(0, 9) | st.sampled_from([30_000]),
    st.sampled_from([1, 2, 3, 4, 7, 300, 4_096, 4_097, 30_000]),
)
SETS = st.builds(
    lambda spans, some, step: {*some, *(row for span in spans for row in span[::step])},
    st.lists(SPANS, max_size=5),
    st.sets(st.integers(0, 40) | st.integers(0, ROW_MAX), max_size=20),
    st.sampled_from([1, 1, 2, 3]),
)


@given(rows=SETS)
@settings(deadline=None, max_examples=60)
def test_bytes_are_the_smallest_form_and_give_the_same_rows(rows: set[int]) -> None:
    data = bytes_of(BitMap(rows))

    assert data == written(rows)
    assert rows_in(data) == BitMap(rows)
    assert not rows or fault_of(data) == ""


def optimized(rows: BitMap) -> BitMap:
    rows.run_optimize()
    return rows


WAYS: dict[str, Callable[[BitMap], BitMap]] = {
    "one by one": lambda rows: BitMap(list(rows)),
    "from runs": lambda rows: BitMap().union(*(BitMap(range(row, row + 1)) for row in rows)),
    "taken from all": lambda rows: (every := BitMap(range(1 << 20))) - (every - rows),
    "turned over twice": lambda rows: rows.flip(0, 1 << 20).flip(0, 1 << 20),
    "moved there and back": lambda rows: rows.shift(70_000).shift(-70_000),
    "made small before": optimized,
    "grown and shrunk": lambda rows: (rows | BitMap(range(5_000))) - (BitMap(range(5_000)) - rows),
}


@pytest.mark.parametrize("way", WAYS)
@given(rows=st.sets(st.integers(0, 30), min_size=1) | SETS.filter(lambda rows: len(rows) < 300))
@settings(deadline=None, max_examples=20)
def test_bytes_do_not_depend_on_how_a_set_came_about(way: str, rows: set[int]) -> None:
    within = BitMap(row for row in rows if row < 1 << 20)

    assert bytes_of(WAYS[way](within.copy())) == written(within)


def test_a_set_stays_as_it_is_when_it_is_written() -> None:
    rows = BitMap([1, 2, 3, 5])
    before = rows.serialize()
    bytes_of(rows)

    assert rows.serialize() == before


@pytest.mark.parametrize(("first", "count"), [(0, 0), (5, -1), (5, 1), (65_530, 20)])
def test_neighbouring_rows_by_their_first(first: int, count: int) -> None:
    assert list(rows_from(first, count)) == list(range(first, first + count))


def test_no_rows_are_no_bytes() -> None:
    assert (bytes_of(empty()), rows_in(b"")) == (b"", BitMap())


def plain(*containers: tuple[int, int, bytes], places: list[int] | None = None) -> bytes:
    """Return a bitmap without runs of (key, rows, body), at any places."""
    count = len(containers)
    at, found = 8 + 8 * count, []
    for _, _, body in containers:
        found.append(at)
        at += len(body)
    return (
        struct.pack("<II", 12346, count)
        + b"".join(struct.pack("<HH", key, rows - 1) for key, rows, _ in containers)
        + struct.pack(f"<{count}I", *(places or found))
        + b"".join(body for *_, body in containers)
    )


def with_runs(key: int, rows: int, *runs: tuple[int, int]) -> bytes:
    """Return a bitmap of one container of runs: the first row of each, and how many follow."""
    pairs = b"".join(struct.pack("<HH", *run) for run in runs)
    head = struct.pack("<HHBHH", 12347, 0, 1, key, rows - 1)
    return head + struct.pack("<H", len(runs)) + pairs


ONE = struct.pack("<H", 7)
TWO = struct.pack("<HH", 7, 9)
GOOD = plain((0, 2, TWO))
BITS = b"\xff" * 600 + bytes(8_192 - 600)
DAMAGED = {
    "nothing": (b"", "cut short"),
    "a cookie alone": (struct.pack("<I", 12346), "cut short"),
    "half a cookie": (b"\x3a\x30", "cut short"),
    "another cookie": (struct.pack("<II", 12345, 1), "must begin with"),
    "a cookie with runs and a count": (struct.pack("<II", 12346 | 1 << 16, 1), "must begin with"),
    "no container": (plain(), "must have containers"),
    "more containers than rows": (struct.pack("<II", 12346, CONTAINERS_MAX + 1), TOO_MANY),
    "containers out of order": (plain((1, 1, ONE), (0, 1, ONE)), "in ascending order"),
    "one container twice": (plain((1, 1, ONE), (1, 1, ONE)), "in ascending order"),
    "a row beyond all": (plain((CONTAINERS_MAX, 1, ONE)), TOO_MANY),
    "heads cut short": (GOOD[:10], "cut short"),
    "places cut short": (GOOD[:14], "cut short"),
    "rows cut short": (GOOD[:-1], "cut short"),
    "a place elsewhere": (plain((0, 2, TWO), places=[17]), "must lie at byte 16"),
    "rows out of order": (plain((0, 2, TWO[2:] + TWO[:2])), "container 0 of a bitmap is damaged"),
    "a row twice": (plain((0, 2, ONE + ONE)), "is damaged"),
    "the second is damaged": (plain((0, 1, ONE), (1, 2, ONE + ONE)), "container 1"),
    "bytes behind": (GOOD + b"\0", "1 bytes follow"),
    "fewer bits than rows": (plain((0, 4_801, BITS)), "is damaged"),
    "more bits than rows": (plain((0, 4_799, BITS)), "is damaged"),
    "no run": (with_runs(0, 1), "is damaged"),
    "fewer rows in runs": (with_runs(0, 3, (7, 1)), "is damaged"),
    "more rows in runs": (with_runs(0, 1, (7, 1)), "is damaged"),
    "runs out of order": (with_runs(0, 2, (9, 0), (7, 0)), "is damaged"),
    "runs that overlap": (with_runs(0, 4, (7, 1), (8, 1)), "is damaged"),
    "runs that touch": (with_runs(0, 2, (7, 0), (8, 0)), "is damaged"),
    "a run beyond its container": (with_runs(0, 2, (65_535, 1)), "is damaged"),
    "runs cut short": (with_runs(0, 2, (7, 1))[:-1], "cut short"),
    "a number of runs cut short": (with_runs(0, 2, (7, 1))[:-5], "cut short"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_bitmaps_are_refused(name: str) -> None:
    data, problem = DAMAGED[name]

    assert problem in fault_of(data)


def test_a_damaged_bitmap_has_no_rows() -> None:
    with pytest.raises(ValueError, match="1 bytes follow a bitmap"):
        rows_in(GOOD + b"\0")


@pytest.mark.parametrize(
    "data", [GOOD, plain((0, 4_800, BITS)), with_runs(32_767, 2, (65_534, 1))], ids=len
)
def test_bitmaps_of_other_writers_are_taken(data: bytes) -> None:
    assert fault_of(data) == ""
    assert rows_in(data).serialize() == data


def seeds() -> list[bytes]:
    """Return bitmaps with each kind of container, below and above four of them."""
    listed, runs, bits = range(0, 900, 3), range(65_536, 70_000), range(140_000, 160_000, 2)
    sets = [listed, listed, runs, bits, [*listed, *runs], [*listed, *runs, *bits]]
    many = [row + (key << 18) for key in range(6) for row in (1, 2, 5, 6, 7, 8, 9)]
    return [bytes_of(BitMap(rows)) for rows in (*sets, many, [*many, *range(1 << 17)])]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with a few changes, most of them at the head, where the lengths are."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(min(len(found), chance.choice([8, 60, len(found)])) or 1)
        change = chance.randrange(4)
        if change == 0:
            found[at : at + 1] = bytes([chance.randrange(256)])
        elif change == 1:
            found[at] ^= 1 << chance.randrange(8)
        elif change == 2:
            del found[at : at + chance.randint(1, 4)]
        else:
            found[at:at] = bytes(chance.choices([0, 1, 255], k=chance.randint(1, 4)))
        if not found:
            break
    return bytes(found)


def test_hostile_bytes_are_refused_or_read_as_the_library_reads_them() -> None:
    chance, taken = random.Random(41), 0  # noqa: S311 - a seed, no secret
    corpus = seeds()
    for _ in range(MUTATIONS):
        data = mutated(chance.choice(corpus), chance)
        if fault_of(data):
            continue
        taken += 1
        rows = rows_in(data)
        assert rows.max() <= ROW_MAX
        assert list(rows) == read(data)

    assert 0 < taken < MUTATIONS


def read(data: bytes) -> list[int]:
    """Return the rows of a valid bitmap, container by container and without the library."""
    (cookie,) = struct.unpack_from("<I", data)
    if cookie == 12346:
        (count,) = struct.unpack_from("<I", data, 4)
        at, flags = 8, 0
    else:
        count = (cookie >> 16) + 1
        at = 4 + (count + 7) // 8
        flags = int.from_bytes(data[4:at], "little")
    heads = [struct.unpack_from("<HH", data, at + 4 * number) for number in range(count)]
    at += 4 * count if cookie != 12346 and count < 4 else 8 * count
    found: list[int] = []
    for number, (key, most) in enumerate(heads):
        if flags >> number & 1:
            (runs,) = struct.unpack_from("<H", data, at)
            for run in range(runs):
                start, more = struct.unpack_from("<HH", data, at + 2 + 4 * run)
                found += range((key << 16) + start, (key << 16) + start + more + 1)
            at += 2 + 4 * runs
        elif most < 4_096:
            found += [(key << 16) + row for row in struct.unpack_from(f"<{most + 1}H", data, at)]
            at += 2 * (most + 1)
        else:
            bits = f"{int.from_bytes(data[at : at + 8_192], 'little'):b}"[::-1]
            found += [(key << 16) + row for row, bit in enumerate(bits) if bit == "1"]
            at += 8_192
    return found


@pytest.mark.parametrize("count", [1, 200, 65_535])
def test_a_bitmap_that_claims_much_costs_its_bytes_only(count: int) -> None:
    claims = struct.pack("<HH", 12347, count) + b"\xff" * 90_000
    began = process_time()
    for _ in range(20):
        assert fault_of(claims)

    assert process_time() - began < 2


def test_all_rows_that_a_file_can_have_are_a_few_bytes() -> None:
    data = bytes_of(rows_from(0, ROW_MAX))

    assert len(data) < 500_000
    assert fault_of(data) == ""
