"""Entries that load in the background, so that no reader waits for them.

Reading a checkpoint and the log behind it takes a while. Meanwhile the store answers every read at
once, with the reason `loading`; no read locks or waits.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from threading import Event as Signal
from threading import Thread
from typing import Final, Self

from ledger.clock import SystemClock
from ledger.errors import LogRefusedError, LogUnavailableError
from ledger.log.port import Log
from ledger.reads.lineage import Gap
from ledger.reads.metadata import MetadataAnswer
from ledger.reads.port import Identity
from projections.cache.fold import Stored, Wanted
from projections.cache.following import FollowedEntries
from projections.cache.held import HeldTables
from projections.cache.ids import ReaderIds
from projections.cache.refusal import Refusal
from projections.cache.rows import BYTES_MAX
from projections.cache.source import ServedEntries
from projections.fold.lag import Lag

AWAY_PAUSE_S: Final = 0.5


class StartingEntries(ServedEntries):
    """The entries of a domain, from `start` to `close`; the caller closes the log."""

    remedy = ""

    def __init__(self, log: Log, *, bytes_max: int = BYTES_MAX) -> None:
        self._log = log
        self.tables = HeldTables(bytes_max)
        self._followed: FollowedEntries | None = None
        self._ended: Exception | None = None
        self._refusal = Refusal()
        self._stop = Signal()
        self._thread = Thread(target=self._load, name="lakeledger-cache-loading", daemon=True)

    def start(self) -> Self:
        """Begin to load."""
        self._thread.start()
        return self

    def identity(self) -> Identity | None:
        """Return which ledger the log is of, None before that was read."""
        return None if self._followed is None else self._followed.identity()

    def is_loading(self) -> bool:
        """Return whether the store still answers all reads; raises the error that ended it."""
        if self._ended is not None:
            raise copy(self._ended) from self._ended
        return not (self._followed is not None and self._followed.has_come)

    def check(self) -> None:
        """Raise the error that ended the loading or the following, if there was one."""
        if not self.is_loading() and self._followed is not None:
            self._followed.advance(0.0)

    def problem(self) -> str:
        """Return why they do not follow: they still load, or an error ended them."""
        try:
            text = f"loading, at position {self.position()}" if self.is_loading() else ""
            self.check()
        except Exception as ended:  # noqa: BLE001 - any error is reported
            return str(ended)
        refused = self._refused()
        return text if refused is None else ": ".join(filter(None, (text, str(refused))))

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        if self._followed is None:
            self._stop.wait(min(timeout_s, AWAY_PAUSE_S))
        else:
            self._followed.advance(timeout_s, beyond)

    def position(self) -> int:
        """Return the position of the last event applied, 0 before there is one."""
        return 0 if self._followed is None else self._followed.position()

    def at_ms(self) -> int:
        """Return the time of that event, 0 before there is one."""
        return 0 if self._followed is None else self._followed.at_ms()

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None before they have begun to follow.

        Raises LogUnavailableError if that is not known, or if the log refuses them.
        """
        followed, refused = self._followed, self._refused()
        if followed is None and refused is not None:
            raise copy(refused) from refused
        return None if followed is None else followed.lag(SystemClock())

    def gaps(self) -> Sequence[Gap]:
        """Return the gaps that cuts left in the log, none before it was read."""
        return () if self._followed is None else self._followed.gaps()

    def read_many(self, wanted: Sequence[Wanted]) -> list[MetadataAnswer]:
        """Return answers as of the last event applied; raises the error that ended them."""
        if self.is_loading() or self._followed is None:
            return [MetadataAnswer(None, "store", self.position(), "loading")] * len(wanted)
        return self._followed.read_many(wanted)

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        """Keep the store's answer, once the entries are loaded."""
        if self.is_loading() or self._followed is None:
            return False
        return self._followed.fill(wanted, found)

    def held(self) -> Sequence[Wanted]:
        return [] if self._followed is None else self._followed.held()

    def lengths(self) -> Mapping[int, int]:
        return {} if self._followed is None else self._followed.lengths()

    def aged(self) -> Sequence[int]:
        return [] if self._followed is None else self._followed.aged()

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        """Drop the history below floors; return how many versions were dropped."""
        return 0 if self._followed is None else self._followed.cut(floors)

    def close(self) -> None:
        """Stop loading, or following."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._followed is not None:
            self._followed.close()

    def _refused(self) -> LogRefusedError | None:
        followed = self._followed
        return self._refusal.now if followed is None else followed.refusal.now

    def _load(self) -> None:
        while not self._stop.is_set():
            try:
                bytes_max = self.tables.bytes_max
                followed = FollowedEntries.start(self._log, bytes_max=bytes_max)
            except LogUnavailableError as away:
                self._refusal.note(away)
                self._stop.wait(AWAY_PAUSE_S)
            except Exception as error:  # noqa: BLE001 - a reader must get the error, or it waits in vain
                self._ended = error
                return
            else:
                self._refusal.clear()
                self._followed, self.tables = followed, followed.tables
                self._wait_for_end(followed)
                return

    def _wait_for_end(self, followed: FollowedEntries) -> None:
        """Wait until they answer, or until an error has ended them."""
        try:
            while not (followed.has_come or self._stop.is_set()):
                followed.advance(AWAY_PAUSE_S)
        except Exception as error:  # noqa: BLE001 - any error that ended the other thread
            self._ended = error
