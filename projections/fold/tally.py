"""The tally: counters of a fold since its start, for metrics.

One thread counts; others may read the numbers at any time. A restart begins at 0, as counters of
metrics may.
"""

from collections import Counter
from collections.abc import Sequence

from ledger.core.events.events import Body, TxnAborted
from projections.rows.applied import Applied
from projections.rows.keys import ANOMALY
from projections.store.batch import LateChange


class Tally:
    """Counters of the events that became rows.

    Attributes:
        events: events by type.
        conflicts: commits that lost a conflict, by exception.
        anomalies: impossible statements about files in commits.
        batches: how often rows were written.
        seconds: the time it took to make and write them.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.conflicts: Counter[str] = Counter()
        self.anomalies = 0
        self.batches = 0
        self.seconds = 0.0

    def note(self, applied: Applied, body: Body, rows: Sequence[LateChange]) -> None:
        """Count an event and the rows made of it."""
        self.events[type(body).__name__] += 1
        if isinstance(body, TxnAborted) and body.evidence is not None:
            self.conflicts[body.evidence.exception] += 1
        # Only a commit that lists its files can hold an anomaly.
        if applied.files:
            self.anomalies += sum([key.startswith(ANOMALY) for key, _ in rows])

    def note_batch(self, seconds: float) -> None:
        """Count a batch of rows that is written."""
        self.batches += 1
        self.seconds += seconds
