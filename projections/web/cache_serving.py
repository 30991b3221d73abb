"""Serving a cache: its pages over HTTP, its health by named checks."""

from collections.abc import Mapping
from typing import Any, Final

from ledger.errors import LedgerError
from ledger.settings import CacheSettings
from projections.cache.process import CacheProcess
from projections.cache.starting import StartingEntries
from projections.lag import Lag
from projections.web.app import Pages
from projections.web.cache_metrics import CacheCollector
from projections.web.cache_questions import CACHE_QUESTIONS
from projections.web.health import Check, Health, lag_check
from projections.web.metrics import Metrics
from projections.web.readers import Readers
from projections.web.server import Endpoint, WebServer
from projections.web.waiting import Waiting

# Readers wait for the log in them, so there are more than answers that are computed at once.
THREADS: Final = 32


class CacheHealth(Health):
    """Checks a cache; `lag_max_s` is how far behind the log it may be."""

    def __init__(
        self,
        waiting: Waiting[Any],
        process: CacheProcess,
        entries: StartingEntries,
        *,
        lag_max_s: float,
    ) -> None:
        super().__init__(waiting)
        self._process = process
        self._entries = entries
        self._lag_max_s = lag_max_s

    async def checks(self) -> Mapping[str, Check]:
        """Return whether it follows, how far behind it is, and whether it is right."""
        return {
            "following": self._following(),
            "lag": lag_check(await self.lag(), self._lag_max_s),
            "sampler": self._sampler(),
        }

    def _measure(self) -> Lag | None:
        return self._entries.lag()

    def _following(self) -> Check:
        position = self._entries.position()
        try:
            is_loading = self._entries.is_loading()
        except LedgerError as problem:
            return Check(is_up=False, detail=str(problem))
        if is_loading:
            return Check(is_up=False, detail=f"loading, at position {position}")
        return Check(is_up=True, detail=f"events up to position {position} are applied")

    def _sampler(self) -> Check:
        cache = self._process.cache
        text = f"{cache.compared} tables compared, {cache.mismatched} differed"
        return Check(not cache.mismatched, f"{text} {cache.problem}".strip())


def serve_cache(
    process: CacheProcess, entries: StartingEntries, settings: CacheSettings
) -> WebServer:
    """Answer reads of a cache, and how it is; raises SettingsError if nobody can listen there."""
    endpoint = Endpoint.parse(settings.http)
    readers = Readers(lambda: process, THREADS)
    health = CacheHealth(Waiting(readers), process, entries, lag_max_s=settings.lag_max_s)
    pages = Pages(readers, CACHE_QUESTIONS, health, Metrics(CacheCollector(process.cache)))
    return WebServer.start(pages, endpoint)
