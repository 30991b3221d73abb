"""A metadata cache over HTTP: the client of `lakeledger serve cache`."""

from ledger.cache_status import CacheReads, CacheStatus, Verified
from ledger.http.form import from_json
from ledger.http.questions import HttpQuestions
from ledger.metadata import AT_HAND, Answer, Bounds, ReadAt, settled


class HttpCache(HttpQuestions, CacheReads):
    """The cache behind a URL such as `http://host:8182`; threads may share it."""

    def metadata_at(self, read: ReadAt, bounds: Bounds = AT_HAND) -> Answer:
        """Return what a reader with the list of a position, or of now, sees."""
        catalog = read.catalog or None
        given = {**read._asdict(), "catalog": catalog, **bounds._asdict()}
        answer = self._asked("GET", "/metadata", given, wait_ms=bounds.max_wait_ms)
        return settled(from_json(Answer, answer))

    def status(self) -> CacheStatus:
        """Return how it is."""
        return self._get(CacheStatus, "/cache")

    def verify(self, tables: int) -> Verified:
        """Let it compare some of the tables it holds with its store."""
        return from_json(Verified, self._asked("POST", "/cache/verify", {"tables": tables}))
