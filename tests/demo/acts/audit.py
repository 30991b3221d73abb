"""The audit: reads the whole log once more, and checks that no command was lost or done twice.

It uses nothing from sequencers, stores and producers: only the commands and events in Kafka, under
the accept rule.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.acceptance import LogHead
from ledger.core.events.events import (
    Body,
    CommandRefused,
    CommandRepeated,
    Control,
    Event,
    Fenced,
    TableAltered,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Record, Topic, records_between

Asker = tuple[int, int]
"""A session and its number of a command."""


class AnswerTime(NamedTuple):
    """When an answer was appended, and the offset of its command; milliseconds since 1970."""

    at_ms: int
    cmd: int


@dataclass(slots=True)
class Term:
    """The lead of one sequencer; times are the broker's, in milliseconds since 1970."""

    epoch: int
    sequencer: str
    fenced_ms: int
    answers: list[AnswerTime] = field(default_factory=list)


@dataclass(slots=True)
class Audit:
    """The content of the log.

    `asked_ms` is when each command came, by its offset. `write_ids` are txns by table and write id.
    `committed` are positions, `aborted` reasons, both by txn.
    """

    asked_ms: list[int]
    acceptor: Acceptor = field(default_factory=lambda: Acceptor(LogHead()))
    records: int = 0
    bytes: int = 0
    terms: list[Term] = field(default_factory=list)
    first_answers: Counter[Asker] = field(default_factory=Counter)
    repeated: int = 0
    refused: list[str] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    write_ids: dict[int, dict[int, set[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    committed: dict[int, int] = field(default_factory=dict)
    aborted: dict[int, str] = field(default_factory=dict)
    conflicts: int = 0

    def take(self, record: Record) -> None:
        """Take one record of the events topic; raises LogDamagedError as every reader does."""
        self.records += 1
        self.bytes += len(record.key) + len(record.value)
        event = self.acceptor.take(record.value)
        if event is None:
            return
        if event.control.session:
            self._note_answer(event, record.timestamp)
        self._note_body(event.control, event.body, record.timestamp)

    def _note_answer(self, event: Event, at_ms: int) -> None:
        control, body = event
        self.terms[-1].answers.append(AnswerTime(at_ms, control.cmd))
        if isinstance(body, CommandRepeated):
            self.repeated += 1
            return
        self.first_answers[control.session, control.n] += 1
        if isinstance(body, CommandRefused):
            self.refused.append(f"{body.reason} at position {control.position}")

    def _note_body(self, control: Control, body: Body, at_ms: int) -> None:
        match body:
            case Fenced():
                self.terms.append(Term(control.epoch, body.sequencer, at_ms))
            case TxnOpened():
                self.opened.extend(range(control.txn, control.txn + body.size))
                self._note_write_ids(body)
            case WriteIdsAllocated():
                self._note_write_ids(body)
            case TxnCommitted() | TableAltered(one_shot=True):
                self.committed[control.txn] = control.position
                if body.one_shot:
                    self.opened.append(control.txn)
            case TxnAborted():
                self.aborted[control.txn] = body.reason
                self.conflicts += body.evidence is not None
            case TxnsExpired():
                self.aborted.update({end.txn: end.cause for end in body.ends})
            case _:
                pass

    def _note_write_ids(self, body: TxnOpened | WriteIdsAllocated) -> None:
        for each in body.ids:
            self.write_ids[each.table][each.write_id].add(each.txn)

    @property
    def all_answered(self) -> bool:
        """Return whether every command record has its answer; answers come in order."""
        return self.acceptor.head.last_cmd + 1 == len(self.asked_ms)

    @property
    def doubled(self) -> list[Asker]:
        """The commands that were executed more than once."""
        return [asker for asker, count in self.first_answers.items() if count > 1]

    @property
    def missing(self) -> list[Asker]:
        """The commands that sessions numbered and that have no answer."""
        last: dict[int, int] = {}
        for session, n in self.first_answers:
            last[session] = max(n, last.get(session, 0))
        numbered = {(session, n) for session in last for n in range(1, last[session] + 1)}
        return sorted(numbered - self.first_answers.keys())

    def waiting_at(self, term: Term) -> int:
        """Return how many commands came before a term began and were answered in it."""
        return sum(self.asked_ms[answer.cmd] <= term.fenced_ms for answer in term.answers)


def read_audit(log: Log) -> Audit:
    """Read both topics to their present ends."""
    audit = Audit([record.timestamp for record in records(log, Topic.COMMANDS)])
    for record in records(log, Topic.EVENTS):
        audit.take(record)
    return audit


def records(log: Log, topic: Topic) -> Iterator[Record]:
    """Return the records of a topic, from the first to its present end."""
    return records_between(log, topic, *log.ends(topic))


def is_dense(ids: list[int]) -> bool:
    """Return whether ids are 1, 2, 3 and so on, without a gap and each once."""
    return sorted(ids) == list(range(1, len(ids) + 1))
