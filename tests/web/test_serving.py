"""The server over a store on disk: whole batches only, while the writer writes and rebuilds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from ledger.config.settings import FollowerSettings
from ledger.reads.remote.http import HttpReads
from projections.fold.fold import Fold
from projections.store.rocks_store import RocksStore
from projections.web.roles.follower import serve_store
from tests.projections.followed import Followed

ANYWHERE = FollowerSettings(http="127.0.0.1:0")
TXNS = 300
READERS = 6
# Rounds go on until every reader had so many answers that list txns.
ENOUGH = 4
ROUNDS_MAX = 2000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def reads(root: Path) -> Iterator[HttpReads]:
    """Return a client of a server over the store at the root, whether or not there is one."""
    with (
        closing(serve_store(root, lambda: None, ANYWHERE)) as server,
        closing(HttpReads(server.url)) as reads,
    ):
        yield reads


def ask(reads: HttpReads, done: Signal, found: list[set[Any]]) -> None:
    """Collect what open txns are found to be, answer by answer, until all is written."""
    while not done.is_set():
        if rows := reads.open_txns(TXNS):
            found.append({row.status for row in rows})


def come_and_go(domain: Followed, session: int) -> None:
    """Open many txns, then abort them, the last one first, one batch each."""
    first = domain.open_txn(session, size=TXNS)
    domain.follow()
    for txn in range(first + TXNS - 1, first - 1, -1):
        domain.abort(session, txn)
        domain.follow()


def test_answers_are_whole(root: Path, reads: HttpReads) -> None:
    """No answer mixes two batches: whoever is listed as open is open in the same answer."""
    done = Signal()
    found: list[list[set[Any]]] = [[] for _ in range(READERS)]
    with RocksStore.open(root) as store, ThreadPoolExecutor(READERS) as pool:
        domain = Followed(store)
        session = domain.open_session()
        asking = [pool.submit(ask, reads, done, each) for each in found]
        try:
            for _ in range(ROUNDS_MAX):
                come_and_go(domain, session)
                if all(len(each) >= ENOUGH for each in found):
                    break
        finally:
            done.set()
        for each in asking:
            each.result()
        assert all(len(each) >= ENOUGH for each in found)
        assert all(statuses == {"open"} for each in found for statuses in each)
        assert reads.wait(domain.head.position, 0) == domain.head.position


def test_rebuilt(root: Path, reads: HttpReads) -> None:
    """During a rebuild the published rows are answered from, and the new ones once they are."""
    with RocksStore.open(root) as store:
        domain = Followed(store)
        domain.follow()
        before = reads.position()
    domain.open_session()
    with RocksStore.rebuild(root) as anew:
        Fold.load(anew, domain.log).feed(domain.records)
        assert reads.position() == before
        anew.publish()
        assert reads.position() == domain.head.position == before + 1
