"""The kill series: leaders are killed and paused again and again under a full load of commands.

    python -m tests.integration.kill_series [--kills 20 --stops 5 --seed 1]

Each leader is struck in the middle of its work, once the standbys have settled. A paused one is
resumed when another leads, and must find out by itself that nothing it writes counts any more. At
the end the log is audited. Exit status 1 if a law does not hold.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Final, Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from ledger.log.checkpoints import digest
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode, set_up_logging
from tests.integration.audit import Audit, Check, show_checks, told
from tests.integration.crowd import Crowd
from tests.integration.fleet import Fleet, Paused
from tests.integration.producers import Producers

SEQUENCERS: Final = 3
RAW_SESSIONS: Final = 12
LANES: Final = 40
SDK_SESSIONS: Final = 4
SDK_THREADS: Final = 5
UNDER_WAY: Final = RAW_SESSIONS * LANES + SDK_SESSIONS * SDK_THREADS
SETTLED_S: Final = 3.0
ANSWERS_BETWEEN: Final = 2 * UNDER_WAY
TAKE_OVER_MEDIAN_S: Final = 2.0
# A median of fewer tells more of what else the machine did than of the take-over.
TIMED_FROM: Final = 10
# One alone may have been paused in a moment in which it had nothing to write.
ZOMBIES_WRITE_FROM: Final = 5

Fault = Literal["kill", "stop"]
FAULTS: Final[tuple[Fault, ...]] = ("kill", "stop")


class Strike(NamedTuple):
    """One leader struck: when the next fence, and the next answer, were appended after it.

    `code` is how a resumed leader ended, None for a killed one.
    """

    fault: Fault
    epoch: int
    fenced_s: float
    answered_s: float
    code: ExitCode | None


class Series(NamedTuple):
    """What came of a series."""

    strikes: Sequence[Strike]
    checks: Sequence[Check]
    facts: Mapping[str, int]

    def of(self, fault: Fault) -> list[Strike]:
        return [strike for strike in self.strikes if strike.fault == fault]


def run(broker: Broker, ledger: str, *, kills: int, stops: int, seed: int) -> Series:
    """Run a series on a new ledger and audit its log."""
    faults: list[Fault] = ["kill" for _ in range(kills)]
    faults += ["stop" for _ in range(stops)]
    Random(seed).shuffle(faults)  # noqa: S311 - repeatable on purpose
    create_topics(broker.bootstrap, ledger)
    log = KafkaLog(broker.bootstrap, ledger)
    crowd = Crowd(log, sessions=RAW_SESSIONS, lanes=LANES, seed=seed)
    with Fleet(broker.bootstrap, ledger, SEQUENCERS) as fleet:
        crowd.start()
        crowd.wait_until(lambda: len(crowd.returned) > UNDER_WAY, "the crowd works")
        with Producers(
            broker.bootstrap, ledger, crowd.tables, sessions=SDK_SESSIONS, threads=SDK_THREADS
        ) as producers:
            started_s = time.monotonic()
            strikes = [strike(fleet, crowd, fault) for fault in faults]
            lasted_s = time.monotonic() - started_s
        crowd.finish()
        restarts = fleet.restarts
    crowd.read_on()
    audit = Audit(log)
    checks = [
        *audit.check(crowd.returned),
        *audit.check_receipts(producers.receipts),
        *checks_of(strikes, audit, crowd),
    ]
    log.close()
    facts = {
        "sessions": RAW_SESSIONS + SDK_SESSIONS,
        "commands under way": UNDER_WAY,
        "seconds": round(lasted_s),
        "answers": len(crowd.returned) + len(producers.receipts) * 3,
        "events": audit.acceptor.head.position,
        "epochs": audit.acceptor.head.epoch,
        "restarts": restarts,
        "repeats": audit.kinds["CommandRepeated"],
        "dropped": sum(audit.acceptor.dropped.values()),
    }
    return Series(strikes, checks, facts)


def strike(fleet: Fleet, crowd: Crowd, fault: Fault) -> Strike:
    """Strike the leader in the middle of its work and wait until another one answers."""
    term = crowd.terms[-1]
    enough = len(crowd.returned) + ANSWERS_BETWEEN
    crowd.wait_until(
        lambda: len(crowd.returned) >= enough and fleet.youngest_s() > SETTLED_S,
        f"epoch {term.epoch} answers, and the standbys settle",
    )
    struck_s = time.time()
    zombie: Paused | None = None
    if fault == "stop":
        zombie = fleet.pause(term.sequencer)
    else:
        fleet.kill(term.sequencer)
    after = crowd.wait_for_term(term.epoch)
    return Strike(
        fault,
        term.epoch,
        after.fenced_ms / 1000 - struck_s,
        after.answered_ms / 1000 - struck_s,
        end_of(zombie) if zombie is not None else None,
    )


def end_of(zombie: Paused) -> ExitCode:
    """Resume a leader that leads no longer, and return what it ended with."""
    zombie.resume()
    return zombie.wait_for_end()


def checks_of(strikes: Sequence[Strike], audit: Audit, crowd: Crowd) -> Iterator[Check]:
    """Yield the laws of a series: how leaders follow each other, and what becomes of zombies."""
    live, later = digest(crowd.state, crowd.acceptor.head), audit.digest
    yield Check("who read through it all has the same digest", "" if live == later else live)
    if len(strikes) >= TIMED_FROM:
        took_s = median(each.answered_s for each in strikes)
        yield Check(
            f"half of the take-overs take at most {TAKE_OVER_MEDIAN_S:.0f} s",
            "" if took_s <= TAKE_OVER_MEDIAN_S else f"{took_s:.2f} s",
        )
    zombies = [each for each in strikes if each.fault == "stop"]
    alive = [zombie.epoch for zombie in zombies if zombie.code is not ExitCode.FAILED]
    yield Check("every zombie ends by itself", told(alive))
    if len(zombies) >= ZOMBIES_WRITE_FROM:
        late = sum(audit.dropped_of_epoch[zombie.epoch] for zombie in zombies)
        yield Check("what zombies wrote was dropped", "" if late else "they wrote nothing")


def show(series: Series) -> None:
    """Print the figures, the laws and the verdict."""
    out = Console(width=120)
    times = Table(title="seconds from the strike to", title_justify="left")
    for name in ("fault", "times", "fence, median", "max", "answer, median", "max "):
        times.add_column(name, justify="left" if name == "fault" else "right")
    for fault in FAULTS:
        found = series.of(fault)
        if found:
            spans = [each.fenced_s for each in found], [each.answered_s for each in found]
            cells = (f"{pick(span):.2f}" for span in spans for pick in (median, max))
            times.add_row(fault, str(len(found)), *cells)
    out.print(times)
    show_checks(out, series.facts, series.checks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.kill_series")
    parser.add_argument("--kills", type=int, default=20, help="leaders to kill")
    parser.add_argument("--stops", type=int, default=5, help="leaders to pause and resume")
    parser.add_argument("--seed", type=int, default=1, help="of the order and the workload")
    options = parser.parse_args(arguments)
    set_up_logging()
    with tempfile.TemporaryDirectory() as folder, Broker.start(Path(folder) / "kafka") as broker:
        series = run(broker, "kills", kills=options.kills, stops=options.stops, seed=options.seed)
    show(series)
    return 0 if all(check.holds for check in series.checks) else 1


if __name__ == "__main__":
    sys.exit(main())
