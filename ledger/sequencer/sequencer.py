"""The sequencer: stands by, claims, leads, and ends.

A standby folds the log and watches for signs of a leader: beats, or records that count. If there
are no signs for a while, although the broker answers and all records are read, it appends a
`Fenced` of the next epoch and reads on. It leads only once it has read back its own nonce. The
first fence in the log wins, so two claimants cost nothing but time. A term that ended is never
resumed: the process ends, and starts again as a standby.

A leader is silent while it decides one command. If that takes longer than the patience of standbys,
each new leader would be deposed over the same command. So standbys double their patience after
every term that began while that command waited and that ended without a decision.
"""

import json
import random
import secrets
from collections.abc import Callable
from contextlib import closing
from threading import Event as Signal
from typing import Literal

from ledger.backup.images.starting import BY_TRIM, StartImages, start_at
from ledger.clock import Clock, SystemClock
from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.acceptance import NO_CHAIN, accept
from ledger.core.decide.decide import decide
from ledger.core.events.events import Control, Event, Fenced, LedgerCreated, Resigned
from ledger.core.evolve.evolve import evolve
from ledger.core.limits import NONCE_BYTES
from ledger.errors import LogDamagedError, LogUnavailableError, OffsetGoneError
from ledger.log.acceptor import Acceptor, Rule
from ledger.log.batches import BatchAcceptor, check_topic, not_where_it_was
from ledger.log.beginning import check_same_topic, events_lost, traces_behind
from ledger.log.checkpoints import Checkpoint, newest, read_values
from ledger.log.other_topics import (
    BEATS_LOOKED,
    CHECKPOINT,
    LASTS_S,
    OtherTopics,
    TopicWitness,
    beat_epoch,
    not_held,
)
from ledger.log.port import Log, LogReader, LogWriter, Topic
from ledger.log.restored import check_finished
from ledger.log.wire.codec import frame_fence
from ledger.log_lines import LogLines
from ledger.sequencer.barren_terms import ended_over
from ledger.sequencer.bounded_clock import BoundedClock
from ledger.sequencer.checkpointing import Checkpointing
from ledger.sequencer.leader import DELIVERY_S, Decide, Leader, catalog_of
from ledger.sequencer.tally import SequencerTally
from ledger.version import CODE_VERSION, READER_VERSION

Role = Literal["standby", "claiming", "leading"]
READ_MAX = 2_000
DOUBLED_MAX = 3
# Long enough for a new reader to connect.
WAITING_S = 2.0

log_lines = LogLines("lakeledger.sequencer")


