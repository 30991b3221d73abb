"""The power cut series: brokers lose power at random batches, and ledgers are brought up again.

    python -m tests.integration.power [--batches 200 --seed 1]

Each start of the broker serves several ledgers. Each of them is written to, read by all kinds of
readers, and loses another choice of its topics at another batch. Half of them are kept as the
product keeps them, flushed, and lose what the broker had not flushed; the others lose what the
dice say. Exit status 1 if a law does not hold.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from gc import collect
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from rich.console import Console

from ledger.log.port import REQUIRED, Topic
from ledger.machine.kafka import broker_folder
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import set_up_logging
from tests.integration.audit import Check, show_checks
from tests.integration.power.laws import checks_of
from tests.integration.power.readers import Where
from tests.integration.power.segments import forget_good_order
from tests.integration.power.struck import UP, Plan, StruckLedger
from tests.log.kafka_bench import eventually

LEDGERS: Final = 6
COMMITS: Final = (4, 14)
AGAIN: Final = (0, 0, 5, 20)
# How often the broker says up to where it has flushed. By default that is once a minute.
POINTS_MS: Final = {"log.flush.offset.checkpoint.interval.ms": 100}
CHOICES: Final[Sequence[tuple[Topic, ...]]] = (
    *([REQUIRED] * 8),
    *((topic,) for topic in REQUIRED),
    *([(Topic.EVENTS,)] * 4),
    *combinations(REQUIRED, 2),
)


class Series(NamedTuple):
    """What came of a series: the checks by ledger, and what happened how often."""

    checks: Sequence[Check]
    facts: Mapping[str, int]


def plan_of(chance: Random) -> Plan:
    """Return what happens to one ledger."""
    return Plan(
        chance.choice(CHOICES),
        chance.random() < 0.4,
        chance.random() < 0.5,
        chance.randint(*COMMITS),
        chance.choice(AGAIN),
    )


def run(
    folder: Path, *, batches: int, seed: int, say: Callable[[str], None] = lambda _line: None
) -> Series:
    """Run a series in an empty folder; `say` is told what breaks a law as soon as it does."""
    chance, facts = Random(seed), Counter[str]()  # noqa: S311 - repeatable on purpose
    checks: list[Check] = []
    with telling_of_flushes():
        for first in range(0, batches, LEDGERS):
            plans = [plan_of(chance) for _ in range(min(LEDGERS, batches - first))]
            with tempfile.TemporaryDirectory(dir=folder) as home:
                found = struck(Path(home), plans, chance, facts)
            for each in found:
                if not each.holds:
                    say(f"FAIL {each.law}: {each.found}")
            checks += found
            say(f"{first + len(plans)} of {batches} batches")
    return Series(checks, {"batches": batches, **facts})


@contextmanager
def telling_of_flushes() -> Iterator[None]:
    """Let brokers say soon what they have flushed; nothing else of them is another."""
    before = dict(broker_folder._PROPERTIES)  # noqa: SLF001 - no setting of the product
    broker_folder._PROPERTIES.update(POINTS_MS)  # noqa: SLF001
    try:
        yield
    finally:
        broker_folder._PROPERTIES.clear()  # noqa: SLF001
        broker_folder._PROPERTIES.update(before)  # noqa: SLF001


def struck(home: Path, plans: Sequence[Plan], chance: Random, facts: Counter[str]) -> list[Check]:
    """Let a broker with several ledgers lose power, and return what they are afterwards."""
    log = home / "kafka" / "log"
    with ExitStack() as own:
        broker = Broker.start(home / "kafka")
        try:
            ledgers = [
                own.enter_context(
                    closing(StruckLedger(where_of(broker, home, f"lake-{number}"), plan))
                )
                for number, plan in enumerate(plans)
            ]
            for each in ledgers:
                each.grow()
            for each in ledgers:
                if each.plan.is_durable:
                    eventually(partial(each.is_flushed, log))
        finally:
            broker.kill()
        lost = [ledger.lose(log, chance) for ledger in ledgers]
        forget_good_order(log)
        with Broker.start(home / "kafka"):
            found = [
                check
                for each, gone in zip(ledgers, lost, strict=True)
                for check in brought_back(each, gone, facts)
            ]
            for each in ledgers:
                each.roles.end()
    # Errors hold the clients that they came from, each with a key of the few that threads have.
    collect()
    return found


def where_of(broker: Broker, home: Path, ledger: str) -> Where:
    """Return a new ledger on a broker, with a folder as `lakeledger up` has it."""
    folder = home / ledger
    folder.mkdir()
    return Where(broker.bootstrap, ledger, folder)


def brought_back(
    ledger: StruckLedger, lost: Mapping[Topic, tuple[int, int]], facts: Counter[str]
) -> list[Check]:
    """Bring a ledger up again by what its errors name, and return the laws that it is held to."""
    kept = ledger.last_kept()
    last = ledger.receipts[-1].position
    facts["acknowledged events lost"] += sum(receipt.position > kept for receipt in ledger.receipts)
    error, ran = ledger.come_up(), list[str]()
    if error is not None:
        facts["refused to come up"] += 1
        ran = list(ledger.follow(str(error)))
    is_up = error is None or (bool(ran) and ran[-1].startswith(UP))
    checks = [
        Check("the errors name the way back", "" if is_up else str(error)),
        Check(
            "a ledger that has lost something does not come up by itself",
            "it did" if last > kept and error is None else "",
        ),
    ]
    if ledger.plan.is_durable:
        facts["durable"] += 1
        checks.append(
            Check("what was acknowledged and flushed is there", f"{kept}" if kept < last else "")
        )
    if is_up:
        checks += checks_of(ledger, kept)
    gone = {topic.value: ends for topic, ends in lost.items()}
    about = f" [{ledger.plan} lost {gone}]"
    return [check._replace(found=check.found + about) if check.found else check for check in checks]


def broken(series: Series) -> list[str]:
    """Return the laws that do not hold."""
    return [f"{check.law}: {check.found}" for check in series.checks if not check.holds]


def show(series: Series) -> None:
    """Print the figures, each law once, and all that breaks one."""
    out = Console(width=160)
    laws = Counter(check.law for check in series.checks)
    failures = [each for each in series.checks if not each.holds]
    held = [Check(f"{law} ({times})") for law, times in laws.items()]
    show_checks(out, series.facts, [*held, *failures])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.power")
    parser.add_argument("--batches", type=int, default=200, help="ledgers to strike")
    parser.add_argument("--seed", type=int, default=1, help="of the choices")
    options = parser.parse_args(arguments)
    set_up_logging()
    with tempfile.TemporaryDirectory() as folder:
        series = run(Path(folder), batches=options.batches, seed=options.seed, say=print)
    show(series)
    return 0 if not broken(series) else 1
