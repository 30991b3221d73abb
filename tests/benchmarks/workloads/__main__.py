"""Replay recorded workloads: `python -m tests.benchmarks.workloads FILE [--streams N]`.

Each run of the file becomes a ledger of its own: N streams execute its write statements at the same
time over the same tables. Prints commits a second, latencies, conflicts by exception and retries;
exit status 1 if a statement was lost, committed twice, or the checker is not content.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import set_up_logging
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from tests.benchmarks.figure import percentile
from tests.benchmarks.stores import opened
from tests.benchmarks.workloads.check import Checked, check
from tests.benchmarks.workloads.recorded import Recording, WorkloadError, recordings
from tests.benchmarks.workloads.replay import Done, Place, load, replay

CAUGHT_UP_MS: Final = 60_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.workloads",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="recorded runs, a JSON object a line")
    parser.add_argument("--streams", type=int, default=4, help="writers at the same time")
    parser.add_argument("--speedup", type=float, default=10_000.0, help="how much faster than then")
    parser.add_argument("--runs", type=int, default=0, help="only the first so many runs")
    options = parser.parse_args(arguments)
    try:
        found = recordings(options.file)
    except WorkloadError as error:
        parser.error(str(error))
    set_up_logging()
    problems = 0
    with tempfile.TemporaryDirectory() as folder, Broker.start(Path(folder) / "kafka") as broker:
        for number, recording in enumerate(found[: options.runs or None]):
            home = Path(folder) / f"run-{number}"
            problems += run(
                broker, home, recording, streams=options.streams, speedup=options.speedup
            )
    print(f"{problems} problems")
    return 1 if problems else 0


def run(broker: Broker, home: Path, recording: Recording, *, streams: int, speedup: float) -> int:
    """Replay one run on a ledger of its own, print what came of it, and count the problems."""
    settings = UpSettings(ledger=home.name, home=home, bootstrap=broker.bootstrap)
    place = Place(broker.bootstrap, settings.ledger, settings.folder / "store")
    with (
        running(settings),
        closing(opened(place.store)) as reads,
        Ledger.connect(place.bootstrap, place.ledger, reads=reads) as client,
    ):
        load(client, recording)
        began_s = time.monotonic()
        done = replay(place, recording, streams, speedup)
        took_s = time.monotonic() - began_s
        with closing(KafkaLog(place.bootstrap, place.ledger)) as log:
            reads.wait(max(each.position for each in done), CAUGHT_UP_MS)
            checked = check(log, reads, done)
    tell(recording, done, took_s, checked)
    unexplained = [each for each in done if not each.position and not each.error]
    return len(checked.problems) + len(unexplained)


def tell(recording: Recording, done: Sequence[Done], took_s: float, checked: Checked) -> None:
    """Print what came of a run."""
    took_ms = [each.took_ms for each in done]
    committed = sum(1 for each in done if each.position)
    retries = sum(each.attempts - 1 for each in done)
    print(
        f"{recording.name}: {len(done)} statements, {committed} committed, "
        f"{len(done) - committed} explained; {committed / took_s:.0f} commits/s, "
        f"p50 {percentile(took_ms, 0.5):.1f} ms, p99 {percentile(took_ms, 0.99):.1f} ms, "
        f"{retries} retries; conflicts: {shown(checked.conflicts)}; "
        f"checker: {len(checked.problems)} problems in {checked.commits} commits"
    )
    for problem in checked.problems[:10]:
        print(f"  {problem}")
    for lost in [each for each in done if not each.position][:3]:
        print(f"  {lost.name} ({lost.statement.kind} of {lost.statement.table}): {lost.error}")


def shown(counts: Counter[str]) -> str:
    """Return counts in a line."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"


if __name__ == "__main__":
    sys.exit(main())
