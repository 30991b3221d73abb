"""What only a log as a whole can meet: LogError's own subclass for events that are gone."""

from collections.abc import Iterable

from ledger.errors import LogError


class EventsLostError(LogError):
    """The events of a ledger are gone, and other things of it are not: `traces` names those."""

    def __init__(self, traces: Iterable[str]) -> None:
        self.traces = tuple(traces)
        super().__init__(
            "the events of this ledger are gone: no event says which ledger it is, although it was "
            f"there before ({', '.join(self.traces)}). The topic of events was lost or made anew, "
            "and what began now would be another ledger in its name. Keep what is left until it is "
            "known what to do. Then stop all processes and clients of the ledger, and give up what "
            "is left with `lakeledger init --begin-anew`: after it `lakeledger restore` brings back"
            " a backup, or a sequencer begins another ledger. `lakeledger up --begin-anew` does it "
            "for a ledger of this machine"
        )
