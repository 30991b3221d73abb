"""A writer of one table: the appends of many threads become few commits, in their order.

Each append is fitted to the table in the thread that makes it. One thread commits, and the next
group gathers while a commit is under way. An accepted append is committed, or its error is raised:
by its own result, else by the next flush or close of the writer.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from threading import Condition, Lock, Thread, get_ident
from time import monotonic
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from ledger.errors import CommandInvalidError, LimitExceededError
from ledger.files.data_files import BLOCK_ROWS
from ledger.reads.amounts import amount
from ledger.tables.appending import GivenRows
from ledger.transaction.grouped.outcomes import FailedAppends, WaitingAppend
from ledger.transaction.grouped.written_table import WrittenTable

MS: Final = 1000
FLUSH_MS_MAX: Final = 60_000

WAITING_ROWS_MAX: Final = 10 * BLOCK_ROWS
WAITING_BYTES_MAX: Final = 8 << 20
"""The rows that wait for a commit, and their bytes. One append may be larger."""

OF_ROWS: Final = (ValueError, TypeError, CommandInvalidError, LimitExceededError)
"""The errors that the rows of one append among several may be the reason of."""


class Accepted(NamedTuple):
    """An append that waits for its commit; `since_s` is when it was accepted."""

    outcome: WaitingAppend
    rows: GivenRows
    number: int
    since_s: float


class AppendWriter:
    """Groups the appends of one process to one table. Threads may share it.

        with ledger.writer("db.clicks") as clicks:
            waiting = clicks.append([{"id": 1}])
            clicks.append([{"id": 2}])
        receipt = waiting.result()

    The rows of one append are in one commit. The appends of a thread are committed in their order.
    An append that the table refuses fails alone. The end of the `with` block commits what waits,
    also if the block raises.
    """

    def __init__(
        self, table: WrittenTable, flush_ms: float, forget: Callable[["AppendWriter"], object]
    ) -> None:
        if not 0 <= flush_ms <= FLUSH_MS_MAX:
            raise ValueError(f"flush_ms must be 0 to {FLUSH_MS_MAX}, got {flush_ms}")
        self._table, self._flush_s, self._forget = table, flush_ms / MS, forget
        # Its own Lock: Ctrl-C while a Condition is entered, in Python, may leave it locked.
        self._turn = Lock()
        self._arrived, self._left = Condition(self._turn), Condition(self._turn)
        self._waiting: deque[Accepted] = deque()
        self._under_way: Sequence[Accepted] = ()
        self._rows = self._bytes = 0
        # The number of the last append, and of the last one that is not to wait for company.
        self._accepted = self._urgent = 0
        self._failed = FailedAppends()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="lakeledger-writer", daemon=True)
        self._thread.start()

    def append(self, rows: Any) -> WaitingAppend:
        """Accept rows for the next commit, and return their outcome to wait for.

        `rows` are as for `Ledger.append`, or one row as a dict. The call waits while too many rows
        wait for their commit. Raises ValueError or TypeError for rows that do not fit the table,
        which are not accepted, and ValueError for a closed writer.
        """
        given = self._table.given([rows] if is_row(rows) else rows)
        with self._turn:
            while not self._is_closed and not self._has_room(given):
                self._left.wait()
            if self._is_closed:
                raise ValueError(
                    f"the writer of table {self._table.name} is closed and takes no more rows: "
                    "make another one by ledger.writer"
                )
            self._accepted += 1
            outcome = WaitingAppend()
            self._rows, self._bytes = self._rows + given.count, self._bytes + given.size
            if not self._waiting or self._is_full:
                self._arrived.notify()
            # Last: Ctrl-C before it accepts nothing, and behind it leaves no rows without a commit.
            self._waiting.append(Accepted(outcome, given, self._accepted, monotonic()))
        return outcome

    def flush(self) -> None:
        """Commit what waits now, and wait for the answers.

        Raises the error of appends that are not committed and whose outcome no call has got.
        """
        with self._turn:
            self._urgent = self._accepted
            pending = [append.outcome for append in (*self._under_way, *self._waiting)]
            self._arrived.notify()
        if self._thread.is_alive():
            wait(pending)
        self._failed.raise_first(self._table.name)

    def close(self) -> None:
        """Commit what waits, and end the writer; raises as `flush`. A second call does nothing."""
        with self._turn:
            self._is_closed = True
            self._arrived.notify()
            self._left.notify_all()
        try:
            self._thread.join()
        except BaseException as interrupt:
            left = amount(len(self._under_way) + len(self._waiting), "append")
            interrupt.add_note(f"{left} to table {self._table.name} may still be committed")
            raise
        self._forget(self)
        self._failed.raise_first(self._table.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception as failure:
            if problem is None:
                raise
            for note in getattr(failure, "__notes__", ()):
                problem.add_note(note)

    @property
    def _is_full(self) -> bool:
        return self._rows >= BLOCK_ROWS or self._bytes >= self._table.bytes_max

    def _has_room(self, given: GivenRows) -> bool:
        rows, size = self._rows + given.count, self._bytes + given.size
        # A callback of an outcome is called by the thread that makes room.
        is_free = not self._waiting or get_ident() == self._thread.ident
        return is_free or (rows <= WAITING_ROWS_MAX and size <= WAITING_BYTES_MAX)

    def _run(self) -> None:
        while group := self._next():
            self._settle(group)
            with self._turn:
                self._under_way = ()

    def _next(self) -> Sequence[Accepted]:
        """Wait for the next group, and return it; an empty one once the writer is closed."""
        with self._turn:
            while not self._waiting:
                if self._is_closed:
                    return ()
                self._arrived.wait()
            first = self._waiting[0]
            while not (self._is_closed or self._is_full or first.number <= self._urgent):
                left_s = first.since_s + self._flush_s - monotonic()
                if left_s <= 0:
                    break
                self._arrived.wait(left_s)
            self._under_way = self._taken()
            self._left.notify_all()
            return self._under_way

    def _taken(self) -> Sequence[Accepted]:
        """Return the first waiting appends, as many as fit into one block, at least one."""
        group: list[Accepted] = []
        rows = size = 0
        while self._waiting:
            given = self._waiting[0].rows
            rows, size = rows + given.count, size + given.size
            if group and (rows > BLOCK_ROWS or size > self._table.bytes_max):
                break
            group.append(self._waiting.popleft())
            self._rows, self._bytes = self._rows - given.count, self._bytes - given.size
        return group

    def _settle(self, group: Sequence[Accepted]) -> None:
        """Commit a group, by halves where the rows of one append may be why it is refused."""
        try:
            receipt = self._table.commit([append.rows for append in group])
        except BaseException as problem:  # noqa: BLE001 - the appends raise it
            if len(group) > 1 and isinstance(problem, OF_ROWS):
                half = len(group) // 2
                self._settle(group[:half])
                self._settle(group[half:])
                return
            outcomes = [append.outcome for append in group]
            self._failed.note(outcomes)
            for outcome in outcomes:
                outcome.set_exception(problem)
        else:
            for append in group:
                append.outcome.set_result(receipt)


def is_row(rows: Any) -> bool:
    """Return whether a dict is one row, and not a column for each name."""
    return isinstance(rows, Mapping) and not all(map(is_column, rows.values()))


def is_column(value: Any) -> bool:
    """Return whether a value may be the values of a column."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | bytearray | Mapping)
