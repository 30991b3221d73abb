"""One ledger of a broker that loses power: its history, what is cut of it, and its way back.

The roles are those of `lakeledger up`, in threads of this process: its check of the rows, then a
sequencer and a follower. What the errors name as the way back is run as it is named.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.events.events import Event
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import LedgerError, LogUnavailableError
from ledger.log.checkpoints import Checkpoint
from ledger.log.kafka.topic_settings import FLUSHED, topic_name
from ledger.log.kafka.topics import create_topics
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.machine.former_rows import check_rows, check_rows_given_up, set_rows_aside
from ledger.recovery.cutting import write_checkpoint
from ledger.sequencer.sequencer import Sequencer
from ledger.testing import SequencerThread
from projections.queries import open_reads
from tests.command_line import Done, done_in
from tests.integration.power.readers import FollowerThread, OldReaders, RowsServer, Where
from tests.integration.power.segments import cut_topic, places, recovery_points
from tests.log.kafka_bench import eventually

TABLE: Final = "db.t"
# A ledger that lost its first events is no ledger any more: `docs/lost-events.md`.
BEGINNING: Final = 3
# A broker that shares its cores with five other ledgers may take its time.
LEADS_S: Final = 120.0
UP: Final = "lakeledger up --rebuild"
ALERT: Final = SequencerSettings(suspect_s=0.3, jitter_s=0.1, lease_s=60.0)
# A command as a sentence names it, with the options that it is given.
NAMED: Final = re.compile(
    r"lakeledger (?:recover|up)"
    r"(?: --(?:cut|adopt|rebuild)\b| --(?:bootstrap|ledger|home|store) \S+)*"
)


class Plan(NamedTuple):
    """What a power cut takes: these topics, in durable mode no more than was not flushed.

    `again` are the commits of a new client before the old readers come back.
    """

    topics: tuple[Topic, ...]
    is_durable: bool
    has_checkpoint: bool
    commits: int
    again: int


class Receipt(NamedTuple):
    """What a client was told of its commit."""

    txn: int
    position: int
    table: int
    write_id: int
    version: int

    def given(self) -> set[tuple[object, ...]]:
        """Return all that it gives, which nothing else may be given."""
        return {
            ("txn", self.txn),
            ("position", self.position),
            ("write id", self.table, self.write_id),
            ("version", self.table, self.version),
        }


def commit(client: Ledger) -> Receipt:
    """Commit an insert, and return what was told of it."""
    with client.transaction(tables=[TABLE]) as txn:
        txn.wrote(TABLE, "insert")
        write_id = txn.write_id(TABLE)
    assert txn.receipt is not None
    ((table, version),) = txn.receipt.versions.items()
    return Receipt(txn.id, txn.receipt.position, table, write_id, version)


class Roles:
    """A sequencer and the follower of a host, in this process."""

    def __init__(self, where: Where, *, rebuild: bool = False) -> None:
        self._log, self._genesis = where.log(), Genesis(where.ledger)
        try:
            self._leader = self._start()
        except BaseException:
            self._log.close()
            raise
        self.follower = FollowerThread(where, where.store, rebuild=rebuild)

    def wait_for_leader(self) -> None:
        """Wait until the sequencer leads; raises what ended it if it does not.

        A sequencer that a busy broker did not answer in time is started again, as `lakeledger up`
        does with its roles.
        """
        eventually(self._leads, LEADS_S)

    def _leads(self) -> bool:
        failure = self.failure()
        if isinstance(self._leader.failure, LogUnavailableError):
            self._leader = self._start()
        elif failure is not None:
            raise failure
        return self._leader.sequencer.leader is not None

    def _start(self) -> SequencerThread:
        return SequencerThread(Sequencer(self._log, self._genesis, settings=ALERT)).start()

    def failure(self) -> BaseException | None:
        """Return what has ended a role, None while both run."""
        return self._leader.failure or self.follower.error

    def end(self) -> None:
        """End as a process does that loses power: without a word."""
        self._leader.crash()
        self.follower.close()
        self._log.close()


class StruckLedger:
    """A ledger on the broker of a series, from its first commit to its way back."""

    def __init__(self, where: Where, plan: Plan) -> None:
        self.where, self.plan = where, plan
        self.receipts: list[Receipt] = []
        self.given: list[Event] = []
        create_topics(where.bootstrap, where.ledger, flush=plan.is_durable)
        self.roles = Roles(where)
        eventually(lambda: has_rows(where.store))
        self._own = ExitStack()
        self.server = self._own.enter_context(closing(RowsServer(where.store)))
        rows = self._own.enter_context(closing(open_reads(where.store)))
        self.writer = self._own.enter_context(where.connect("writer", rows))
        self.writer.create_table(TABLE, layout="directories")
        self.readers = self._own.enter_context(closing(OldReaders(where, self.server)))

    def grow(self) -> None:
        """Commit, and let all readers see it; then nothing is under way, and its roles end."""
        self.receipts += [commit(self.writer) for _ in range(self.plan.commits)]
        self.readers.read_to(self.receipts[-1].position)
        self.roles.end()
        self.server.close()
        with closing(self.where.log()) as log:
            replay = Replay(log)
            self.given = list(replay)
            if self.plan.has_checkpoint:
                state = DomainState()
                for event in self.given:
                    evolve(state, event)
                write_checkpoint(log, Checkpoint(state, replay.acceptor.head, replay.end))

    def is_flushed(self, folder: Path) -> bool:
        """Tell whether the broker says that it has flushed all of the events."""
        name = topic_name(self.where.ledger, Topic.EVENTS)
        return recovery_points(folder).get(name, 0) >= places(folder, name)[-1]

    def lose(self, folder: Path, chance: Random) -> Mapping[Topic, tuple[int, int]]:
        """Take from the broker's folder what it lost; return end and kept end by topic."""
        flushed, lost = recovery_points(folder), {}
        for topic in self.plan.topics:
            name = topic_name(self.where.ledger, topic)
            every = places(folder, name)
            least = BEGINNING if topic is Topic.EVENTS else 0
            if self.plan.is_durable and topic in FLUSHED:
                least = min(flushed.get(name, 0), every[-1])
            kept = chance.choice([each for each in every if each >= least])
            cut_topic(folder, name, kept)
            lost[topic] = (every[-1], kept)
        return lost

    def last_kept(self) -> int:
        """Return the position that the log ends with now."""
        with closing(self.where.log()) as log:
            replay = Replay(log)
            return [event.control.position for event in replay][-1]

    def come_up(self) -> LedgerError | None:
        """Do what `lakeledger up` does; return what refuses it, None if it is up."""
        try:
            with closing(self.where.log()) as log:
                check_rows(self.where.store, log, self.where.options)
            self.roles = Roles(self.where)
        except LedgerError as error:
            return error
        self.server.start()
        return None

    def follow(self, text: str, depth: int = 3) -> Iterator[str]:
        """Run the commands that a text names, and those that their own output names; yield them."""
        for command in dict.fromkeys(NAMED.findall(text)):
            words = shlex.split(command)[1:]
            if command.startswith(UP):
                self._up_anew()
                yield command
                return
            done = self._run(*words)
            assert done.returncode == 0, f"{command}: {done.stderr}"
            yield command
            for following in self.follow(done.stderr, depth - 1) if depth else ():
                yield following
                if following.startswith(UP):
                    return

    def _up_anew(self) -> None:
        """Do what `lakeledger up --rebuild` does."""
        with closing(self.where.log()) as log:
            check_rows_given_up(self.where.store, log)
        set_rows_aside(self.where.folder, lambda _line: None)
        self.roles = Roles(self.where, rebuild=True)
        self.server.start()

    def _run(self, *words: str) -> Done:
        return done_in(
            self.where.folder,
            *words,
            # Roles do not know by which options their ledger was named.
            LAKELEDGER_BOOTSTRAP=self.where.bootstrap,
            LAKELEDGER_LEDGER=self.where.ledger,
            LAKELEDGER_HOME=str(self.where.folder.parent),
        )

    def close(self) -> None:
        """Let go of clients and readers."""
        self._own.close()


def has_rows(store: Path) -> bool:
    """Tell whether a follower has made its rows."""
    try:
        with closing(open_reads(store)) as reads:
            return reads.position() > 0
    except LedgerError:
        return False
