"""Trims: backups with images, and events that leave the log by the code of the product.

An operator takes backups, and trims as often as the ledger lets him; now and then he is killed in
between. What left the log is kept here, for the oracle is the log that was never trimmed.
"""

from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from threading import Event as Signal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ledger.backup.contents import manifest_in
from ledger.backup.errors import BackupError, BackupForeignError
from ledger.backup.images.manifest import ROWS
from ledger.backup.images.taking import StoredSection, take_image
from ledger.backup.manifest import Manifest
from ledger.backup.place import FolderPlace
from ledger.backup.taking import take
from ledger.core.commands import CloseSession, Command, OpenSession, TrimLog
from ledger.core.events.events import Event, LogTrimmed, SessionOpened
from ledger.errors import LogDamagedError, LogError, LogUnavailableError, TrimRefusedError
from ledger.log.checkpoints import dump
from ledger.log.port import Record, Topic
from ledger.log.wire.codec import encode_command
from ledger.trimming import trimming
from ledger.trimming.survey import plan
from projections.fold.fold import FoldMark
from projections.rows.keys import CHECKPOINT, LOG, value
from projections.store.port import FORMAT_VERSION
from tests.simulation.clients import NEVER
from tests.simulation.faults import Fault, dice
from tests.simulation.operator import OperatorLog
from tests.simulation.trim_laws import TrimLaws

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_S: Final = (2.0, 5.0)
AGAIN_S: Final = (0.4, 2.5)
ANSWER_S: Final = 6.0
LOOK_S: Final = 0.2
LOOKED_BACK: Final = 300
TOPICS: Final = {"events": {"partitions": 1, "replicas": 1, "settings": {}}}
# How often a trim is killed behind its event, and behind its mark.
KILLED: Final = ("", "", "", "event", "mark")
# How often a follower comes back with rows from before the trim.
COMES_BACK: Final = 0.3
# How often a client asks for a trim without a survey, in place of the operator.
ALONE: Final = 0.1
REASON: Final = "room"


class KilledError(Exception):
    """The program that trims was killed here."""


class Answer(NamedTuple):
    """Where a trim was decided."""

    position: int


