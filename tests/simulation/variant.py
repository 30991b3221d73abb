"""Variants: the code a run puts to the test, honest or with one rule of it broken.

Also the two other ways of deciding that the faults call for: a second code version that decides
some commands otherwise, and a leader whose inbox skips a command without telling.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ledger.core.acceptance import accept
from ledger.core.commands import Command
from ledger.core.decide.decide import decide
from ledger.core.events.events import Body, TxnAborted, TxnCommitted, TxnOpened, WriteIdsAllocated
from ledger.core.refusals import Reason, refuse
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Rule
from ledger.log.batches import BatchAcceptor
from ledger.log.kafka.topic_settings import FLUSHED
from ledger.log.port import Topic
from ledger.recovery.survey import Survey
from ledger.sequencer.leader import Leader
from ledger.sequencer.sequencer import Sequencer
from tests.isolation.mutants import Swap
from tests.simulation.faulty_log import ProcessLog


class SimulatedLeader(Leader):
    """The real leader, whose reader of commands may skip one: the inbox then counts it as read."""

    def _decide_commands(self, wait_s: float) -> int:
        view = self._log
        assert isinstance(view, ProcessLog), "a simulated leader has a simulated log"
        following = self._commands.next_offset()
        caught_up = following == self._head.last_cmd + 1
        if view.skips and caught_up and view.commands_in_a_row(following) > 1:
            view.skip()
            self._commands.read(1, 0.0)
            self._head.last_cmd += 1
            self.state.last_cmd += 1
        return super()._decide_commands(wait_s)


class SimulatedSequencer(Sequencer):
    """The real sequencer, whose leader may meet a skipping inbox."""

    leader_type = SimulatedLeader


def as_found(found: Survey) -> Survey:
    return found


@dataclass(frozen=True)
class Variant:
    """One build of the code: its accept rule, its sequencer, what clients and followers read by.

    Also what an operator makes of a survey, and which topics are flushed before a record of theirs
    is acknowledged. `swaps` are functions of the core that others stand for.
    """

    name: str
    rule: Rule = accept
    sequencer: type[Sequencer] = SimulatedSequencer
    batches: type[BatchAcceptor] = BatchAcceptor
    found: Callable[[Survey], Survey] = as_found
    flushed: frozenset[Topic] = FLUSHED
    swaps: Sequence[Swap] = ()


HONEST = Variant("honest")


def other_version(differed: Callable[[], None]) -> Callable[[DomainState, Command, int], Body]:
    """Return a decision that differs from `decide` in some answers, calling `differed` for each."""

    def decide_otherwise(state: DomainState, command: Command, now: int) -> Body:
        answer = decide(state, command, now)
        other = otherwise(state, command, answer)
        if other is not answer:
            differed()
        return other

    return decide_otherwise


def otherwise(state: DomainState, command: Command, answer: Body) -> Body:
    """Return another answer that the rules of the log allow as well, for about every third."""
    match answer:
        case TxnOpened() if state.txns.next_txn % 3 == 0:
            return refuse(Reason.LIMIT_EXCEEDED, "this version opens no txn here")
        case TxnCommitted(one_shot=False) if getattr(command, "txn", 0) % 3 == 0:
            return TxnAborted("this version is stricter", one_shot=False, parts=(), evidence=None)
        case WriteIdsAllocated(ids) if len(ids) > 1 and not known_ids(state, answer):
            tables = list(dict.fromkeys(each.table for each in ids))
            reordered = [
                new._replace(txn=old.txn)
                for table in tables
                for new, old in zip(
                    [each for each in ids if each.table == table],
                    [each for each in reversed(ids) if each.table == table],
                    strict=True,
                )
            ]
            return WriteIdsAllocated(reordered) if reordered != list(ids) else answer
        case _:
            return answer


def known_ids(state: DomainState, answer: WriteIdsAllocated) -> bool:
    """Tell whether some of the ids were given before, so that their order is settled."""
    return any(each.table in state.txns.open[each.txn].write_ids for each in answer.ids)
