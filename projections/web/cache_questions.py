"""The questions that a cache answers over HTTP; `ledger.reads.http` asks them."""

from collections.abc import Sequence
from typing import Any, Final

from projections.cache.process import CacheProcess
from projections.web.asked import Asked
from projections.web.metadata_questions import cached
from projections.web.questions import Question, whole

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
