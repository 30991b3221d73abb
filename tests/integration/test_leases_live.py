"""The law of leases on a real broker, with real processes that are killed and paused.

The live one is a client of the SDK that beats by itself; the silent one, a raw client that does
not, is ended, and so shows that more than a lease has passed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from ledger.client import Ledger
from ledger.core.commands import OpenTxn
from ledger.core.events.events import TxnOpened, TxnsExpired
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Log, Topic
from ledger.machine.kafka.broker import Broker
from tests.integration.fleet import Fleet
from tests.integration.raw_client import PATIENCE_S, UNNUMBERED, RawClient
from tests.integration.result import asker_of

pytestmark = pytest.mark.kafka

LEASE_S = 2.0
BACKLOG = 3_000
HOLDS_S = 5 * LEASE_S
# Three beats in a lease, so this is well over two leases.
BEATS = 7
OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)


# One call in C holds the interpreter's lock, as a long sort does, and both clients stand still.
HOLDING = """
import sys
from time import monotonic
from ledger import Ledger, SessionExpiredError
where, holds_s = sys.argv[1:3], float(sys.argv[3])
with Ledger.connect(*where, lease_s=float(sys.argv[4])) as short, Ledger.connect(*where) as long:
    lost, kept = short.begin(), long.begin()
    began_s = monotonic()
    sum(range(10_000_000))
    sum(range(int(10_000_000 * holds_s / (monotonic() - began_s))))
    kept.commit()
    try:
        lost.commit()
    except SessionExpiredError as error:
        print(error)
"""


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


def test_interpreter_lock_is_held(broker: Broker, ledger_name: str, log: Log) -> None:
    """A client whose beats a call in C stops keeps its txn if its lease has room for such a call.

    One that has not is told what happened and which lease would have had room.
    """
    with Fleet(broker.bootstrap, ledger_name, 1, lease_s=LEASE_S), RawClient(log) as raw:
        where = broker.bootstrap, ledger_name, str(HOLDS_S), str(LEASE_S)
        done = subprocess.run(
            [sys.executable, "-c", HOLDING, *where],
            env={**os.environ, "LAKELEDGER_LEASE_S": str(20 * HOLDS_S)},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        raw.wait_for(lambda event: isinstance(event.body, TxnsExpired))
        sessions, ends = raw.expired()
    assert (len(sessions), [cause for _, cause in ends]) == (1, ["lease"])
    assert "and the lease was 2 s. A usual cause is a call in C" in done.stdout
    assert "connect with Ledger.connect(lease_s=" in done.stdout
