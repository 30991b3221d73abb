"""`lakeledger serve publisher` as it is run: a restart with its state reads what is new."""

import json
import signal
from contextlib import closing
from pathlib import Path

import pytest

from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from ledger.machine.exit_codes import ExitCode
from ledger.machine.kafka.broker import Broker
from projections.delta.log.log_folder import version_file
from tests.integration.commands import Command
from tests.projections.filing import commit
from tests.projections.test_delta_publisher import two_tables

LEDGER = "restart"
PATIENCE_S = 60.0


@pytest.mark.kafka
def test_restart(tmp_path: Path) -> None:
    """The second process says where it goes on, writes the new versions alone, and ends well."""
    lake = two_tables(tmp_path)
    old = len(lake.records)
    for each in "yz":
        commit(lake, lake.session, lake.table, [each])
    records = [record.value for record in lake.records]
    with (
        Broker.start(tmp_path / "kafka") as broker,
        closing(KafkaLog(broker.bootstrap, LEDGER)) as log,
    ):
        create_topics(broker.bootstrap, LEDGER)
        where = ("--bootstrap", broker.bootstrap, "--ledger", LEDGER, "--no-http")
        arguments = ("serve", "publisher", "--store", str(tmp_path / "state"), *where)
        for part, written in ((records[:old], 4), (records[old:], 2)):
            with closing(log.writer(Topic.EVENTS)) as writer:
                for value in part:
                    writer.append(b"0", value)
                writer.flush(PATIENCE_S)
            with Command(tmp_path, *arguments) as publisher:
                if written == 2:
                    said = json.loads(publisher.wait_for("going on"))
                    assert said["from_record"] == old
                said = json.loads(publisher.wait_for("caught up"))
                assert said["written"] == written
                assert publisher.end(signal.SIGTERM) == ExitCode.DONE
    assert (tmp_path / "a" / "_delta_log" / version_file(3)).exists()
