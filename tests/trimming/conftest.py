"""What tests of trims share: a ledger on Kafka with rows, a backup with an image, and commands."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.core.events.events import RecordsTrimmed
from ledger.log.checkpoints import read_newest_head
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.log.trimmed import start_of
from ledger.machine.kafka.broker import Broker
from tests.backup.images.benches import followed_at
from tests.command_line import Done, done_in
from tests.integration.commands import Command

OFTEN: Final = ("--set", "sequencer.checkpoint_positions=3")
TXNS: Final = 12
PATIENCE_S: Final = 60.0


class TrimBench:
    """A ledger that a sequencer leads, its rows, and its backup, in a folder."""

    def __init__(self, broker: Broker, ledger: str, folder: Path, log: KafkaLog) -> None:
        self.broker, self.ledger, self.folder, self.log = broker, ledger, folder, log
        self.rows, self.backup = folder / "rows", folder / "backup"
        self.where = ("--bootstrap", broker.bootstrap, "--ledger", ledger)
        self.environ = {
            "LAKELEDGER_HOME": str(folder),
            "LAKELEDGER_STORE": str(self.rows),
            "LAKELEDGER_BOOTSTRAP": broker.bootstrap,
            "LAKELEDGER_LEDGER": ledger,
        }

    def run(self, *arguments: str, **environ: str) -> Done:
        return done_in(self.folder, *arguments, **self.environ, **environ)

    def answer(self, *arguments: str, **environ: str) -> Any:
        """Return what a command answers to a program; it must end well."""
        done = self.run(*arguments, "-o", "json", **environ)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def serve(self, *arguments: str, **environ: str) -> Command:
        return Command(self.folder, "serve", *arguments, *self.where, **self.environ, **environ)

    @contextmanager
    def led(self) -> Iterator[None]:
        """Let one sequencer lead, and another write checkpoints, while the block runs."""
        with self.serve("sequencer", *OFTEN) as leader:
            leader.wait_for("leading")
            with self.serve("sequencer", *OFTEN) as standby:
                standby.wait_for("standing by")
                yield

    def client(self) -> Ledger:
        return Ledger.connect(self.broker.bootstrap, self.ledger)

    def work(self) -> None:
        """Let the ledger have some more txns."""
        with self.client() as client:
            for _ in range(TXNS):
                client.begin().commit()

    def wait_for_checkpoint(self, position: int) -> None:
        """Return once the newest state checkpoint is of a position or later; an event is due."""
        until_s = monotonic() + PATIENCE_S
        with self.client() as client:
            while (newest := read_newest_head(self.log, 0)) is None or newest[
                0
            ].position < position:
                assert monotonic() < until_s, "no checkpoint came"
                client.begin().commit()

    def back_up(self) -> Any:
        """Follow the log, and take events and image."""
        followed_at(self.log, self.rows)
        return self.answer("backup", str(self.backup))

    def wait_for_end_of_trim(self) -> None:
        """Return once a leader has said that records left."""
        until_s = monotonic() + PATIENCE_S
        while not any(
            isinstance(event.body, RecordsTrimmed)
            for event in Replay(self.log, begun=start_of(self.log))
        ):
            assert monotonic() < until_s, "no leader has seen the trim"

    def begins_at(self) -> int:
        """Return the first offset that the log has."""
        return self.log.ends(Topic.EVENTS)[0]


@pytest.fixture
def bench(broker: Broker, ledger_name: str, tmp_path: Path) -> Iterator[TrimBench]:
    """Return a ledger without a sequencer."""
    create_topics(broker.bootstrap, ledger_name)
    with closing(KafkaLog(broker.bootstrap, ledger_name)) as log:
        yield TrimBench(broker, ledger_name, tmp_path, log)