class Sequencer:
    """One sequencer of one domain; `step` does a round, `run` does rounds until its stop signal."""

    # The class that leads once the fence is read back; a simulation of faults sets another one.
    leader_type: type[Leader] = Leader

    def __init__(
        self,
        log: Log,
        created: Genesis,
        *,
        name: str = "sequencer",
        settings: SequencerSettings | None = None,
        clock: Clock | None = None,
        rule: Rule = accept,
        decisions: Decide = decide,
        nonce: Callable[[], bytes] = lambda: secrets.token_bytes(NONCE_BYTES),
        checks_state: bool = False,
        images: StartImages = BY_TRIM,
    ) -> None:
        self.role: Role = "standby"
        self.leader: Leader | None = None
        self.tally = SequencerTally()
        self._log, self._created, self._name = log, created, name
        self._settings = settings or SequencerSettings()
        self._clock = self.clock = BoundedClock(clock or SystemClock())
        self._decisions, self._draw_nonce = decisions, nonce
        self._nonce = b""
        # The first record of a writer waits for the broker; a claim must not wait so long.
        self._writer = log.writer(Topic.EVENTS)
        self._is_writer_fresh = True
        self._beat_writer: LogWriter | None = None
        self._beat_sent_s = 0.0
        first, end = log.ends(Topic.CHECKPOINTS)
        stored = read_values(log, first, end)
        start = start_at(log, newest(stored, created.domain), images, created.domain)
        if start.state.genesis is None:
            check_finished(log, created.domain)
        else:
            check_same_topic(log, start.state.genesis)
        self.state, self.acceptor = start.state, Acceptor(start.head, rule)
        self._log_at = start.state.at
        self.checkpointing = Checkpointing(
            log,
            created.domain,
            settings=self._settings,
            clock=self._clock,
            position=start.head.position,
            values=stored,
            end=end,
            checks_state=checks_state,
        )
        self._batches = BatchAcceptor(log, self.acceptor, start.offset)
        self._events = self._open_events()
        self._others = OtherTopics(log, created.domain, stored, start.head.position)
        self._contradicted_s: float | None = None
        beats_first, self._beats_new = log.ends(Topic.BEATS)
        self._beats = log.reader(Topic.BEATS, max(beats_first, self._beats_new - BEATS_LOOKED))
        self._sign_s = self._clock.monotonic_s()
        self._patience_s = self._draw_patience()
        self._resigned = start.head.position == 0
        # The start times of the terms since the last decision, by the broker's clock.
        self._begun: list[int] = []
        # The offset of the first undecided command, and the time since which it waits.
        self._waiting: tuple[int, int] | None = None

    def run(self, stop: Signal, wait_s: float = 0.1) -> None:
        """Do rounds until `stop` is set, then resign.

        Raises FencedError, LogUnavailableError or LogDamagedError if this sequencer must end.
        """
        while not stop.is_set():
            self.step(wait_s)
        self.resign()

    def step(self, wait_s: float) -> int:
        """Do one round, waiting up to `wait_s` for work; return the number of decisions."""
        if self.leader is not None:
            decided = self.leader.step(wait_s)
            self._beat()
            self._checkpoint_alone(self.leader, is_idle=not decided)
            return decided
        self._follow(wait_s)
        if self.role == "standby" and self.leader is None:
            self._checkpoint_if_due()
            if self._is_suspect():
                self._claim()
        return 0

    def hears_leader(self) -> bool:
        """Return whether this sequencer leads, or heard a sign of the leader lately."""
        return self.role == "leading" or self._silent_s() < self._patience_s

    def resign(self) -> None:
        """End cleanly: a leader appends Resigned, so that a standby claims at once."""
        if self.leader is not None:
            self.leader.append(Resigned(self._name))
            self._writer.flush(DELIVERY_S)
            log_lines.info("resigned", epoch=self.leader.epoch, position=self.leader.position)
        self.close()

    def close(self) -> None:
        """Close readers and writers without resigning."""
        if self.leader is not None:
            self.leader.close()
        self.checkpointing.close()
        for each in (self._events, self._beats, self._writer, self._beat_writer):
            if each is not None:
                each.close()
        self.leader = None

    def _open_events(self) -> LogReader:
        """Return a reader from the first checkpoint on; raises LogDamagedError if it is refuted."""
        try:
            return self._batches.open()
        except LogDamagedError as damage:
            if not self._batches.offset:
                raise
            head = self.acceptor.head
            raise not_held(TopicWitness(CHECKPOINT, head.position, 0, head), None) from damage

    def _follow(self, wait_s: float) -> None:
        """Fold new records; lead if the own fence is among them."""
        self._hear_beats()
        if self.role == "claiming":
            self._check_claim()
        records = iter(self._events.read(READ_MAX, wait_s))
        for record, event in self._batches.events(records):
            if event is None:
                continue
            evolve(self.state, event)
            self._sign_s = self._clock.monotonic_s()
            self._clock.hear(record.timestamp)
            self._note(event, record.timestamp)
            if self.leader is not None:
                # The leader judges all records after its fence.
                for behind in records:
                    self.leader.flight.take(behind)

    def _note(self, event: Event, noted_ms: int) -> None:
        body = event.body
        if isinstance(body, LedgerCreated):
            check_topic(self._log, body)
        self._resigned = isinstance(body, Resigned)
        if not isinstance(body, Fenced | Resigned):
            # The time of a claim or a resignation may come from a sequencer with a wrong clock.
            self._log_at = event.control.at
        if not isinstance(body, Fenced):
            self._begun.clear()
            return
        self._begun.append(noted_ms)
        if self._nonce and body.nonce == self._nonce:
            self._lead(event)
        elif self.role == "claiming":
            log_lines.info("lost the claim", epoch=event.control.epoch, leader=body.sequencer)
            self._stand_by()

    def _hear_beats(self) -> None:
        for record in self._beats.read(READ_MAX, 0.0):
            self._clock.hear(record.timestamp)
            self._others.hear(record)
            is_new = record.offset >= self._beats_new
            if is_new and beat_epoch(record.value) >= self.acceptor.head.epoch:
                self._sign_s = self._clock.monotonic_s()

    def _is_suspect(self) -> bool:
        """Tell whether the leader seems to be gone.

        Raises EventsLostError if a claim would begin a ledger that existed before, and
        LogDamagedError if the log lost records that were read or that other topics name.
        """
        if not self._resigned and self._silent_s() < self._patience_s:
            return False
        probe_s = self._settings.probe_s
        try:
            is_new, read_to = self.state.genesis is None, self._events.next_offset()
            traces = traces_behind(self._log, read_to, probe_s) if is_new else ()
            events_end = self._log.ends(Topic.EVENTS, probe_s)[1]
            beats_end = self._log.ends(Topic.BEATS, probe_s)[1]
            if not self._resigned and self._silent_s() < self._patience_for_decisions_s():
                return False
        except LogUnavailableError:
            # The broker is silent, which says nothing about the leader.
            self._sign_s = self._clock.monotonic_s()
            return False
        if self._batches.offset > events_end:
            raise not_where_it_was(self.acceptor)
        is_read = self._events.next_offset() >= events_end
        if is_read and traces:
            check_finished(self._log, self._created.domain)
            raise events_lost(traces)
        return is_read and self._beats.next_offset() >= beats_end and self._holds_all()

    def _holds_all(self) -> bool:
        """Tell whether the log, read to its end, agrees with the witnesses in other topics.

        Raises LogDamagedError if it contradicts them for long.
        """
        lost = self._others.contradiction(self.acceptor.head, self.state.cuts)
        now_s = self._clock.monotonic_s()
        if lost is None:
            self._contradicted_s = None
            return True
        if self._contradicted_s is None:
            self._contradicted_s = now_s
        if now_s - self._contradicted_s >= LASTS_S:
            raise lost
        return False

    def _patience_for_decisions_s(self) -> float:
        """Return how long a leader may be silent, given how many ended over the waiting command."""
        barren = self._begun[:-1]
        since_ms = self._waiting_since_ms() if barren else None
        ended = 0 if since_ms is None else ended_over(since_ms, barren)
        return self._patience_s * 2.0 ** min(ended, DOUBLED_MAX)

    def _waiting_since_ms(self) -> int | None:
        """Return the time since which the first undecided command waits, None if none waits."""
        following = self.acceptor.head.last_cmd + 1
        if self._waiting is not None and self._waiting[0] == following:
            return self._waiting[1]
        if self._log.ends(Topic.COMMANDS, self._settings.probe_s)[1] <= following:
            return None
        with closing(self._log.reader(Topic.COMMANDS, following)) as reader:
            try:
                records = reader.read(1, WAITING_S)
            except OffsetGoneError:
                return None
        if records:
            self._waiting = following, records[0].timestamp
        return records[0].timestamp if records else None

    def _silent_s(self) -> float:
        return self._clock.monotonic_s() - self._sign_s

    def _draw_patience(self) -> float:
        return self._settings.suspect_s + random.uniform(0, self._settings.jitter_s)  # noqa: S311

    def _claim(self) -> None:
        """Append a Fenced of the next epoch; the sequencer leads once it is read back."""
        self._nonce = self._draw_nonce()
        body = Fenced(self._nonce, self._name, CODE_VERSION, READER_VERSION)
        at = self._clock.claim_ms(self.state.at)
        head = self.acceptor.head
        control = Control(NO_CHAIN, head.epoch + 1, 0, head.last_cmd, 0, 0, at, 0)
        if not self._is_writer_fresh:
            self._writer.close()
            self._writer = self._log.writer(Topic.EVENTS)
        self._is_writer_fresh = False
        key = catalog_of(self.state, self._created).encode()
        self._writer.append(key, frame_fence(control, body))
        self.role = "claiming"
        self.tally.claims += 1
        self._sign_s = self._clock.monotonic_s()
        log_lines.info("claiming", epoch=head.epoch + 1, position=head.position)

    def _check_claim(self) -> None:
        """Stand by again if the own fence is late; it still leads if it arrives later."""
        self._writer.check()
        if self._silent_s() > self._settings.claim_s:
            self._stand_by()

    def _stand_by(self) -> None:
        self.role = "standby"
        self._sign_s = self._clock.monotonic_s()
        self._patience_s = self._draw_patience()

    def _lead(self, event: Event) -> None:
        self.role = "leading"
        self.leader = self.leader_type(
            log=self._log,
            state=self.state,
            acceptor=self.acceptor,
            events=self._events,
            writer=self._writer,
            clock=self._clock,
            settings=self._settings,
            created=self._created,
            log_at=self._log_at,
            offset=self._batches.offset,
            barren=self._begun[:-1],
            rule=self._decisions,
            tally=self.tally,
        )
        self.tally.terms += 1
        log_lines.info("leading", epoch=event.control.epoch, position=event.control.position)
        counts_s, given_s = self.state.limits.lease_ms / 1000, self._settings.lease_s
        if given_s != counts_s:
            log_lines.warning(
                "the lease from the creation of the ledger counts, not sequencer.lease_s",
                counts_s=counts_s,
                given_s=given_s,
            )
        counts, given = catalog_of(self.state, self._created), self._created.catalog
        if given != counts:
            log_lines.warning(
                "the catalog from the creation of the ledger counts, not the given one",
                counts=counts,
                given=given,
            )

    def _beat(self) -> None:
        """Send the standbys a sign of life at intervals; a lost beat does no harm."""
        now_s = self._clock.monotonic_s()
        if self.leader is None or now_s - self._beat_sent_s < self._settings.beat_s:
            return
        self._beat_sent_s = now_s
        if self._beat_writer is None:
            self._beat_writer = self._log.writer(Topic.BEATS)
        beat = {"epoch": self.leader.epoch, "sequencer": self._name}
        try:
            self._beat_writer.append(str(self._created.domain).encode(), json.dumps(beat).encode())
            self._beat_writer.check()
        except LogUnavailableError as error:
            log_lines.warning("beat not sent", why=str(error))
            self._beat_writer.close()
            self._beat_writer = None

    def _checkpoint_if_due(self) -> None:
        """Write the folded state, so that the next start reads only the tail of the log."""
        head = self.acceptor.head
        if self.checkpointing.is_due(head.position):
            self.checkpointing.write(Checkpoint(self.state, head, self._batches.offset))

    def _checkpoint_alone(self, leader: Leader, *, is_idle: bool) -> None:
        """Write the state of a leader without standbys, once it has no event in flight."""
        checkpointing, position = self.checkpointing, leader.position
        if not (checkpointing.is_due_of_leader(position) and checkpointing.is_missing(position)):
            return
        is_free = is_idle and not leader.flight
        if (is_free or checkpointing.is_overdue(position)) and checkpointing.is_alone():
            settled = leader.settled()
            leader.is_held = settled is None
            if settled is not None:
                checkpointing.write_alone(settled)
