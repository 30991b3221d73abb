"""The leader: reads commands in order, decides each, appends the answer, reads it back.

It works on tentative state: an event is applied as soon as it is queued, so that the next command
is decided on top of it, long before the event is in the log. That is safe because no client sees
the tentative state, and because a leader never repairs it: a failed delivery, an own record that
did not count, or a higher epoch ends the process. The next leader starts from the log.

A command that crashes its leader must not crash all leaders. After terms that ended without a
decision, a leader is careful: each decision is in the log before the next one is made. If leaders
still end, the first command is the cause. Once several leaders have ended while it waited, the
next leader refuses it without a decision.
"""

from collections.abc import Callable, Sequence

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.commands import Command
from ledger.core.decide.cut import fill, take_up
from ledger.core.decide.decide import decide
from ledger.core.decide.housekeep import Lapsed, genesis, housekeep
from ledger.core.decide.stamp import advance, answer_control, filling_control, internal_control
from ledger.core.events.events import (
    Body,
    CommandRefused,
    CommandsMoved,
    Control,
    Event,
    SessionOpened,
    TxnAborted,
    TxnOpened,
)
from ledger.core.evolve.evolve import evolve
from ledger.core.limits import EVENT_BYTES_MAX, NUMBER_DIGITS_MAX, SEND_S
from ledger.core.refusals import Reason, refuse
from ledger.core.state.domain import DomainState
from ledger.errors import LogUnavailableError, OffsetGoneError
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import Checkpoint
from ledger.log.port import Log, LogReader, LogWriter, Record, Topic
from ledger.log.wire.codec import decode_command, frame_event
from ledger.log_lines import CommandLines, LogLines
from ledger.sequencer.barren_terms import LEADERS_PER_COMMAND, ended_over, failed
from ledger.sequencer.bounded_clock import BoundedClock
from ledger.sequencer.in_flight import Flight
from ledger.sequencer.leases import Leases
from ledger.sequencer.log_beginning import LogBeginning
from ledger.sequencer.tally import SequencerTally

COMMANDS_PER_STEP = 500
BEATS_PER_STEP = 2_000
# The key of a leader's own heartbeats, which is not the number of a session.
OWN_BEATS = b"leader"
INTERNAL_PER_STEP = 20
# The longest wait for a command while own events are in flight.
FLIGHT_WAIT_S = 0.02
LOOKS_FOR_BEGINNING = 500
DELIVERY_S = 35.0

Decide = Callable[[DomainState, Command, int], Body]

log_lines = LogLines("lakeledger.sequencer")


