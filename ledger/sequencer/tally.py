"""The tally of a sequencer: counters since the start of its process, for metrics.

The sequencer's thread counts once for each burst of commands that it read together; other threads
may read the numbers at any time. A restart begins at 0, as counters of metrics may.
"""

from collections import Counter

from ledger.core.events.events import Body, CommandRefused, TxnAborted


class SequencerTally:
    """Counters of the decisions and terms of one sequencer.

    Attributes:
        decisions: commands that were answered.
        bursts: how often commands were read, of which several may come together.
        seconds: the time from the read of commands to the append of their answers.
        conflicts: commits that lost a conflict, by exception.
        refusals: refused commands, by reason.
        claims: fences that were appended.
        terms: claims that won, each of which is a take-over.
    """

    def __init__(self) -> None:
        self.decisions = 0
        self.bursts = 0
        self.seconds = 0.0
        self.conflicts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.claims = 0
        self.terms = 0

    def note(self, body: Body) -> None:
        """Count an answer that is a lost conflict or a refusal."""
        if isinstance(body, TxnAborted):
            if body.evidence is not None:
                self.conflicts[body.evidence.exception] += 1
        elif isinstance(body, CommandRefused):
            self.refusals[body.reason] += 1

    def note_burst(self, decisions: int, seconds: float) -> None:
        """Count commands that were read together and are answered."""
        self.bursts += 1
        self.decisions += decisions
        self.seconds += seconds
