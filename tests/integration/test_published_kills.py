"""Publishers that are killed at random points, two at once, over logs that lose their ends.

At the end the folders are byte for byte what one undisturbed publisher writes. A life is a process
of its own that ends by SIGKILL. The server that forks them has loaded the program before, so that a
life is short.
"""

import multiprocessing
import os
import shutil
import signal
from contextlib import closing
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random
from threading import Event as Signal
from time import monotonic
from typing import Any, Final

import pytest

from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.port import LogWriter, Topic
from ledger.machine.kafka.broker import Broker
from projections.delta.actions.log_state import INTERVAL
from projections.delta.log.log_folder import ASIDE, LAST_CHECKPOINT, LOG_FOLDER, version_file
from projections.delta.publisher import DeltaPublisher, PublisherState
from tests.projections.filing import commit
from tests.projections.published import published
from tests.projections.test_delta_publication import BY_DAY, Lake

LEDGER: Final = "kills"
LIVES: Final = 200
COMMITS: Final = 300
TABLES: Final = ("a", "b", "c")
# The log of this one has a file of another program.
SPOILED: Final = "c"
FOREIGN: Final = version_file(40)
LONGEST_S: Final = 1.5
PATIENCE_S: Final = 120.0


def live(bootstrap: str, state: Path, caught_up: Path | None) -> None:
    """Publish until the process is killed, or until all is published if a file is to say so."""
    with closing(KafkaLog(bootstrap, LEDGER)) as log:
        publisher, stop = DeltaPublisher(log, state=PublisherState(state, age_s=0.05)), Signal()
        publisher.run(stop, stop.set if caught_up is not None else lambda: None)
    if caught_up is not None:
        reasons = [f"{each.name}: {each.reason}" for each in publisher.stopped.values()]
        caught_up.write_text("\n".join(reasons))


class KilledPublishers:
    """A ledger whose events come bit by bit, and the processes that publish it."""

    def __init__(self, bootstrap: str, folder: Path, seed: int) -> None:
        self.bootstrap, self.folder, self.rng = bootstrap, folder, Random(seed)  # noqa: S311
        self.lake = Lake(self.made("a"))
        tables = [self.lake.table]
        tables += [
            self.lake.create_table(self.lake.session, name, made=self.made(name))
            for name in TABLES[1:]
        ]
        for number in range(COMMITS):
            commit(self.lake, self.lake.session, self.rng.choice(tables), [f"f{number}"])
        self.records = [record.value for record in self.lake.records]
        spawning = multiprocessing.get_context("forkserver")
        spawning.set_forkserver_preload([__name__, "projections.delta.publisher"])
        self.spawning = spawning
        log = folder / SPOILED / LOG_FOLDER
        log.mkdir(parents=True)
        (log / FOREIGN).write_text("{}\n")

    def made(self, name: str) -> Any:
        """Return the definition of a table with a checkpoint every seven versions."""
        return published(BY_DAY._replace(location=str(self.folder / name)), **{INTERVAL: "7"})

    def start(self, state: str, caught_up: Path | None = None) -> ForkServerProcess:
        arguments = self.bootstrap, self.folder / state, caught_up
        process = self.spawning.Process(target=live, args=arguments, daemon=True)
        process.start()
        return process

    def lose_an_end(self) -> None:
        """Delete a random suffix of a random log, checkpoints of it too, in no order."""
        log = self.folder / self.rng.choice(TABLES[:2]) / LOG_FOLDER
        files = [each for each in log.glob("*") if each.name[0] not in "._"]
        versions = sorted({int(file.name[:20]) for file in files})
        if not versions:
            return
        first = self.rng.choice(versions[-30:])
        gone = [file for file in files if int(file.name[:20]) >= first]
        gone += [each for each in log.glob(LAST_CHECKPOINT) if self.rng.random() < 0.5]
        for each in gone:
            each.unlink()

    def go_on(self, writer: LogWriter, lives: int) -> None:
        """Append some more events, so that the last ones come with the last lives."""
        count = len(self.records) // lives + 1
        for value in self.records[:count]:
            writer.append(b"0", value)
        writer.flush(PATIENCE_S)
        del self.records[:count]

    def run(self, lives: int) -> int:
        """Kill so many lives, one or two at once; return how many wrote something."""
        busy = 0
        with (
            closing(KafkaLog(self.bootstrap, LEDGER)) as log,
            closing(log.writer(Topic.EVENTS)) as writer,
        ):
            while lives > 0:
                if self.records:
                    self.go_on(writer, lives)
                if self.rng.random() < 0.5:
                    self.lose_an_end()
                before = self.content()
                killed = self.kill_some()
                lives -= killed
                busy += killed if self.content() != before else 0
        return busy

    def kill_some(self) -> int:
        """Start one or two publishers, in one folder of state or two, and kill each by itself."""
        states = self.rng.choice([["s"], ["t"], ["s", "t"], ["s", "s"]])
        running = [self.start(state) for state in states]
        for process in running:
            process.join(self.rng.uniform(0.02, LONGEST_S))
            assert process.exitcode is None, f"a publisher ended with {process.exitcode}"
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        for process in running:
            process.join(PATIENCE_S)
            assert process.exitcode == -signal.SIGKILL
        return len(states)

    def rest(self, state: str) -> list[str]:
        said = self.folder / "caught up"
        said.unlink(missing_ok=True)
        self.start(state, said).join(PATIENCE_S)
        return said.read_text().splitlines()

    def content(self) -> dict[str, bytes]:
        """Return all files of all logs, without those that a writer left aside."""
        return {
            f"{table}/{each.name}": each.read_bytes()
            for table in TABLES
            for each in sorted((self.folder / table / LOG_FOLDER).glob("*"))
            if not each.name.startswith(ASIDE)
        }


@pytest.mark.slow
@pytest.mark.kafka
def test_after_200_kills_all_files_equal_an_undisturbed_run(tmp_path: Path) -> None:
    began_s = monotonic()
    with Broker.start(tmp_path / "kafka") as broker:
        create_topics(broker.bootstrap, LEDGER)
        killed = KilledPublishers(broker.bootstrap, tmp_path, seed=7)
        busy = killed.run(LIVES)
        stopped = killed.rest("s")
        found = killed.content()
        for name in TABLES[:2]:
            shutil.rmtree(tmp_path / name)
        assert killed.rest("new") == stopped
        undisturbed = killed.content()
    print(f"{LIVES} kills, {busy} lives wrote, {len(found)} files, {monotonic() - began_s:.0f} s")  # noqa: T201
    assert found == undisturbed
    assert len(found) > COMMITS / 2
    assert busy > LIVES / 4
    (reason,) = stopped
    assert reason.startswith(f"{SPOILED}: ")
    assert FOREIGN in reason
    assert found[f"{SPOILED}/{FOREIGN}"] == b"{}\n"
