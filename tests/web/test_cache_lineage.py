"""A served cache whose log lost its end answers by what it had seen, and is not ready."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ledger.core.decide.cut import beyond, seen_in
from ledger.errors import LogRewrittenError
from ledger.log.port import Topic
from ledger.reads.metadata import Read
from tests.core.cutting import cut, filled, shortened
from tests.projections.publishing import Host
from tests.web.test_cache import ServedCache, ids

LOOKS = 200


@pytest.fixture(params=["events", "published"])
def cached(request: pytest.FixtureRequest) -> Iterator[ServedCache]:
    """Return a served cache that has come to the end of its source."""
    with ExitStack() as own:
        found = ServedCache(own, request.param)
        found.start()
        yield found


def test_a_cache_that_was_ahead_of_a_cut_answers_by_what_it_had_seen(cached: ServedCache) -> None:
    domain, seen = cached.domain, cached.domain.head.copy()
    short = shortened(domain, len(domain.records) - 1)
    cut(short, beyond(seen_in(domain.state, seen.epoch), 5))
    list(filled(short))
    with domain.log.changed:
        domain.log.cut(Topic.EVENTS, len(domain.records) - 1)
        writer = domain.log.writer(Topic.EVENTS)
        for record in short.records[len(domain.records) :]:
            writer.append(record.key, record.value)
    if cached.source == "published":
        Host(domain.log).feed_all()

    def look() -> None:
        for _ in range(LOOKS):
            cached.entries.check()
            cached.entries.advance(0.05)

    with pytest.raises(LogRewrittenError):
        look()
    ready = cached.served.ask("/readyz")
    with pytest.raises(LogRewrittenError) as raised:
        cached.client.metadata([Read(cached.table, ids(1))])

    assert (raised.value.position, raised.value.seen) == (seen.position, seen.chain.hex())
    assert ready.status == 503
    assert ready.form["checks"]["following"]["status"] == "DOWN"
    assert f"position {seen.position} was seen" in ready.form["checks"]["following"]["detail"]
