"""The text of valid lists, as Hive writes and reads it: fields between colons, ids between commas.

Both lists have the form `hwm:minOpen:open:aborted`; a write id list has its table name in front.
Only txn lists write neighbouring ids as runs `a-b`, separately in each field. The reader accepts
the same texts as Hive's: trailing fields may be missing, and ids may have any order. The classes
of the lists check the numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final

from ledger.core.limits import LISTED_IDS_MAX, NUMBER_DIGITS_MAX, NUMBER_MAX

# The largest signed 64-bit number: as a least open id it means "no open id", as a high watermark
# "no bound".
ID_MAX: Final = NUMBER_MAX
RUN_LENGTH_MIN: Final = 5

Ids = tuple[int, ...]


def fields_text(hwm: int, min_open: int | None, open_text: str, aborted_text: str) -> str:
    """Return the four fields every list ends with."""
    return f"{hwm}:{ID_MAX if min_open is None else min_open}:{open_text}:{aborted_text}"


def ids_text(ids: Iterable[int]) -> str:
    """Return the ids one by one, as write id lists hold them."""
    return ",".join(map(str, ids))


def runs_text(ids: Iterable[int]) -> str:
    """Return the ids with five or more neighbours as `a-b`, as txn lists hold them."""
    # In a run of neighbours the id and its index grow together, so their difference is constant.
    runs = groupby(enumerate(ids), lambda pair: pair[1] - pair[0])
    return ",".join(run_text([member for _, member in run]) for _, run in runs)


def run_text(run: Sequence[int]) -> str:
    """Return one run of neighbours, joined only if it is long enough."""
    return f"{run[0]}-{run[-1]}" if len(run) >= RUN_LENGTH_MIN else ids_text(run)


def read_fields(
    fields: Sequence[str], read_list: Callable[[str, str], Ids]
) -> tuple[int, Ids, Ids, int | None]:
    """Return (hwm, open, aborted, min open) of two, three or four fields.

    Raises ValueError with the name of the wrong field.
    """
    if not 2 <= len(fields) <= 4:  # noqa: PLR2004 - the sentence below names both bounds
        text = ":".join(fields)
        raise ValueError(f"a valid list must be hwm:minOpen[:open[:aborted]], got '{text}'")
    open_text, aborted_text = (*fields[2:], "", "")[:2]
    min_open = read_id("min open", fields[1])
    return (
        read_id("hwm", fields[0]),
        read_list("open", open_text),
        read_list("aborted", aborted_text),
        None if min_open == ID_MAX else min_open,
    )


def read_id(field: str, text: str) -> int:
    """Return one non-negative id; ValueError names `field`."""
    if not (text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS_MAX):
        raise ValueError(f"field {field}: an id must be 0 to {ID_MAX}, got '{text}'")
    return int(text)


def read_ids(field: str, text: str) -> Ids:
    """Return ids written one by one, ascending; ValueError names `field`."""
    return tuple(sorted(read_id(field, part) for part in text.split(","))) if text else ()


def read_runs(field: str, text: str) -> Ids:
    """Return ids written one by one or as runs `a-b`, ascending; ValueError names `field`."""
    members: list[int] = []
    for part in text.split(",") if text else ():
        members.extend(read_run(field, part, LISTED_IDS_MAX - len(members)))
    return tuple(sorted(members))


def read_run(field: str, part: str, ids_max: int) -> range:
    """Return the ids of `7` or `3-9`, at most `ids_max` of them; ValueError names `field`."""
    first_text, dash, last_text = part.partition("-")
    first = read_id(field, first_text)
    last = read_id(field, last_text) if dash else first
    if first > last:
        raise ValueError(f"field {field}: the run '{part}' ends before it begins")
    if last - first >= ids_max:
        raise ValueError(
            f"field {field}: there must be {LISTED_IDS_MAX} ids at most, got more with '{part}'"
        )
    return range(first, last + 1)
