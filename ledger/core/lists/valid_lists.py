"""Valid lists: the txns, and the write ids of a table, that a reader may see.

Both are Hive's: a high watermark less exceptions, which are open or aborted. An id is valid iff it
is at or below the high watermark and no exception. Lists are values, so later events do not change
them. `visibility` makes the lists.

Two write id lists of a table compare as in Hive's TxnIdUtils: the newer one sees an id that the
other does not. Open and aborted exceptions count alike, so readers of equal lists see the same
rows. Lists made before and after aborted ids were forgotten differ, although they may cover the
same data.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from operator import lt
from typing import Self

from ledger.core.lists.text import (
    ID_MAX,
    Ids,
    fields_text,
    ids_text,
    read_fields,
    read_ids,
    read_runs,
    runs_text,
)

NO_TABLE_TEXT = "null"


class RangeResponse(Enum):
    """How many ids of a range have a property."""

    NONE = 0
    SOME = 1
    ALL = 2


class ValidIdList:
    """A high watermark less exceptions: the part that txn lists and write id lists share.

    `open` and `aborted` ascend, share no id, and stay at or below `hwm`. `min_open` may lie above
    `hwm`, because Hive keeps it when it cuts a list (HIVE-22122). Every look-up is a binary search.
    """

    __slots__ = ()

    hwm: int
    open: Ids
    aborted: Ids
    min_open: int | None

    def __post_init__(self) -> None:
        """Raise ValueError with the name of the field if this is no legal list."""
        if not 0 <= self.hwm <= ID_MAX:
            raise ValueError(f"field hwm: must be 0 to {ID_MAX}, got {self.hwm}")
        if self.min_open is not None and not 0 < self.min_open < ID_MAX:
            raise ValueError(f"field min open: must be 1 to {ID_MAX - 1}, got {self.min_open}")
        check_exceptions("open", self.open, self.hwm)
        check_exceptions("aborted", self.aborted, self.hwm)
        if self.open and self.aborted and not set(self.aborted).isdisjoint(self.open):
            both = sorted(set(self.aborted).intersection(self.open))
            raise ValueError(f"fields open and aborted: both contain {both[0]}")

    def is_valid(self, member: int) -> bool:
        """Tell whether the reader may see this id."""
        return (
            member <= self.hwm
            and not contains(self.open, member)
            and not contains(self.aborted, member)
        )

    def is_aborted(self, member: int) -> bool:
        """Tell whether this id is an aborted exception."""
        return contains(self.aborted, member)

    def range_valid(self, first: int, last: int) -> RangeResponse:
        """Tell how many of the ids `first` to `last`, both included, the reader may see."""
        top = min(last, self.hwm)
        exceptions = count(self.open, first, top) + count(self.aborted, first, top)
        return response(top - first + 1 - exceptions, first, last)

    def range_aborted(self, first: int, last: int) -> RangeResponse:
        """Tell how many of the ids `first` to `last`, both included, are aborted exceptions."""
        return response(count(self.aborted, first, last), first, last)

    def exceptions(self) -> Ids:
        """Return open and aborted exceptions together, ascending."""
        return tuple(sorted(self.open + self.aborted))


@dataclass(frozen=True, slots=True)
class ValidTxnList(ValidIdList):
    """The txns a reader may see (Hive's ValidReadTxnList)."""

    hwm: int
    open: Ids
    aborted: Ids
    min_open: int | None

    def text(self) -> str:
        """Return `hwm:minOpen:open:aborted`, with five or more neighbours as a run `a-b`."""
        return fields_text(self.hwm, self.min_open, runs_text(self.open), runs_text(self.aborted))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the list of a text; the empty text makes every txn valid.

        Raises ValueError with the name of the wrong field.
        """
        if not text:
            return cls(ID_MAX, (), (), None)
        return cls(*read_fields(text.split(":"), read_runs))


@dataclass(frozen=True, slots=True)
class ValidWriteIdList(ValidIdList):
    """The write ids of one table a reader may see (Hive's ValidReaderWriteIdList).

    `table` is `database.table` as given, None if the list names no table.
    """

    table: str | None
    hwm: int
    open: Ids
    aborted: Ids
    min_open: int | None

    def __post_init__(self) -> None:
        """Raise ValueError with the name of the field if this is no legal list."""
        name = self.table
        # Hive escapes nothing: ':' separates the fields, '$' the lists of a txn.
        if name is not None and (not name or ":" in name or "$" in name or is_no_table(name)):
            raise ValueError(
                f"field table: must be a name other than 'null', without ':' and '$', got '{name}'"
            )
        ValidIdList.__post_init__(self)

    def is_valid_base(self, write_id: int) -> bool:
        """Tell whether the reader may use a compacted file whose highest write id is this one."""
        return write_id <= self.hwm and (self.min_open is None or write_id < self.min_open)

    def for_compactor(self) -> "ValidCompactorWriteIdList":
        """Return the ids that a compaction may touch: all below the first open one."""
        first_open = min((*self.open[:1], self.min_open or ID_MAX + 1))
        hwm = min(self.hwm, first_open - 1)
        aborted = self.aborted[: bisect_right(self.aborted, hwm)]
        return ValidCompactorWriteIdList(self.table, hwm, (), aborted, self.min_open)

    def for_cleaner(self) -> "ValidCleanerWriteIdList":
        """Return the same list with the rules of a cleaner of files."""
        return ValidCleanerWriteIdList(self.table, self.hwm, self.open, self.aborted, self.min_open)

    def text(self) -> str:
        """Return `table:hwm:minOpen:open:aborted`; write ids are never joined to runs."""
        name = NO_TABLE_TEXT if self.table is None else self.table
        ids = fields_text(self.hwm, self.min_open, ids_text(self.open), ids_text(self.aborted))
        return f"{name}:{ids}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the list of a text; the empty text names no table and makes every id valid.

        Raises ValueError with the name of the wrong field.
        """
        if not text:
            return cls(None, ID_MAX, (), (), None)
        name, colon, fields = text.partition(":")
        if not colon:
            raise ValueError(
                f"a valid list must be table:hwm:minOpen[:open[:aborted]], got '{text}'"
            )
        return cls(None if is_no_table(name) else name, *read_fields(fields.split(":"), read_ids))


@dataclass(frozen=True, slots=True)
class ValidCompactorWriteIdList(ValidWriteIdList):
    """The ids a compaction may merge: no id at or below `hwm` can change any more."""

    def range_valid(self, first: int, last: int) -> RangeResponse:
        """Return ALL or NONE: a file is merged whole or not at all, without its aborted ids."""
        if first > last:
            raise AssertionError(f"the range {first} to {last} is empty")
        return RangeResponse.ALL if last <= self.hwm else RangeResponse.NONE


@dataclass(frozen=True, slots=True)
class ValidCleanerWriteIdList(ValidWriteIdList):
    """The ids a cleaner may judge: it leaves alone every file that reaches above `hwm`."""

    def range_valid(self, first: int, last: int) -> RangeResponse:
        """Return the reader's answer, but NONE for a range that reaches above `hwm`."""
        if last > self.hwm:
            return RangeResponse.NONE
        return ValidWriteIdList.range_valid(self, first, last)


def check_exceptions(field: str, ids: Sequence[int], hwm: int) -> None:
    """Raise ValueError unless the ids ascend strictly within 1 to `hwm`."""
    if not ids:
        return
    if not all(map(lt, ids, islice(ids, 1, None))):
        raise ValueError(f"field {field}: the ids must ascend without repeats")
    if ids[0] < 1 or ids[-1] > hwm:
        raise ValueError(
            f"field {field}: the ids must lie in 1 to hwm {hwm}, got {ids[0]} to {ids[-1]}"
        )


def contains(ids: Sequence[int], member: int) -> bool:
    """Tell whether ascending ids contain an id."""
    at = bisect_left(ids, member)
    return at < len(ids) and ids[at] == member


def count(ids: Sequence[int], first: int, last: int) -> int:
    """Return how many ascending ids lie from `first` to `last`, both included."""
    return max(0, bisect_right(ids, last) - bisect_left(ids, first))


def response(found: int, first: int, last: int) -> RangeResponse:
    """Return Hive's word for `found` ids of a range; a negative number counts as zero."""
    if first > last:
        raise AssertionError(f"the range {first} to {last} is empty")
    if found <= 0:
        return RangeResponse.NONE
    return RangeResponse.ALL if found == last - first + 1 else RangeResponse.SOME


def is_no_table(name: str) -> bool:
    """Tell whether a name stands for a list without a table."""
    return name.lower() == NO_TABLE_TEXT


def compare(a: ValidWriteIdList, b: ValidWriteIdList) -> int:
    """Return 1 if `a` is newer, -1 if `b` is, 0 if both make the same write ids valid.

    Lists of different tables order by name; case does not count.
    """
    a_name, b_name = table_key(a), table_key(b)
    if a_name != b_name:
        return 1 if a_name > b_name else -1
    a_ids, b_ids = a.exceptions(), b.exceptions()
    for a_id, b_id in zip(a_ids, b_ids, strict=False):
        if a_id != b_id:
            # The smaller id is an exception of one list only, so the other list is newer.
            return sign(a_id - b_id)
    if len(a_ids) == len(b_ids):
        return sign(a.hwm - b.hwm)
    if len(a_ids) < len(b_ids):
        return compare_to_longer(a.hwm, b_ids[len(a_ids) :], b.hwm)
    return -compare_to_longer(b.hwm, a_ids[len(b_ids) :], a.hwm)


def compare_to_longer(hwm: int, further: Sequence[int], longer_hwm: int) -> int:
    """Compare a list with one that has the same exceptions and then `further` ones."""
    # Below the first further exception both lists agree on every id.
    if hwm != further[0] - 1:
        return sign(hwm - (further[0] - 1))
    has_no_more = further[-1] == longer_hwm and further[-1] - further[0] == len(further) - 1
    return 0 if has_no_more else -1


def table_key(ids: ValidWriteIdList) -> str:
    """Return the name of the table in the form in which names are compared."""
    return (ids.table or NO_TABLE_TEXT).lower()


def sign(number: int) -> int:
    """Return -1 for a negative number, 0 for zero, else 1."""
    return (number > 0) - (number < 0)
