"""Parts of mutants that go wrong where a log lost its end: readers, a leader, an operator."""

from ledger.core.decide.cut import seen_in
from ledger.core.events.events import Body
from ledger.log.batches import BatchAcceptor
from ledger.log.port import LogReader, Record, Topic
from ledger.recovery.survey import Survey
from tests.simulation.variant import SimulatedLeader, SimulatedSequencer


class HeedlessAcceptor(BatchAcceptor):
    """Goes on at its offset, whichever log is there."""

    def open(self) -> LogReader:
        """Return a reader of what follows, without a look at what was read."""
        return self._log.reader(Topic.EVENTS, self.offset)

    def _look_back(self) -> None:
        """Take it for granted."""

    def _check_cut(self, record: Record) -> None:
        """Take it for one that came too late."""


class CutlessAcceptor(BatchAcceptor):
    """Takes each cut that does not count for one that came too late."""

    def _check_cut(self, record: Record) -> None:
        """Look no further."""


class ForgetfulLeader(SimulatedLeader):
    """Goes on with the ids that the log holds, whatever a cut says."""

    def _fill(self) -> None:
        """Take up nothing."""


class ForgetfulSequencer(SimulatedSequencer):
    """Leads with a leader that gives ids again."""

    leader_type = ForgetfulLeader


class NarrowLeader(SimulatedLeader):
    """Takes up lost txns, and goes on with the write ids and versions that tables hold."""

    def _take_up(self, answer: Body) -> bool:  # noqa: ARG002
        return False


class NarrowSequencer(SimulatedSequencer):
    """Leads with a leader that gives write ids and versions again."""

    leader_type = NarrowLeader


def only_log(found: Survey) -> Survey:
    """Cut above what the log still holds, and nothing else."""
    return found._replace(seen=seen_in(found.state, found.head.epoch))


def only_txns(found: Survey) -> Survey:
    """Cut above the txns that were seen, and give write ids and versions again."""
    return found._replace(seen=found.seen._replace(tables=seen_in(found.state, 0).tables))
