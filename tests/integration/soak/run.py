"""One whole soak: start a lake, let it work and be struck, wait for its end, compare everything."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from random import Random
from threading import Event as Signal
from time import monotonic
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from tests.integration.soak.ends import Ends, Holding, Questioned, differing
from tests.integration.soak.observer import Observer
from tests.integration.soak.questions import Judge, Questions
from tests.integration.soak.roles import SMALL, Place, Roles
from tests.integration.soak.strikes import Strikes, position_of

LOOK_S: Final = 0.2
PATIENCE_S: Final = 360.0
EVER_MAX: Final = 150
NOW: Final = "now"
WRITERS: Final = "writer"
SEQUENCERS: Final = "sequencer"
READERS: Final = ("follower", "feeder", "cache", "rows")

Progress = Callable[[float, str], None]
"""Told how many seconds of the soak are over, and what is going on."""


class Plan(NamedTuple):
    """How long a soak lasts, how often a process is killed, with what chance, and with Spark?"""

    lasts_s: float
    every_s: float
    seed: int
    with_spark: bool


class Report(NamedTuple):
    """What came of a soak; `wrong` is empty if it was as it should be."""

    events: int
    seconds: float
    kinds: Mapping[str, int]
    questions: Sequence[Questions]
    back_s: Mapping[str, Sequence[float]]
    holdings: Sequence[Holding]
    wrong: Sequence[str]


class Soak:
    """The parts of a soak that runs; made and ended by `run`."""

    def __init__(self, place: Place, plan: Plan, held: ExitStack, progress: Progress) -> None:
        self.place = place
        self.plan = plan
        self.chance = Random(plan.seed)  # noqa: S311 - repeatable on purpose
        self.progress = progress
        create_topics(place.bootstrap, place.ledger)
        self.log = held.enter_context(closing(KafkaLog(place.bootstrap, place.ledger)))
        self.roles = held.enter_context(closing(Roles(place, with_spark=plan.with_spark)))
        self.observer = Observer(self.log)
        self.questions = {
            name: Questions(name, url, self.observer, plan.seed)
            for name, url in self.roles.urls.items()
        }
        self.stores = {"follower": place.followed}
        if plan.with_spark:
            self.stores["feeder"] = place.fed
        self.strikes = Strikes(self.roles, self.observer, self.questions, self.stores)
        self._held = held

    def start(self) -> None:
        """Start everything, each kind of process when what it needs is there."""
        self.roles.start(SEQUENCERS)
        self.observer.start()
        self._held.callback(self.observer.close)
        self.wait_for(lambda: self.observer.position > 0, "a sequencer leads")
        self.roles.start("follower", "feeder")
        self.wait_for(
            lambda: all(position_of(store) for store in self.stores.values()), "rows are there"
        )
        self.roles.start("cache", "rows", WRITERS)
        self.roles.watch()
        self.wait_for(lambda: all(self.statuses()), "caches answer")
        for question in self.questions.values():
            question.start()
            self._held.callback(question.close)

    def strike(self) -> None:
        """Kill one process after the other for as long as planned, and wait for the last one."""
        began_s, next_s = monotonic(), monotonic() + self.plan.every_s
        while (past_s := monotonic() - began_s) < self.plan.lasts_s:
            self.pause()
            self.strikes.look()
            self.observer.check()
            if monotonic() >= next_s:
                name = self.strikes.next()
                next_s += self.plan.every_s
                self.progress(past_s, f"killed {name}" if name else "nobody to kill")
            else:
                self.progress(past_s, "")
        self.wait_for(self._all_back, "all processes are back")

    def finish(self) -> list[str]:
        """End who writes, then who leads, and return who did not end as it should."""
        self.roles.leave_alone()
        for question in self.questions.values():
            question.close()
        codes = {**self.roles.end(WRITERS), **self.roles.end(SEQUENCERS)}
        self.observer.wait_for_end()
        self.statuses()
        return ended_badly(codes)

    def compare(self) -> list[Holding]:
        """Return what everybody holds."""
        self.progress(self.plan.lasts_s, "comparing")
        noted = self.observer.ever()
        ever = self.chance.sample(noted, min(EVER_MAX, len(noted)))
        now = self.observer.readers_now()
        sets = [
            Questioned(NOW, [reader for reader in now if not reader.own_txn]),
            Questioned("in txns", [reader for reader in now if reader.own_txn]),
            Questioned("ever", ever),
        ]
        ends = Ends(self.log, self.place.folder, self.observer.events, sets)
        return list(ends.holdings(self.stores, self.roles.urls))

    def statuses(self) -> list[bool]:
        """Note how every cache is; return which of them answer from their entries."""
        found = [each.note_status(self.roles.pid(name)) for name, each in self.questions.items()]
        return [status is not None and not status.is_loading for status in found]

    def wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so; raises TimeoutError."""
        self.progress(0.0, f"until {what}")
        until_s = monotonic() + PATIENCE_S
        while not is_so():
            self.observer.check()
            if monotonic() > until_s:
                message = f"not within {PATIENCE_S:.0f} s: {what}"
                raise TimeoutError(message)
            self.pause()

    def pause(self) -> None:
        """Let the others work."""
        Signal().wait(LOOK_S)

    def _all_back(self) -> bool:
        self.strikes.look()
        return not self.strikes.away


def run(
    broker: Broker,
    ledger: str,
    folder: Path,
    plan: Plan,
    progress: Progress = lambda _seconds, _what: None,
) -> Report:
    """Run a soak on a new ledger, with all it needs in a folder."""
    began_s = monotonic()
    with ExitStack() as held:
        soak = Soak(Place(broker.bootstrap, ledger, folder), plan, held, progress)
        soak.start()
        soak.strike()
        wrong = soak.finish()
        holdings = soak.compare()
        codes = soak.roles.end(*READERS)
    wrong += ended_badly(codes)
    events, questions = soak.observer.events, list(soak.questions.values())
    wrong += soak.strikes.lost
    wrong += soak.roles.failures()
    wrong += said_wrong(events, questions)
    wrong += chain.from_iterable(holding.wrong for holding in holdings)
    wrong += differing(holdings)
    wrong += missed(holdings)
    kinds = soak.observer.kinds()
    lasted_s = monotonic() - began_s
    return Report(len(events), lasted_s, kinds, questions, soak.strikes.back_s, holdings, wrong)


def ended_badly(codes: Mapping[str, int]) -> list[str]:
    """Return which processes that were told to end did not do so in good order."""
    bad = {name: code for name, code in codes.items() if code != ExitCode.DONE}
    return [f"{name} ended with exit code {code}" for name, code in bad.items()]


def said_wrong(events: Sequence[Event], questions: Sequence[Questions]) -> Iterator[str]:
    """Yield what readers were told wrong, and how often the caches themselves found that."""
    yield from Judge(events).wrong([asked for question in questions for asked in question.asked])
    for question in questions:
        yield from question.wrong
        found = sum(status.mismatches for status in question.lives())
        if found:
            yield f"{question.name}: its sampler found {found} mismatches"


def missed(holdings: Sequence[Holding]) -> list[str]:
    """Return which caches send readers of now on: only one that cannot hold all tables may."""
    return [
        f"{holding.name} answers {holding.hits[NOW]:.0%} of what is there now from its entries"
        for holding in holdings
        if NOW in holding.hits and holding.name != SMALL and holding.hits[NOW] < 1.0
    ]
