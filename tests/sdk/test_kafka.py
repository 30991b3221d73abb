"""The SDK on a real broker: the same ways, a leader lost on them, and a broker that is gone."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from ledger.client import Ledger
from ledger.config.settings import Genesis, SequencerSettings
from ledger.errors import (
    ConcurrentDeleteDeleteException,
    LogError,
    LogUnavailableError,
    OutcomeUnknownError,
    SettingsError,
)
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.machine.kafka.broker import Broker
from ledger.sequencer.sequencer import Sequencer
from ledger.session.receipt import TableVersion
from ledger.testing import SequencerThread
from tests.oracle.reads import StateReads

pytestmark = pytest.mark.kafka

ALERT = SequencerSettings(suspect_s=0.3, jitter_s=0.05)


class Deployment:
    """A ledger on a broker: its name, its sequencer, and where its rows are read."""

    def __init__(self, broker: Broker, name: str) -> None:
        create_topics(broker.bootstrap, name)
        self.broker = broker
        self.name = name
        self.leader = self.standby().start()
        self._reads_log = self.log()
        self.reads = StateReads(self._reads_log)

    def log(self) -> KafkaLog:
        return KafkaLog(self.broker.bootstrap, self.name)

    def standby(self) -> SequencerThread:
        """Return another sequencer, not started."""
        return SequencerThread(Sequencer(self.log(), Genesis(self.name), settings=ALERT))

    def connect(self, timeout_s: float = 30.0) -> Ledger:
        return Ledger.connect(
            self.broker.bootstrap, self.name, reads=self.reads, timeout_s=timeout_s
        )

    def close(self) -> None:
        """End the sequencer and let go of the broker."""
        self.leader.crash()
        self.reads.close()
        self._reads_log.close()


@pytest.fixture
def deployment(broker: Broker, ledger_name: str) -> Iterator[Deployment]:
    with closing(Deployment(broker, ledger_name)) as deployment:
        yield deployment


def commit_one(ledger: Ledger, table: int) -> TableVersion:
    with ledger.transaction() as txn:
        txn.write_id(table)
    assert txn.receipt is not None
    return txn.receipt.tables[table]


def tails() -> int:
    """Return how many tails are followed in this process."""
    return sum(thread.name == "lakeledger-tail" for thread in threading.enumerate())


def test_two_clients_work_on_a_real_broker(deployment: Deployment) -> None:
    with deployment.connect() as ledger, deployment.connect() as other:
        flights = ledger.create_table("flights", [("day", "date")])
        with ledger.transaction() as winner:
            winner.wrote("flights", "update")
            loser = other.begin()
            loser.wrote(flights, "delete")
            own = winner.valid_write_ids("flights")

        with pytest.raises(ConcurrentDeleteDeleteException):
            loser.commit()

        other.wait(ledger.token)
        assert own.hwm == 0
        assert other.table("flights").version == 1
        assert ledger.snapshot().is_valid(winner.id)


def test_txns_go_on_when_their_leader_is_lost(deployment: Deployment) -> None:
    with deployment.connect() as ledger, ThreadPoolExecutor(1) as pool:
        flights = ledger.create_table("flights")
        done = pool.submit(lambda: [commit_one(ledger, flights.table) for _ in range(100)])
        deployment.reads.wait(flights.created + 60, 30_000)
        deployment.leader.crash()
        deployment.leader = deployment.standby().start()

        assert done.result() == [TableVersion(number, number) for number in range(1, 101)]


@pytest.mark.parametrize(("given", "catalog"), [("", "lake"), ("catalog='own'", "own")])
def test_the_catalog_of_the_settings(deployment: Deployment, given: str, catalog: str) -> None:
    """Names of tables are of the catalog that the settings say, unless one is given."""
    script = (
        "import sys\nfrom ledger import Ledger\n"
        f"with Ledger.connect(*sys.argv[1:], {given}) as ledger:\n    print(ledger.catalog)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, deployment.broker.bootstrap, deployment.name],
        env={**os.environ, "LAKELEDGER_CATALOG": "lake"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == f"{catalog}\n"


def test_closed_at_exit(deployment: Deployment) -> None:
    """A process that forgets to close its ledger ends its session at exit, without noise."""
    script = "import sys\nfrom ledger import Ledger\nLedger.connect(*sys.argv[1:]).begin()\n"
    done = subprocess.run(
        [sys.executable, "-c", script, deployment.broker.bootstrap, deployment.name],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    rows = deployment.reads.history(0, 1_000)
    assert [len(row.ended) for row in rows if row.type == "SessionClosed"] == [1]
    assert done.stderr == ""


def test_a_ledger_without_topics_is_told_apart(broker: Broker, ledger_name: str) -> None:
    with pytest.raises(LogUnavailableError, match="no such topic"):
        Ledger.connect(broker.bootstrap, ledger_name, timeout_s=5.0)


def test_topics_without_a_sequencer_are_no_ledger_yet(broker: Broker, ledger_name: str) -> None:
    create_topics(broker.bootstrap, ledger_name)

    with pytest.raises(SettingsError, match="no sequencer has written"):
        Ledger.connect(broker.bootstrap, ledger_name, timeout_s=1.0)


def test_without_its_broker_a_client_is_told_that_the_outcome_is_unknown(tmp_path: Path) -> None:
    with Broker.start(tmp_path / "kafka") as broker:
        before = set(threading.enumerate())
        deployment = Deployment(broker, "gone")
        ledger = deployment.connect(timeout_s=3.0)
        txn = ledger.begin()
        broker.kill()

        with pytest.raises(OutcomeUnknownError):
            txn.commit()
        began_s = monotonic()
        ledger.close()
        took_s = monotonic() - began_s
        with pytest.raises(LogError, match="closed"):
            ledger.begin()
        deployment.close()

    assert took_s < 10.0
    assert {thread.name for thread in set(threading.enumerate()) - before} == set()


def test_clients_of_one_process_share_a_tail_that_outlives_one(deployment: Deployment) -> None:
    with deployment.connect() as ledger:
        with deployment.connect() as other:
            flights = other.create_table("flights")
            shared = tails()
        txn = ledger.begin()
        with pytest.raises(LogError, match="closed"):
            other.begin()
        txn.write_id(flights.table)
        txn.commit()

    assert shared == 1
    assert tails() == 0


def test_who_waits_is_told_that_the_ledger_was_closed(deployment: Deployment) -> None:
    with deployment.connect(), ThreadPoolExecutor(1) as pool:
        other = deployment.connect()
        other.begin()
        deployment.leader.crash()
        waiting = pool.submit(other.begin)
        other.close()

        # It had been asked already, or it had not.
        with pytest.raises((OutcomeUnknownError, LogError), match="closed"):
            waiting.result(timeout=10)
