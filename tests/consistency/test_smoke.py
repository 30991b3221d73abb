"""Whole runs, short: clients in processes, a strike, the last read, and the judge."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger.core.acceptance import LogHead
from ledger.log.acceptor import Acceptor
from tests.consistency.history import read_history
from tests.consistency.hosts import LEDGER, PUBLISHED
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.published import SESSION
from tests.consistency.log_place import last_position, values
from tests.consistency.run import Run, carry_out
from tests.consistency.summary import shown
from tests.integration.power.segments import segments


def carried_out(subject: str, grain: str, fault: str, folder: Path) -> Sequence[Anomaly]:
    """Run a subject for a few seconds; return what it must not show."""
    verdict = carry_out(Run(subject, "serializable", grain, 1, 14.0, (fault,), folder))
    run = shown(folder)
    assert sum(run.facts["strikes"].values()) > 0
    assert run.outcomes["committed"] > 0
    assert run.facts["is_read_at_end"]
    return verdict.forbidden


@pytest.mark.kafka
def test_a_ledger_whose_parts_are_killed(tmp_path: Path) -> None:
    assert carried_out("ledger-sdk", "rows", "kill", tmp_path) == []

    txns = read_history(tmp_path).txns
    published = [txn.operations[0].table for txn in txns if txn.session == SESSION]
    assert published == list(PUBLISHED)
    [events] = tmp_path.rglob(f"{LEDGER}.events-0")
    acceptor = Acceptor(LogHead())
    for segment in segments(events.parent, f"{LEDGER}.events"):
        for value in values(segment.read_bytes()):
            acceptor.take(value)
    place = last_position(events.parent, f"{LEDGER}.events")
    assert place == acceptor.head.position >= max(txn.place for txn in txns)


@pytest.mark.integration
def test_deltalake_whose_clients_are_killed(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    assert carried_out("deltalake", "default", "kill", tmp_path) == []
