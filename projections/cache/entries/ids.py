"""Write ids in a cache: the ids that a reader's list covers, and the ids that have ended.

Everything here depends on the set of valid ids alone, never on the spelling of a list: open and
aborted exceptions count alike, and exceptions at the top of a list are the same as a lower mark.
Nothing expands a list into a set: a mark may be the largest number there is.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.lists.valid_lists import ValidWriteIdList, contains


class ReaderIds(NamedTuple):
    """The write ids valid for a reader; equal sets have one form.

    An id is valid if it is at most `hwm` and no exception; `hwm` itself is valid, or 0.
    """

    hwm: int
    exceptions: tuple[int, ...]

    @classmethod
    def of(cls, listed: ValidWriteIdList) -> "ReaderIds":
        """Return the set of a list: equal for lists that make the same ids valid."""
        return lowered(listed.hwm, listed.exceptions())

    def sees(self, write_id: int) -> bool:
        """Return whether a write id is valid; 0 stands for changes that every reader sees."""
        return write_id <= self.hwm and not contains(self.exceptions, write_id)

    def covers(self, other: "ReaderIds") -> bool:
        """Return whether every id valid in `other` is valid here."""
        if other.hwm > self.hwm:
            return False
        shared = self.exceptions[: bisect_right(self.exceptions, other.hwm)]
        return all(contains(other.exceptions, write_id) for write_id in shared)

    def joined(self, other: "ReaderIds") -> "ReaderIds":
        """Return the set of every id valid here or in `other`."""
        mine = {write_id for write_id in self.exceptions if not other.sees(write_id)}
        others = {write_id for write_id in other.exceptions if not self.sees(write_id)}
        return ReaderIds(max(self.hwm, other.hwm), tuple(sorted(mine | others)))

    def without(self, write_id: int) -> "ReaderIds":
        """Return the set less one id."""
        if not 0 < write_id <= self.hwm or contains(self.exceptions, write_id):
            return self
        if write_id < self.hwm:
            return ReaderIds(self.hwm, tuple(sorted((*self.exceptions, write_id))))
        return lowered(self.hwm - 1, self.exceptions)


def lowered(hwm: int, exceptions: tuple[int, ...]) -> ReaderIds:
    """Return a set whose mark may be an exception itself."""
    end = len(exceptions)
    while end and exceptions[end - 1] == hwm:
        end -= 1
        hwm -= 1
    return ReaderIds(hwm, exceptions[:end])


NO_IDS = ReaderIds(0, ())


@dataclass(slots=True)
class IdStates:
    """The states of the write ids of one table, from the log.

    Up to `hwm` an id is open, aborted, or committed. `open` and `aborted` hold the txn of each, 0
    if the log has not brought it. An id only ever goes from open to committed or to aborted.
    """

    hwm: int = 0
    open: dict[int, int] = field(default_factory=dict)
    aborted: dict[int, int] = field(default_factory=dict)

    def allocate(self, write_id: int, txn: int) -> None:
        """Record that an id was given to a txn; ids skipped on the way to it are open too.

        0 is no id: an external table has no ids, and nothing is recorded.
        """
        if write_id > self.hwm:
            self.open.update(dict.fromkeys(range(self.hwm + 1, write_id), 0))
            self.hwm = write_id
            self.open[write_id] = txn
        elif txn and write_id in self.open:
            self.open[write_id] = txn

    def end(self, write_id: int, txn: int, *, committed: bool) -> None:
        """Record the end of an id, known before or not; a second end changes nothing."""
        self.allocate(write_id, txn)
        if self.open.pop(write_id, None) is not None and not committed:
            self.aborted[write_id] = txn

    def forget(self, txn: int) -> None:
        """Record that an aborted txn left no data, so that later lists show its id as valid."""
        for write_id in [write_id for write_id, holder in self.aborted.items() if holder == txn]:
            del self.aborted[write_id]

    def clean(self, ids: ReaderIds) -> None:
        """Treat the aborted ids of a set as committed, as all later lists do."""
        for write_id in [write_id for write_id in self.aborted if ids.sees(write_id)]:
            del self.aborted[write_id]

    def has_ended(self, write_id: int) -> bool:
        """Return whether an id is committed or aborted."""
        return 0 < write_id <= self.hwm and write_id not in self.open

    def settle(self, ids: ReaderIds) -> None:
        """Treat every id of a set as ended, and ids outside it as open until the log ends them."""
        if ids.hwm > self.hwm:
            above = self.hwm + 1
            first = bisect_left(ids.exceptions, above)
            self.open.update(dict.fromkeys(ids.exceptions[first:], 0))
            self.hwm = ids.hwm
        for exceptions in (self.open, self.aborted):
            for write_id in [write_id for write_id in exceptions if ids.sees(write_id)]:
                del exceptions[write_id]

    def id_of(self, txn: int) -> int:
        """Return the open write id of a txn, 0 if it has none."""
        held = (write_id for write_id, holder in self.open.items() if holder == txn)
        return next(held, 0) if txn else 0

    def listed(self) -> ValidWriteIdList:
        """Return the list of a reader that sees all that is committed."""
        still_open = tuple(sorted(self.open))
        least = still_open[0] if still_open else None
        return ValidWriteIdList(None, self.hwm, still_open, tuple(sorted(self.aborted)), least)

    def first_unknown(self, ids: ReaderIds) -> int:
        """Return an id valid in `ids` that has not ended in the log, 0 if all have."""
        if ids.hwm > self.hwm:
            return ids.hwm
        if not self.open:
            return 0
        return next((write_id for write_id in self.open if ids.sees(write_id)), 0)

    def lacks_committed(self, ids: ReaderIds) -> bool:
        """Return whether an id committed here is not valid in `ids`."""
        known = (write_id for write_id in ids.exceptions if write_id <= self.hwm)
        excepted = sum(write_id in self.open or write_id in self.aborted for write_id in known)
        within = bisect_right(ids.exceptions, self.hwm)
        above = max(0, self.hwm - ids.hwm)
        ended_otherwise = sum(write_id > ids.hwm for write_id in (*self.open, *self.aborted))
        return excepted < within or ended_otherwise < above
