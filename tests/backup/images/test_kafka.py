"""Images on a real Kafka: taken by the command, and begun with by roles once the log is trimmed."""

import json
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.backup.images.reading import newest_image
from ledger.backup.place import FolderPlace
from ledger.client import Ledger
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import ANSWER_S, create_topics
from ledger.log.port import Topic
from ledger.log.trimmed import TrimMark, write_trim_mark
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from ledger.session.tail import read_genesis
from ledger.trimming.survey import found_in
from projections.store.rocks_reader import RocksReader
from tests.backup.images.benches import followed_at
from tests.command_line import done_in
from tests.integration.commands import Command
from tests.integration.fleet import Fleet
from tests.projections.digests import digest

pytestmark = pytest.mark.kafka

TXNS = 30
TABLES = 3


@pytest.fixture
def log(broker: Broker, ledger_name: str) -> Iterator[KafkaLog]:
    create_topics(broker.bootstrap, ledger_name)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield log


def worked(client: Ledger) -> None:
    """Let a ledger have some more txns and tables."""
    for number in range(TABLES):
        client.create_table(f"t{number}_{client.begin().id}", [("id", "bigint")])
    for _ in range(TXNS):
        client.begin().commit()


def trimmed(broker: Broker, ledger: str, log: KafkaLog, path: Path) -> TrimMark:
    """Trim a log as far as its image allows, without the event of it."""
    image = newest_image(FolderPlace(path))
    assert image is not None
    below = image.checkpoint
    head, offset = found_in(log, below, lambda _done, _end: None)
    created, topic = read_genesis(log, 10.0), log.topic_id(Topic.EVENTS)
    mark = TrimMark(topic, below, offset, head, created, str(path), image.position, below)
    write_trim_mark(log, created.domain, mark)
    KafkaAdmin(broker.bootstrap, {}, ANSWER_S).remove_below(ledger, Topic.EVENTS, offset)
    return mark


def test_roles_begin_with_an_image(
    broker: Broker, ledger_name: str, log: KafkaLog, tmp_path: Path
) -> None:
    where = ("--bootstrap", broker.bootstrap, "--ledger", ledger_name)
    path, rows, new = tmp_path / "backup", tmp_path / "rows", tmp_path / "new"
    home = {"LAKELEDGER_HOME": str(tmp_path), "LAKELEDGER_STORE": str(rows)}
    with (
        Fleet(broker.bootstrap, ledger_name, 1),
        Ledger.connect(broker.bootstrap, ledger_name) as client,
    ):
        worked(client)
        first = done_in(tmp_path, "backup", str(path), *where, "-o", "json", **home)
        assert json.loads(first.stdout)["image"] is None, "there are no rows yet"
        followed_at(log, rows)
        worked(client)
        done = done_in(tmp_path, "backup", str(path), *where, "-o", "json", **home)
        taken = json.loads(done.stdout)
        assert taken["image"] == taken["image_checkpoint"] < taken["position"]
        again = done_in(tmp_path, "backup", str(path), *where, "-o", "json", **home)
        assert json.loads(again.stdout)["image_files_new"] == 0
        mark = trimmed(broker, ledger_name, log, path)
        assert log.ends(Topic.EVENTS)[0] == mark.offset > 0
        worked(client)
        follower = ("serve", "follower", *where, "--no-http", "--store", str(new))
        with Command(tmp_path, *follower, "--image", "off") as refused:
            refused.wait_for("LogTrimmedError")
            assert refused.process.wait() == ExitCode.UNHEALTHY
        with Command(tmp_path, *follower) as begun:
            begun.wait_for("beginning with an image")
            begun.wait_for("caught up")
            assert begun.end(signal.SIGTERM) == ExitCode.DONE
    with Command(tmp_path, "serve", "sequencer", *where) as sequencer:
        sequencer.wait_for("leading")
        assert sequencer.end(signal.SIGTERM) == ExitCode.DONE
    followed_at(log, rows)
    followed_at(log, new)
    with RocksReader.open(rows) as whole, RocksReader.open(new) as other:
        assert digest(whole) == digest(other)
