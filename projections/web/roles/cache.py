"""Serving a cache: its pages over HTTP, its health by named checks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.config.settings import UNLOCKED, CacheSettings, WebSettings, hosts_of
from ledger.errors import LedgerError
from ledger.machine.endpoints import Endpoint
from ledger.reads.amounts import amount
from projections.cache.process import CacheProcess
from projections.fold.lag import Lag
from projections.web.answers.asked import Asked
from projections.web.answers.metadata_questions import cached
from projections.web.answers.questions import Question, whole
from projections.web.app import WebPages
from projections.web.roles.cache_metrics import CacheCollector
from projections.web.roles.health import Check, Health, lag_check
from projections.web.roles.metrics import Metrics
from projections.web.server.readers import Readers
from projections.web.server.server import WebServer
from projections.web.server.waiting import PositionWaiting

TABLES: Final = 10


def verify(process: CacheProcess, asked: Asked) -> Any:
    """Return the result of comparing a number of tables."""
    tables = asked.number_or_none("tables")
    return process.verify(TABLES if tables is None else tables)


CACHE_QUESTIONS: Final[Sequence[Question[CacheProcess]]] = (
    Question("/metadata", cached, ("GET", "POST")),
    Question("/cache", lambda process, _: process.status()),
    Question("/cache/verify", verify, ("POST",), whole),
)


# Reads wait for the log in these threads, so there are more threads than concurrent answers.
THREADS: Final = 32
LONG_THREADS: Final = 4


class CacheHealth(Health):
    """Checks a cache; `lag_max_s` is how far behind the log it may be."""

    role = "cache"

    def __init__(
        self,
        waiting: PositionWaiting[Any],
        process: CacheProcess,
        *,
        lag_max_s: float,
    ) -> None:
        super().__init__(waiting)
        self._cache = process.cache
        self._entries = process.cache.entries
        self._lag_max_s = lag_max_s

    async def checks(self) -> Mapping[str, Check]:
        """Return whether it follows, how far behind it is, and whether it is right."""
        return {
            "following": self._following(),
            "lag": self._lag_check(await self.lag()),
            "sampler": self._sampler(),
        }

    def _measure(self) -> Lag | None:
        return self._entries.lag()

    def _following(self) -> Check:
        problem = self._entries.problem()
        text = f"events up to position {self._entries.position()} are applied"
        return Check(not problem, problem or text)

    def _lag_check(self, lag: Lag | LedgerError | None) -> Check:
        """Return how far it is behind, and the process that may be the cause."""
        check = lag_check(lag, self._lag_max_s)
        if check.is_up or not isinstance(lag, Lag) or not self._entries.remedy:
            return check
        return check._replace(detail=f"{check.detail}. {self._entries.remedy}")

    def _sampler(self) -> Check:
        sampler = self._cache.sampler
        text = f"{amount(sampler.compared, 'table')} compared, {sampler.mismatched} differed"
        return Check(not sampler.mismatched, f"{text} {sampler.problem}".strip())


def serve_cache(
    process: CacheProcess, settings: CacheSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve reads, health and metrics of a cache; raises SettingsError if it cannot listen."""
    endpoint = Endpoint.parse(settings.http)
    readers = Readers(lambda: process, THREADS, LONG_THREADS)
    health = CacheHealth(PositionWaiting(readers), process, lag_max_s=settings.lag_max_s)
    pages = WebPages(readers, CACHE_QUESTIONS, health, Metrics(CacheCollector(process.cache)))
    hosts = hosts_of(settings.hosts)
    return WebServer.start(pages, endpoint, hosts=hosts, setting="cache.hosts", doors=doors)
