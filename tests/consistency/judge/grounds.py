"""Grounds: what a run must have done, or its history shows nothing.

Every check of lost rows needs the reads at the end, and every check needs commits.
"""

from collections.abc import Iterator

from tests.consistency.history import History, Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.operations import READS, TABLES, Read

FINAL = "final"
"""The session that reads every table once all others have ended."""


def run_anomalies(history: History) -> Iterator[Anomaly]:
    """Yield why a run is no ground for a verdict; a history by hand is one without a subject."""
    if "subject" not in history.facts:
        return
    done = [txn for txn in history.txns if txn.outcome == "committed"]
    read = {step for txn in done if txn.session == FINAL for step in txn.operations}
    missing = [table for table in TABLES if Read(table) not in read]
    if missing or not history.facts.get("is_read_at_end"):
        what = f"the reads at the end failed, of these tables or of feeds: {missing}"
        yield Anomaly("no final read", what, [])
    if not any(is_writer(txn) for txn in done):
        yield Anomaly("no commit", f"no change was acknowledged in {len(history.txns)} txns", [])
    for client in history.facts.get("never_ready", ()):
        yield Anomaly("client not ready", f"{client} was not there in time", [])


def is_writer(txn: Txn) -> bool:
    return any(not isinstance(operation, READS) for operation in txn.operations)