class Leader:
    """One term of leadership, from the read-back of its Fenced to its end.

    `state` and `acceptor` are at that Fenced, and the leader owns them from now on; `events` reads
    on from there, at `offset`. `log_at` is the time of the last event that a former leader decided.
    `barren` are the start times, by the broker's clock, of the terms right before this one that
    ended without a decision.
    """

    def __init__(
        self,
        *,
        log: Log,
        state: DomainState,
        acceptor: Acceptor,
        events: LogReader,
        writer: LogWriter,
        clock: BoundedClock,
        settings: SequencerSettings,
        created: Genesis,
        log_at: int,
        offset: int = 0,
        barren: Sequence[int] = (),
        rule: Decide = decide,
        tally: SequencerTally | None = None,
    ) -> None:
        self.state = state
        self.flight = Flight(acceptor, events, offset, state)
        # While set, no command is decided until all decided events are in the log.
        self.is_held = False
        self._head = acceptor.head.copy()
        self._log = log
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self._decide, self._tally = rule, tally or SequencerTally()
        self._barren = barren
        self._key = catalog_of(state, created).encode()
        self._unsent: list[bytes] = []
        self._create(created)
        self._fill()
        # Clients beat by the lease that the ledger was created with, not by this setting.
        self._leases = Leases(clock, max(settings.lease_s, state.limits.lease_ms / 1000))
        self._leases.start(state, log_at)
        self._commands = self._open_commands()
        # A session that was alive before this term counts as heard at its start.
        self._heartbeats = log.reader(Topic.HEARTBEATS, log.ends(Topic.HEARTBEATS)[1])
        self._own_beats = log.writer(Topic.HEARTBEATS)
        self._own_beat = str(self.epoch).encode()
        self._housekeeping_s = 0.0
        self._beginning = LogBeginning(log, settings.probe_s)
        self._lines = CommandLines("lakeledger.sequencer")

    @property
    def epoch(self) -> int:
        """The epoch of this term."""
        return self._head.epoch

    @property
    def position(self) -> int:
        """The position of the last decided event."""
        return self._head.position

    def step(self, wait_s: float) -> int:
        """Do one round, waiting up to `wait_s` for a command; return the number of decisions.

        Raises FencedError or LogUnavailableError when this term is over.
        """
        flight = self.flight
        if self._is_full() or (self.is_held and flight):
            decided = 0
            flight.read_back(wait_s)
        else:
            decided = self._decide_commands(min(wait_s, FLIGHT_WAIT_S) if flight else wait_s)
        self._writer.check()
        if flight:
            flight.read_back(0.0)
        self._housekeep()
        return decided

    def settled(self) -> Checkpoint | None:
        """Return the state with its place in the log, None while events are in flight."""
        if self.flight or self._unsent:
            return None
        return Checkpoint(self.state, self.flight.acceptor.head, self.flight.offset)

    def append(self, body: Body) -> Event:
        """Stamp, frame, apply and send an internal event."""
        event = self._append_framed(internal_control(self._head, body, self._now()), body)
        self._send()
        return event

    def close(self) -> None:
        """Close the readers and the writer that this term opened."""
        for each in (self._commands, self._heartbeats, self._own_beats):
            each.close()

    def _now(self) -> int:
        return max(self.state.at, self._clock.now_ms())

    def _is_full(self) -> bool:
        flight, most = self.flight, self._settings
        return len(flight) >= most.flight_max or flight.bytes >= most.flight_bytes_max

    def _create(self, created: Genesis) -> None:
        while True:
            body = genesis(self.state, created.event(self._log), created.catalog)
            if body is None:
                break
            self.append(body)
        self._come_back()

    def _come_back(self) -> None:
        """Wait until the first events of the ledger are in the log and count.

        An earlier beat would be a trace of a ledger whose events are gone.
        """
        self._writer.flush(DELIVERY_S)
        for _ in range(LOOKS_FOR_BEGINNING):
            if not self.flight:
                return
            self.flight.read_back(FLIGHT_WAIT_S)
        raise LogUnavailableError(
            "the first events of the ledger were appended but could not be read back; see whether "
            "the broker runs"
        )

    def _fill(self) -> None:
        """Fill the gap of the last cut of the log, before any command is read."""
        while (body := fill(self.state, self._now())) is not None:
            self._append_filling(body)

    def _take_up(self, answer: Body) -> bool:
        """Return whether tables had to take up what the last cut lost, before an answer."""
        before = self.position
        while (body := take_up(self.state, answer, self._now())) is not None:
            self._append_filling(body)
        return self.position > before

    def _append_filling(self, body: Body) -> None:
        control = filling_control(self.state, self._head, body, self._now())
        self._append_framed(control, body)
        self._send()

    def _open_commands(self) -> LogReader:
        """Return a reader after the last command; record commands that can never be read."""
        start, end = self._log.ends(Topic.COMMANDS)
        following = self._head.last_cmd + 1
        topic = self._log.topic_id(Topic.COMMANDS)
        if topic != self.state.commands_topic:
            self._move(topic, start, f"the commands topic {self.state.commands_topic} is gone")
        elif following < start:
            self._move(topic, start, f"retention removed commands {following} to {start - 1}")
        elif following > end:
            self._move(topic, end, f"commands {end} to {following - 1} were lost by the broker")
        return self._log.reader(Topic.COMMANDS, self._head.last_cmd + 1)

    def _move(self, topic: str, following: int, reason: str) -> None:
        body = CommandsMoved(topic, reason)
        control = internal_control(self._head, body, self._now(), last_cmd=following - 1)
        self._append_framed(control, body)
        self._send()

    def _decide_commands(self, wait_s: float) -> int:
        try:
            records = self._commands.read(COMMANDS_PER_STEP, wait_s)
        except OffsetGoneError:
            self._commands.close()
            self._commands = self._open_commands()
            self._leases.look_again()
            return 0
        # Commands that were read together get the same time.
        now = self._clock.now_at(records)
        began_s = self._clock.monotonic_s()
        send_s = began_s + SEND_S
        heard: set[int] = set()
        is_careful = bool(self._barren)
        for record in records:
            if record.offset != self._head.last_cmd + 1:
                following = self._head.last_cmd + 1
                self._move(
                    self.state.commands_topic,
                    record.offset,
                    f"the topic has no commands {following} to {record.offset - 1}",
                )
            heard.add(self._answer(record, now).control.session)
            if is_careful or self._clock.monotonic_s() >= send_s:
                self._send()
                send_s = self._clock.monotonic_s() + SEND_S
            if is_careful:
                self._writer.flush(DELIVERY_S)
        # Records appended together share a request. Appended one by one, each would cost the broker
        # a request, and the client's thread would spin between them.
        self._send()
        for session in heard:
            self._leases.heard(session)
        if records:
            self._tally.note_burst(len(records), self._clock.monotonic_s() - began_s)
        return len(records)

    def _answer(self, record: Record, now: int) -> Event:
        command = decode_command(record.value)
        ended, self._barren = ended_over(record.timestamp, self._barren), ()
        if ended < LEADERS_PER_COMMAND:
            body = self._decided(command, now)
            if self._take_up(body):
                body = self._decided(command, now)
        else:
            body = failed(command, f"{ended} leaders in a row ended before they answered it")
        control = answer_control(self.state, self._head, command, body, max(self.state.at, now))
        event = self._append_framed(control, body)
        self._note(event)
        if self._lines.are_on:
            self._lines.note("decided", event)
        return event

    def _decided(self, command: Command, now: int) -> Body:
        """Return the decision on a command, or a refusal if the decision fails."""
        try:
            return self._decide(self.state, command, now)
        except Exception as error:  # noqa: BLE001 - no command, however odd, may stop a ledger
            return failed(command, f"the decision failed: {error!r}")

    def _note(self, event: Event) -> None:
        """Begin the lease of a new session, and the deadlines of new txns."""
        control, body = event
        if isinstance(body, TxnOpened):
            for txn in range(control.txn, control.txn + body.size):
                self._leases.add_txn(txn, body.deadline - control.at)
        elif isinstance(body, SessionOpened):
            self._leases.add_session(control.position, body.lease_ms)
        elif isinstance(body, TxnAborted | CommandRefused):
            self._tally.note(body)

    def _append_framed(self, control: Control, body: Body) -> Event:
        event, framed = self._framed(control, body)
        evolve(self.state, event)
        advance(self._head, event.control)
        self._unsent.append(framed)
        self.flight.add(event.control, event.body, framed)
        return event

    def _framed(self, control: Control, body: Body) -> tuple[Event, bytes]:
        """Return an event and its bytes; an event that does not fit a record becomes a refusal."""
        try:
            framed = frame_event(control, body, self._head.chain)
        except (ValueError, OverflowError, TypeError) as error:
            reason = f"the answer cannot be written: {error!r}"
        else:
            if len(framed[1]) <= EVENT_BYTES_MAX:
                return framed
            reason = (
                f"an answer must have {EVENT_BYTES_MAX} bytes at most, got {len(framed[1])}; send "
                "smaller commands"
            )
        refusal = refuse(Reason.LIMIT_EXCEEDED, reason)
        return frame_event(control._replace(txn=0), refusal, self._head.chain)

    def _send(self) -> None:
        for framed in self._unsent:
            self._writer.append(self._key, framed)
        self._unsent.clear()

    def _housekeep(self) -> None:
        """Check for another leader, heartbeats, lapsed leases and trims, at intervals.

        The interval keeps this work away from single commands.
        """
        now_s = self._clock.monotonic_s()
        if now_s - self._housekeeping_s < self._settings.housekeeping_s:
            return
        self._housekeeping_s = now_s
        self.flight.read_back(0.0)
        self._listen()
        lapsed = self._leases.lapsed(self.state, self._read_to(), self._ends) or Lapsed()
        if self._leases.is_to_beat():
            self._send_beat()
        if (trimmed := self._beginning.seen(self.state, now_s)) is not None:
            self.append(trimmed)
        for _ in range(INTERNAL_PER_STEP):
            body = housekeep(self.state, lapsed)
            if body is None:
                return
            self.append(body)

    def _listen(self) -> None:
        """Renew the leases of the sessions that beat; other keys are ignored."""
        try:
            beats = self._heartbeats.read(BEATS_PER_STEP, 0.0)
        except OffsetGoneError as gone:
            self._heartbeats.close()
            self._heartbeats = self._log.reader(Topic.HEARTBEATS, gone.earliest)
            self._leases.look_again()
            return
        for beat in beats:
            if len(beat.key) <= NUMBER_DIGITS_MAX and beat.key.isdigit():
                self._leases.heard(int(beat.key))
            elif beat.key == OWN_BEATS and beat.value == self._own_beat:
                self._leases.beat_returned()

    def _send_beat(self) -> None:
        """Append a heartbeat of the leader; a lost one ends neither a session nor the leader."""
        try:
            self._own_beats.check()
            self._own_beats.append(OWN_BEATS, self._own_beat)
        except LogUnavailableError as error:
            log_lines.warning("heartbeats do not arrive, no lease is judged", why=str(error))
            self._own_beats.close()
            self._own_beats = self._log.writer(Topic.HEARTBEATS)

    def _read_to(self) -> tuple[int, int]:
        return self._heartbeats.next_offset(), self._commands.next_offset()

    def _ends(self) -> tuple[int, int]:
        """Return the ends of heartbeats and commands, within the patience of standbys."""
        heartbeats, commands = (
            self._log.ends(topic, self._settings.probe_s)[1]
            for topic in (Topic.HEARTBEATS, Topic.COMMANDS)
        )
        return heartbeats, commands


def catalog_of(state: DomainState, created: Genesis) -> str:
    """Return the catalog that the ledger was, or will be, created with."""
    return min(state.catalogs, default=created.catalog)
