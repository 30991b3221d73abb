"""The law of leases on a real broker, with real processes that are killed and paused.

The live one is a client of the SDK that beats by itself; the silent one, a raw client that does
not, is ended, and so shows that more than a lease has passed.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from ledger.broker import Broker
from ledger.client import Ledger
from ledger.core.commands import OpenTxn
from ledger.core.events import TxnOpened
from ledger.log.kafka import KafkaLog
from ledger.log.port import Log, Topic
from ledger.log.topics import create_topics
from tests.integration.fleet import Fleet
from tests.integration.raw_client import PATIENCE_S, UNNUMBERED, RawClient
from tests.integration.result import asker_of

pytestmark = pytest.mark.kafka

LEASE_S = 2.0
BACKLOG = 3_000
# Three beats in a lease, so this is well over two leases.
BEATS = 7
OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)


@pytest.fixture
def log(broker: Broker, ledger_name: str) -> Iterator[Log]:
    """Return the log of a ledger that is not created yet."""
    create_topics(broker.bootstrap, ledger_name)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield log


def wait_for_beats(log: Log, count: int) -> None:
    """Wait until so many further heartbeats were appended."""
    end = log.ends(Topic.HEARTBEATS)[1]
    with closing(log.reader(Topic.HEARTBEATS, end)) as reader:
        while reader.next_offset() < end + count:
            assert reader.read(count, PATIENCE_S), "nobody beats"


def test_leader_is_killed(broker: Broker, ledger_name: str, log: Log) -> None:
    """A client that beats keeps its txn through a take-over and leases after it."""
    with (
        Fleet(broker.bootstrap, ledger_name, 2, lease_s=LEASE_S) as fleet,
        Ledger.connect(broker.bootstrap, ledger_name) as ledger,
        RawClient(log) as raw,
    ):
        txn = ledger.begin()
        before = raw.open_session()
        raw.wait_for_expiry(before)
        fleet.kill(raw.leader())
        after = raw.open_session()
        raw.wait_for_expiry(after)
        txn.commit()
        assert raw.expired() == ([before, after], [])


def test_leader_is_paused(broker: Broker, ledger_name: str, log: Log) -> None:
    """A leader that wakes up after leases and finds a backlog hears all of it before it judges."""
    with (
        Fleet(broker.bootstrap, ledger_name, 1, lease_s=LEASE_S) as fleet,
        Ledger.connect(broker.bootstrap, ledger_name) as ledger,
        RawClient(log) as raw,
    ):
        txn = ledger.begin()
        busy, late, silent = (raw.open_session() for _ in range(3))
        leader = fleet.pause(raw.leader())
        for _ in range(BACKLOG):
            raw.send(busy, OPEN_TXN)
        wait_for_beats(log, BEATS)
        asked = late, raw.send(late, OPEN_TXN)
        leader.resume()
        answer = raw.wait_for(lambda event: asker_of(event) == asked)
        assert isinstance(answer.body, TxnOpened)
        raw.wait_for_expiry(silent)
        txn.commit()
        assert fleet.restarts == 0