class Trims:
    """The backups and trims of one run; `gone` are the records that left the log, in order.

    `archive` holds what was trimmed last.
    """

    def __init__(self, world: "World") -> None:
        self.gone: list[Record] = []
        self.archive: FolderPlace | None = None
        self.laws = TrimLaws(world)
        self._world = world
        self._chance = dice(world.seed, "trims")
        self._others = dice(world.seed, "trims of others")
        self._log = OperatorLog(world, "trims")
        self._places = 0
        self._older: bytes | None = None
        is_on = Fault.TRIMMED in world.faults.on
        self._due_s = self._chance.uniform(*FIRST_S) if is_on else inf

    @property
    def folder(self) -> Path:
        """The folder of the present backup; its name is the same in every run of a seed."""
        return Path(f"archive-{self._places}")

    @property
    def place(self) -> FolderPlace:
        """The place of the present backup."""
        return FolderPlace(self.folder)

    def act_if_due(self) -> None:
        """Take a backup or trim, if it is time and nothing else is being repaired."""
        world = self._world
        if world.timeline.now_s < self._due_s or world.damage.operator.is_called:
            return
        if not world.is_active:
            return
        has_backup = bool(self.place.names())
        act = self._chance.choice((self.back_up, self._trim, self._trim)[: 3 if has_backup else 1])
        if self._others.random() < ALONE:
            act = self._ask_alone
        try:
            act()
        except (LogError, BackupError, KilledError) as error:
            world.note("trims", f"{type(error).__name__}: {error}")
            world.oracle.model.met[f"trim: {type(error).__name__}"] += 1
        self._due_s = world.timeline.now_s + self._chance.uniform(*AGAIN_S)

    def back_up_now(self) -> None:
        """Take a backup out of turn, if this ledger has any."""
        if self._due_s < inf:
            with suppress(LogError, BackupError):
                self.back_up()

    def back_up(self) -> None:
        """Take events and an image; behind a loss that only the backup has, elsewhere."""
        try:
            taken = take(self._log, self.place, TOPICS, stop=Signal())
        except BackupForeignError:
            self._places += 1
            raise
        except LogDamagedError:
            # The backup may go through a record that a cut passes over since.
            self._places += self._world.damage.operator.has_cut
            raise
        oracle = self._world.oracle
        if taken.manifest.reached.head.position == oracle.position:
            self._take_image(taken.manifest)

    def _take_image(self, archive: Manifest) -> None:
        """Take an image of the rows of the mirror, as of a follower at the end of the log."""
        oracle, reached = self._world.oracle, archive.reached
        head, offset = oracle.acceptor.head, reached.counted_end
        now = dump(oracle.state, head, offset)
        checkpoint = self._older if self._older and self._chance.random() < 0.3 else now
        mark = FoldMark(head.position, head.chain.hex(), offset, archive.events_topic)
        rows = {**dict(oracle.mirror.rows()), LOG: value(mark)}
        if not self.laws.is_held(checkpoint):
            checkpoint = now
        section = StoredSection(
            ROWS,
            head.position,
            head.chain,
            offset,
            archive.events_topic,
            FORMAT_VERSION,
            (CHECKPOINT, checkpoint),
            lambda: sorted(rows.items()),
            len(rows),
        )
        take_image(self.place, [section], stop=Signal())
        self._older = now
        self._world.note("trims", f"image of {head.position}")

    def _ask_alone(self) -> None:
        """Ask for a trim as any client may, without a survey; nothing is removed then."""
        newest = self._world.oracle.position
        asker = TrimAsker(self._world, self._log, self._others.randbytes(16), "")
        below = self._others.randint(2, max(2, newest))
        asker.trim_log(below, archive="none", image=newest, digest=b"none", reason=REASON)

    def _trim(self) -> None:
        world, log, place = self._world, self._log, self.place
        below = self._chance.randint(2, max(2, manifest_in(place).reached.head.position))
        if self._chance.random() < 0.7:
            below = self.laws.most(place) or below
        ends = log.ends(Topic.EVENTS)
        try:
            planned = plan(log, place, below, clock=world.damage.operator.clock)
        except TrimRefusedError as refused:
            self.laws.check_refused(refused, below, ends)
            raise
        self.laws.check_planned(planned.mark, place)
        killed = self._chance.choice(KILLED)
        asker = TrimAsker(world, log, self._chance.randbytes(16), killed)
        remove = partial(self._remove, killed, below)
        trimming.carry_out(asker, log, planned, remove, REASON)  # type: ignore[arg-type]

    def _remove(self, killed: str, below: int, offset: int) -> None:
        """Let the records below an offset leave the log."""
        if killed == "mark":
            raise KilledError("in front of the removal")
        network = self._world.network
        true = network.topics[Topic.EVENTS]
        if offset <= true.start:
            return
        self.laws.check_leaving(below, offset)
        left = true.records[: offset - true.start]
        self.gone += [record for record in left if record is not None]
        network.remove_below(Topic.EVENTS, offset)
        self._world.begins = self._world.oracle.history.begins = below
        self.archive = self.place
        self._world.faults.strike(Fault.TRIMMED)
        self._world.note("trims", f"the log begins at offset {offset}")
        if self._chance.random() < COMES_BACK:
            self._chance.choice(self._world.followers).come_back()


class TrimAsker:
    """Asks for a trim as a client does, in a session of its own."""

    def __init__(self, world: "World", log: OperatorLog, nonce: bytes, killed: str) -> None:
        self._world = world
        self._log = log
        self._nonce = nonce
        self._killed = killed

    def trim_log(self, below: int, **given: Any) -> Answer:
        """Return where the trim was decided; raises TrimRefusedError if it is refused."""
        nonce = self._nonce
        self._send(nonce, OpenSession(0, 0, NEVER, nonce, "trimmer", "host", "trim", 0))
        opened = self._answer(lambda event: getattr(event.body, "nonce", b"") == nonce)
        if not isinstance(opened.body, SessionOpened):
            raise TrimRefusedError("no session")
        session = opened.control.position
        key = str(session).encode()
        self._send(key, TrimLog(session, 1, NEVER, below, *given.values()))
        event = self._answer(lambda event: (event.control.session, event.control.n) == (session, 1))
        self._send(key, CloseSession(session, 2, NEVER))
        if not isinstance(event.body, LogTrimmed):
            raise TrimRefusedError(f"refused: {event.body}")
        if self._killed == "event":
            raise KilledError("in front of the mark")
        return Answer(event.control.position)

    def _send(self, key: bytes, command: Command) -> None:
        writer = self._log.writer(Topic.COMMANDS)
        writer.append(key, encode_command(command))
        writer.flush(ANSWER_S)

    def _answer(self, is_wanted: Any) -> Event:
        """Return the event that answers; raises LogUnavailableError if none comes in time."""
        world = self._world
        until_s = world.timeline.now_s + ANSWER_S
        while world.timeline.now_s < until_s:
            for event in list(world.oracle.history.events.values())[-LOOKED_BACK:]:
                if is_wanted(event):
                    return event
            world.advance(LOOK_S)
        raise LogUnavailableError("the trim was not answered in time")
