"""The audit: reads a finished log on its own and finds what the laws of a ledger forbid.

It shares nothing with those who wrote the log, or who read it while it was written.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rich.console import Console

from ledger.core.acceptance import LogHead
from ledger.core.events.events import (
    CommandRepeated,
    CommandsMoved,
    Event,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import digest
from ledger.log.port import Log, Topic
from ledger.log.replay import verify
from ledger.log.wire.codec import decode_command, read_control
from ledger.session.receipt import Receipt
from tests.integration.result import Asker, Result, asker_of, result_of

READ_MAX: Final = 5_000
PATIENCE_S: Final = 30.0


class Dense:
    """Numbers given out from 1 on without a hole, each to one holder; `wrong` are those not so."""

    def __init__(self) -> None:
        self.holders: dict[int, int] = {}
        self.wrong: list[int] = []

    def give(self, number: int, holder: int = 0) -> None:
        """Note a number given out; naming it again for the same holder is allowed."""
        if number in self.holders if holder == 0 else self.holders.get(number, holder) != holder:
            self.wrong.append(number)
        elif number not in self.holders:
            if number != len(self.holders) + 1:
                self.wrong.append(number)
            self.holders[number] = holder


class Check(NamedTuple):
    """One law, and what was found against it."""

    law: str
    found: str = ""

    @property
    def holds(self) -> bool:
        """Tell whether nothing was found."""
        return not self.found


class Audit:
    """What a log holds from beginning to end."""

    def __init__(self, log: Log) -> None:
        self.acceptor, self.state = Acceptor(LogHead()), DomainState()
        self.kinds: Counter[str] = Counter()
        self.dropped_of_epoch: Counter[int] = Counter()
        self.answers: dict[Asker, list[Result]] = defaultdict(list)
        self.positions = Dense()
        self.txns = Dense()
        self.write_ids: dict[int, Dense] = defaultdict(Dense)
        self.versions: dict[int, Dense] = defaultdict(Dense)
        self.first_answers: dict[int, Asker] = {}
        self.commits: dict[int, tuple[int, list[tuple[int, int, int]]]] = {}
        self.moved: list[range] = []
        self._log = log
        self._read()

    @property
    def digest(self) -> str:
        """Return the digest of what the log folds to."""
        return digest(self.state, self.acceptor.head)

    def _read(self) -> None:
        for value in values(self._log, Topic.EVENTS):
            last_cmd = self.acceptor.head.last_cmd
            event = self.acceptor.take(value)
            if event is None:
                self.dropped_of_epoch[read_control(value)[0].epoch] += 1
                continue
            evolve(self.state, event)
            self._note(event, last_cmd)

    def _note(self, event: Event, last_cmd: int) -> None:
        control, body = event
        self.kinds[type(body).__name__] += 1
        self.positions.give(control.position)
        if isinstance(body, CommandsMoved):
            self.moved.append(range(last_cmd + 1, control.cmd + 1))
        elif control.cmd != last_cmd:
            self.first_answers[control.cmd] = asker_of(event)
        if control.session and not isinstance(body, CommandRepeated):
            self.answers[asker_of(event)].append(result_of(event))
        self._note_ids(event)

    def _note_ids(self, event: Event) -> None:
        control, body = event
        match body:
            case TxnOpened():
                for txn in range(control.txn, control.txn + body.size):
                    self.txns.give(txn)
                self._give_write_ids(body)
            case WriteIdsAllocated():
                self._give_write_ids(body)
            case TxnCommitted():
                if body.one_shot:
                    self.txns.give(control.txn)
                parts = [(part.table, part.write_id, part.version) for part in body.parts]
                self.commits[control.txn] = control.position, parts
                for part in body.parts:
                    self.versions[part.table].give(part.version)
                    self.write_ids[part.table].give(part.write_id, control.txn)
            case _:
                pass

    def _give_write_ids(self, body: TxnOpened | WriteIdsAllocated) -> None:
        for each in body.ids:
            self.write_ids[each.table].give(each.write_id, each.txn)

    def check(self, returned: Mapping[Asker, Result]) -> list[Check]:
        """Return the laws of a log, and what clients were told compared with it."""
        return [
            Check(
                "every outcome a client was returned is in the log, once", self._untrue(returned)
            ),
            Check("every command was decided, and its answer names its asker", self._undecided()),
            Check("positions are dense", told(self.positions.wrong)),
            Check("txn ids are dense", told(self.txns.wrong)),
            Check("write ids of a table are dense", told(wrong_of(self.write_ids))),
            Check("versions of a table are dense", told(wrong_of(self.versions))),
            Check("no command was refused", self._none_of("CommandRefused")),
            Check("no session and no txn expired", self._none_of("TxnsExpired")),
            Check("another reader's fold has the same digest", self._other_digest()),
        ]

    def check_receipts(self, receipts: Sequence[Receipt]) -> list[Check]:
        """Return what receipts promise, compared with the log."""
        wrong = [receipt for receipt in receipts if not self._is_true(receipt)]
        twice = len(receipts) - len({receipt.txn for receipt in receipts})
        return [
            Check("every receipt of the SDK is a commit of the log", told(wrong)),
            Check("no txn has two receipts", f"{twice}" if twice else ""),
        ]

    def _is_true(self, receipt: Receipt) -> bool:
        parts = sorted((table, *each) for table, each in receipt.tables.items())
        return self.commits.get(receipt.txn) == (receipt.position, parts)

    def _untrue(self, returned: Mapping[Asker, Result]) -> str:
        wrong = [asker for asker, result in returned.items() if self.answers[asker] != [result]]
        return told(wrong)

    def _undecided(self) -> str:
        wrong: list[int] = []
        for offset, value in enumerate(values(self._log, Topic.COMMANDS)):
            command = decode_command(value)
            is_moved = any(offset in moved for moved in self.moved)
            if not is_moved and self.first_answers.get(offset) != (command.session, command.n):
                wrong.append(offset)
        return told(wrong)

    def _none_of(self, kind: str) -> str:
        return f"{self.kinds[kind]} {kind}" if self.kinds[kind] else ""

    def _other_digest(self) -> str:
        other = verify(self._log).digest
        return "" if other == self.digest else f"{other} is not {self.digest}"


def values(log: Log, topic: Topic) -> Iterator[bytes]:
    """Yield every record's value from the first to what is the end now."""
    start, end = log.ends(topic)
    reader = log.reader(topic, start)
    try:
        while reader.next_offset() < end:
            records = reader.read(READ_MAX, PATIENCE_S)
            assert records, f"{topic} cannot be read from {reader.next_offset()} to {end}"
            yield from (record.value for record in records)
    finally:
        reader.close()


def wrong_of(sequences: Mapping[int, Dense]) -> list[tuple[int, int]]:
    return [(key, number) for key, each in sequences.items() for number in each.wrong]


def told(wrong: Sequence[object]) -> str:
    """Return how many things are wrong, and the first few of them."""
    return f"{len(wrong)}: {wrong[:5]}" if wrong else ""


def show_checks(out: Console, facts: Mapping[str, int], checks: Sequence[Check]) -> None:
    """Print what is known of a log, its laws and the verdict."""
    out.print(", ".join(f"{name} {value}" for name, value in facts.items()))
    for check in checks:
        out.print(f"{'pass' if check.holds else 'FAIL'} {check.law}  {check.found}".rstrip())
    failed = sum(not check.holds for check in checks)
    out.print(f"{len(checks) - failed} passed, {failed} failed")
