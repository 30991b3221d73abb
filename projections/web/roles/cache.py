"""A metadata cache over HTTP: its answers, its health by named checks, and its metrics."""

from collections.abc import Sequence
from typing import Any, Final

from ledger.config.settings import UNLOCKED, CacheSettings, WebSettings
from ledger.reads.amounts import amount
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.fold.lag import Lag
from projections.web.answers.asked import Asked
from projections.web.answers.metadata_questions import cached
from projections.web.answers.questions import Question, size_whole
from projections.web.roles.cache_metrics import measures
from projections.web.roles.health import Check, LagSeen, lag_check
from projections.web.roles.role import Role
from projections.web.server.server import WebServer

TABLES: Final = 10
# Reads wait for the log in these threads, so there are more threads than concurrent answers.
THREADS: Final = 32
LONG_THREADS: Final = 4


def serve_cache(
    process: CacheProcess, settings: CacheSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve reads, health and metrics of a cache; raises SettingsError if it cannot listen."""
    cache = process.cache
    return Role(
        "cache",
        lambda: process,
        {
            "following": lambda _: following_check(cache),
            "lag": lambda look: behind_check(cache, look.lag, settings.lag_max_s),
            "sampler": lambda _: sampler_check(cache),
        },
        cache.entries.lag,
        lambda lag: measures(cache, lag),
        CACHE_QUESTIONS,
        THREADS,
        LONG_THREADS,
    ).serve(settings, doors)


def verify(process: CacheProcess, asked: Asked) -> Any:
    """Return the result of comparing a number of tables."""
    tables = asked.number_or_none("tables")
    return process.verify(TABLES if tables is None else tables)


CACHE_QUESTIONS: Final[Sequence[Question[CacheProcess]]] = (
    Question("/metadata", cached, ("GET", "POST")),
    Question("/cache", lambda process, _: process.status()),
    Question("/cache/verify", verify, ("POST",), size_whole),
)


def following_check(cache: MetadataCache) -> Check:
    """Return whether the entries still follow their source."""
    problem = cache.entries.problem()
    text = f"events up to position {cache.entries.position()} are applied"
    return Check(not problem, problem or text)


def behind_check(cache: MetadataCache, lag: LagSeen, lag_max_s: float) -> Check:
    """Return whether the lag is within its bound, else also the process that may be the cause."""
    check, remedy = lag_check(lag, lag_max_s), cache.entries.remedy
    if check.is_up or not isinstance(lag, Lag) or not remedy:
        return check
    return check._replace(detail=f"{check.detail}. {remedy}")


def sampler_check(cache: MetadataCache) -> Check:
    """Return whether every table that was compared with the store was the same."""
    sampler = cache.sampler
    text = f"{amount(sampler.compared, 'table')} compared, {sampler.mismatched} differed"
    return Check(not sampler.mismatched, f"{text} {sampler.problem}".strip())
