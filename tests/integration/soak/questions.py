"""Questions: readers with lists of all ages who ask the caches, and what they were answered.

Every answer is kept, and judged when the log is whole: by what the events say, one after the other,
and nothing of the caches or the rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from random import Random
from threading import Event as Signal
from threading import Lock, Thread
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from ledger.core.state.tables import name_key
from ledger.errors import LedgerError, ReaderBehindError, ReadsUnavailableError
from ledger.reads.metadata import TABLE, Bounds, MetadataAnswer, Read
from ledger.reads.remote.cache import CacheStatus
from ledger.reads.remote.http import HttpCache
from tests.integration.soak.observer import Observer
from tests.integration.soak.writer import OBJECTS
from tests.projections.cache_history import Reader, Told, as_told, past_of, told

CATALOG: Final = "main"
WHATS: Final = (TABLE, TABLE, *OBJECTS)
READS_MAX: Final = 4
PAUSE_S: Final = 0.05
AWAY_S: Final = 0.2


class Asked(NamedTuple):
    """One read, by whom, of what, by name or not, and what it was answered."""

    reader: Reader
    what: str
    by_name: bool
    answer: MetadataAnswer

    def read(self) -> Read:
        return read_of(self.reader, self.what, by_name=self.by_name)


class Questions:
    """Asks one cache again and again, in a thread of its own, from `start` to `close`.

    Attributes:
        asked: every read with its answer.
        away: how often nobody was there to answer.
        behind: how often nobody knew enough in time.
        wrong: answers older than what was to be seen, and errors that should not be.
    """

    def __init__(self, name: str, url: str, observer: Observer, seed: int) -> None:
        self.name = name
        self.asked: list[Asked] = []
        self.away = self.behind = 0
        self.wrong: list[str] = []
        self._url = url
        self._observer = observer
        self._chance = Random(f"{seed} {name}")  # noqa: S311 - repeatable on purpose
        self._lives: dict[int, CacheStatus] = {}
        self._turn = Lock()
        self._stop = Signal()
        self._thread = Thread(target=self._run, name=f"questions-{name}", daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def close(self) -> None:
        """Ask nothing more."""
        self._stop.set()
        self._thread.join()

    def note_status(self, life: int) -> CacheStatus | None:
        """Note how the cache is in one of its lives, a process id; None if it does not answer."""
        try:
            with closing(HttpCache(self._url, timeout_s=5.0)) as far:
                status = far.status()
        except LedgerError:
            return None
        with self._turn:
            self._lives[life] = status
        return status

    def lives(self) -> Sequence[CacheStatus]:
        """Return how the cache was last in each of its lives."""
        with self._turn:
            return list(self._lives.values())

    def _run(self) -> None:
        with closing(HttpCache(self._url)) as far:
            while not self._stop.wait(PAUSE_S):
                try:
                    self._ask(far)
                except ReaderBehindError:
                    self.behind += 1
                except ReadsUnavailableError:
                    self.away += 1
                    self._stop.wait(AWAY_S)
                except LedgerError as error:
                    self.wrong.append(f"{self.name}: {type(error).__name__}: {error}")

    def _ask(self, far: HttpCache) -> None:
        readers = self._observer.readers(self._chance, self._chance.randint(1, READS_MAX))
        shared = [reader for reader in readers if not reader.own_txn]
        if shared:
            self._ask_of(far, shared, self._bounds())
        for reader in readers:
            if reader.own_txn:
                self._ask_of(far, [reader], Bounds(token=reader.position))

    def _ask_of(self, far: HttpCache, readers: Sequence[Reader], bounds: Bounds) -> None:
        asks = [(reader, self._what(), self._chance.random() < 0.3) for reader in readers]
        reads = [read_of(reader, what, by_name=by_name) for reader, what, by_name in asks]
        answers = far.metadata(reads, bounds)
        self.asked += [Asked(*ask, answer) for ask, answer in zip(asks, answers, strict=True)]
        if min(answer.position for answer in answers) < bounds.token:
            self.wrong.append(f"{self.name}: {answers} are older than position {bounds.token}")

    def _what(self) -> str:
        return self._chance.choice(WHATS)

    def _bounds(self) -> Bounds:
        position = self._observer.position
        choices = [Bounds(), Bounds(), Bounds(max_wait_ms=0), Bounds(token=position)]
        choices += [Bounds(max_lag_ms=100), Bounds(policy="latest")]
        return self._chance.choice(choices)


class Judge:
    """Judges answers by the events of a whole log."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._past = past_of(events)
        self._told = cache(self._told_once)

    def wrong(self, asked: Sequence[Asked]) -> Iterator[str]:
        """Yield the answers that are not right."""
        for each in asked:
            right = self.right(each)
            if as_told(each.answer.value) != right:
                yield f"{each.read()} was answered {each.answer}, right is {right}"

    def right(self, asked: Asked) -> Told:
        """Return what a reader is to be told as of the position of the answer."""
        reader, position = asked.reader, asked.answer.position
        if asked.by_name:
            whole = self._told(reader, TABLE, position)
            assert not isinstance(whole, str), "a table is told with its name"
            if whole is None or name_key(CATALOG, whole[0]) != name_key(CATALOG, reader.name):
                return None
        return self._told(reader, asked.what, position)

    def _told_once(self, reader: Reader, what: str, position: int) -> Told:
        return told(self._past, reader, what, range(1, position + 1))


def read_of(reader: Reader, what: str, *, by_name: bool) -> Read:
    """Return the read of a reader, by name and id or by the id alone."""
    table: str | int = reader.name if by_name else reader.table
    number = reader.table if by_name else None
    return Read(table, reader.ids, number, what, reader.own_txn, CATALOG)


def sources(asked: Sequence[Asked]) -> Mapping[str, int]:
    """Return how many answers came from where and why."""
    return Counter(f"{each.answer.source} {each.answer.reason}" for each in asked)
