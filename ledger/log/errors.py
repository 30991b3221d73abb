"""The error for a log whose events are gone."""

from collections.abc import Iterable

from ledger.errors import LogError


class EventsLostError(LogError):
    """The events of a ledger are gone, but `traces` of it are left."""

    def __init__(self, traces: Iterable[str]) -> None:
        self.traces = tuple(traces)
        super().__init__(
            "the events of this ledger are gone, although it existed before "
            f"({', '.join(self.traces)}). The events topic was lost or made anew, and a sequencer "
            "would begin another ledger under this name. Keep what is left until you know what "
            "happened. Then stop all processes and clients of the ledger, and give up what is left "
            "with `lakeledger init --begin-anew`. After that `lakeledger restore` brings back a "
            "backup, or a sequencer begins another ledger. `lakeledger up --begin-anew` does this "
            "for a ledger of this machine"
        )
