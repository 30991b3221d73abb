"""The end of a soak: what everybody holds, compared with what the log alone makes of it.

A store is rebuilt from the first record, and caches are made anew over it and over the log. Then
rows are compared by their digests, caches by what they answer to the same questions: a cache that
was kept, killed, and started again on the way must not differ from one that was never there before.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from hashlib import blake2b
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from ledger.log.port import Log
from ledger.reads.metadata import TABLE, Bounds, MetadataAnswer, MetadataReads
from ledger.reads.remote.http import HttpCache
from ledger.reads.remote.http_form import to_json
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.fold.follower import Follower
from projections.queries import open_reads
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from tests.integration.soak.questions import CATALOG, Asked, Judge, read_of
from tests.integration.soak.writer import OBJECTS
from tests.projections.cache_history import Reader, wanted
from tests.projections.digests import digest

PATIENCE_MS: Final = 120_000
WAIT_MS: Final = 10_000
ROWS: Final = "rows"


class Holding(NamedTuple):
    """What one place holds at the end: digests by what they are of, and what is wrong there.

    `hits` is the part of what is there that was answered from entries, by the set of questions.
    """

    name: str
    digests: Mapping[str, str]
    hits: Mapping[str, float] = {}
    wrong: Sequence[str] = ()


class Questioned(NamedTuple):
    """A set of questions: what the set is called, and who asks."""

    name: str
    readers: Sequence[Reader]

    def asks(self) -> list[tuple[Reader, str]]:
        return [(reader, what) for reader in self.readers for what in (TABLE, *OBJECTS)]


class Ends:
    """Looks at all places at one position; `sets` are the questions to be asked everywhere."""

    def __init__(
        self, log: Log, folder: Path, events: Sequence[Event], sets: Sequence[Questioned]
    ) -> None:
        self._log = log
        self._rebuilt = folder / "rebuilt"
        self._position = len(events)
        self._judge = Judge(events)
        self._sets = sets

    def holdings(self, stores: Mapping[str, Path], caches: Mapping[str, str]) -> Iterator[Holding]:
        """Yield what is held by stores at paths and caches at URLs, and by what is made anew."""
        rebuild(self._log, self._rebuilt)
        yield self._store("rebuilt store", self._rebuilt)
        for name, path in stores.items():
            yield Holding(name, {ROWS: rows_of(path, self._position)})
        for name, url in caches.items():
            with closing(HttpCache(url)) as far:
                yield self._cache(name, far)
        with ExitStack() as held:
            follows = MetadataCache.following(self._log, self._rebuilt, CATALOG)
            reads = MetadataCache.open(self._rebuilt, CATALOG)
            for name, cache in {"new, by the log": follows, "new, by rows": reads}.items():
                yield self._cache(name, held.enter_context(closing(cache)))

    def _store(self, name: str, path: Path) -> Holding:
        """Return what the store at a path says itself to every question."""
        rows = {ROWS: rows_of(path, self._position)}
        with closing(RowMetadataStore(RocksReader.open(path))) as store:
            told = {
                each.name: digest_of(
                    [
                        MetadataAnswer(found.value(what), "store", found.position, "absent")
                        for reader, what in each.asks()
                        for found in store.read_many([wanted(reader, what)])
                    ]
                )
                for each in self._sets
            }
        return Holding(name, {**rows, **told})

    def _cache(self, name: str, cache: MetadataReads) -> Holding:
        """Return what a cache answers, asked twice: first it may have to fill."""
        digests: dict[str, str] = {}
        hits: dict[str, float] = {}
        wrong: list[str] = []
        for each in self._sets:
            asks = each.asks()
            self._answers(cache, asks)
            answers = self._answers(cache, asks)
            asked = [
                Asked(*ask, by_name=False, answer=answer)
                for ask, answer in zip(asks, answers, strict=True)
            ]
            digests[each.name] = digest_of(answers)
            wrong += self._judge.wrong(asked)
            found = [answer.source == "cache" for answer in answers if answer.value is not None]
            if found:
                hits[each.name] = sum(found) / len(found)
        return Holding(name, digests, hits, wrong)

    def _answers(
        self, cache: MetadataReads, asks: Sequence[tuple[Reader, str]]
    ) -> list[MetadataAnswer]:
        """Return the answers, asked one by one: one miss sends a batch to the store."""
        bounds = Bounds(token=self._position, max_wait_ms=WAIT_MS)
        return [cache.metadata([read_of(*ask, by_name=False)], bounds)[0] for ask in asks]


def rebuild(log: Log, root: Path) -> None:
    """Make the rows of a log at a new place, from its first record to its end."""
    stop = Signal()
    with RocksStore.open(root) as store:
        Follower(log, store, caught_up=stop.set).run(stop)


def rows_of(root: Path, position: int) -> str:
    """Return the digest of the rows at a place; raises ReaderBehindError before they are there."""
    with closing(open_reads(root)) as reads:
        reads.wait(position, PATIENCE_MS)
    with closing(RocksReader.open(root)) as rows:
        return digest(rows).hex()[:16]


def digest_of(answers: Sequence[MetadataAnswer]) -> str:
    """Return the digest of what was answered, from wherever it came."""
    data = to_json([to_json(answer.value).decode() for answer in answers])
    return blake2b(data, digest_size=8).hexdigest()


def differing(holdings: Sequence[Holding]) -> list[str]:
    """Return where a place holds something else than the first one."""
    first = holdings[0].digests
    return [
        f"{holding.name}: {what} are {found}, rebuilt they are {first[what]}"
        for holding in holdings[1:]
        for what, found in holding.digests.items()
        if found != first[what]
    ]
