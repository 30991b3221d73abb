"""One whole stress run: start all, let the clients work while processes are killed, and judge."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, cycle
from pathlib import Path
from random import Random
from threading import Event as Signal
from typing import Final, NamedTuple

import urllib3

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.log.replay import Replay
from ledger.machine.kafka.broker import Broker
from ledger.properties.column_mapping import PUBLISH
from projections.delta.verify import verify_log
from projections.queries import open_reads
from tests.iceberg.clients.readers import Served, agreed
from tests.iceberg.clients.stress.journal import (
    APPEND,
    BOTH,
    COUNT,
    COUNTERS,
    COUNTS,
    LINES,
    REFUSED,
    TOTALS,
    UNKNOWN,
    Attempt,
    attempts,
)
from tests.iceberg.clients.stress.kept_files import KeptFiles
from tests.iceberg.clients.stress.processes import CATALOG, SEQUENCERS, Processes, Site
from tests.iceberg.clients.stress.serial import SerialRun, netted
from tests.integration.soak.strikes import position_of

PATIENCE_S: Final = 180.0
LOOK_S: Final = 0.1
ASK_S: Final = 5.0
# Positions at which all readers are compared, besides the last one.
SAMPLES: Final = 8
COLUMNS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    LINES: [("operation", "string"), ("number", "bigint")],
    COUNTS: [("id", "bigint"), ("value", "bigint"), ("operation", "string")],
    TOTALS: [("id", "bigint"), ("value", "bigint"), ("operation", "string")],
}
# The second has marks and vectors, and is never written by pyiceberg, which reads format 3 only.
PROPERTIES: Final[Mapping[str, Mapping[str, str]]] = {
    LINES: {},
    COUNTS: {},
    TOTALS: {"lakeledger.rows": "marks", "iceberg.format-version": "3"},
}

NUMBER: Final = re.compile(r"[0-9a-f]*[0-9][0-9a-f-]*")

Progress = Callable[[str], None]


class Plan(NamedTuple):
    """How long the clients work, how often a process is killed, with what chance."""

    seconds: float
    every_s: float = 8.0
    seed: int = 1
    with_spark: bool = True


class Report(NamedTuple):
    """What came of a run; `wrong` is empty if it was as it should be."""

    attempts: Sequence[Attempt]
    versions: Mapping[str, int]
    committed: Mapping[str, int]
    kills: Mapping[str, int]
    restored: int
    wrong: Sequence[str]

    def outcomes(self) -> Mapping[tuple[str, str, str], int]:
        """Return the number of attempts by client, kind and outcome."""
        return Counter(
            (each.client.partition("-")[0], each.kind, each.outcome) for each in self.attempts
        )

    def reasons(self, outcome: str) -> Mapping[str, int]:
        """Return the commonest reasons of an outcome, by client."""
        return dict(
            Counter(
                f"{each.client.partition('-')[0]} {each.kind}: {NUMBER.sub('N', each.why)[:200]}"
                for each in self.attempts
                if each.outcome == outcome
            ).most_common(15)
        )


class StressRun:
    """The parts of a run."""

    def __init__(self, site: Site, plan: Plan, held: ExitStack, say: Progress) -> None:
        self._site, self._plan, self._say = site, plan, say
        create_topics(site.bootstrap, site.ledger)
        self.log = held.enter_context(closing(KafkaLog(site.bootstrap, site.ledger)))
        self.processes = held.enter_context(
            closing(Processes(site, plan.seed, with_spark=plan.with_spark))
        )
        self.kills: Counter[str] = Counter()
        self.kept: KeptFiles | None = None
        self._held = held

    def start(self) -> Ledger:
        """Start the ledger, make the tables, then start the clients; return a client."""
        self.processes.start([*SEQUENCERS, "follower", "publisher"])
        self._wait_for(lambda: position_of(self._site.store) > 0, "rows are there")
        reads = self._held.enter_context(closing(open_reads(self._site.store)))
        ledger = Ledger.connect(self._site.bootstrap, self._site.ledger, reads=reads)
        self._held.enter_context(ledger)
        for name, columns in COLUMNS.items():
            location = self._site.folder / "tables" / name
            properties = {PUBLISH: "delta", **PROPERTIES[name]}
            ledger.create_table(name, columns, location=location, properties=properties)
            if name != LINES:
                rows = [{"id": n, "value": 0, "operation": ""} for n in range(COUNTERS)]
                ledger.append(name, rows)
        places = [self._site.folder / "tables" / name for name in COLUMNS]
        self.kept = KeptFiles(places, self._site.folder / "kept", partial(live_files, ledger))
        self.kept.start()
        self.processes.start([CATALOG])
        self._wait_for(self._answers, "the catalog answers")
        self.processes.start(self.processes.clients)
        self.processes.watch()
        self._wait_for(self._all_have_begun, "all clients have begun")
        return ledger

    def strike(self) -> None:
        """Kill one process after the other for as long as planned."""
        chance, rest = Random(self._plan.seed), Signal()
        until_s = time.monotonic() + self._plan.seconds
        for turn in cycle(turns()):
            rest.wait(max(0.0, min(self._plan.every_s, until_s - time.monotonic())))
            if time.monotonic() >= until_s or not self.processes.is_watched():
                return
            name = turn or chance.choice(self.processes.clients)
            if self.processes.kill(name):
                self.kills[name] += 1
                self._say(f"killed {name}")

    def finish(self) -> list[str]:
        """Let the clients end their turns; return what did not end well."""
        ended = [] if self.processes.is_watched() else ["a process ended for good"]
        ended += self.processes.finish()
        # A catalog or sequencer that was killed last is not looked after any more.
        for name in (*SEQUENCERS, CATALOG):
            if not self.processes.runs(name):
                self.processes.start([name])
        self._wait_for(self._answers, "the catalog answers again")
        if self.kept is not None:
            self.kept.close()
        return ended

    def _all_have_begun(self) -> bool:
        names = {each.name.rpartition("-")[0] for each in self._site.journals.glob("*.jsonl")}
        return names >= set(self.processes.clients)

    def _answers(self) -> bool:
        try:
            found = urllib3.request("GET", f"{self.processes.uri}/v1/config", timeout=ASK_S)
        except urllib3.exceptions.HTTPError:
            return False
        return found.status == 200

    def _wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        rest, until_s = Signal(), time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > until_s:
                raise TimeoutError(f"not within {PATIENCE_S:.0f} s: {what}")
            rest.wait(LOOK_S)


def turns() -> Iterator[str]:
    """Yield what is killed in which order; "" is any client."""
    for sequencer in SEQUENCERS:
        yield from (CATALOG, "", "", sequencer)


def run(
    broker: Broker, ledger: str, folder: Path, plan: Plan, say: Progress = lambda _what: None
) -> Report:
    """Run all clients on a new ledger, with all they need in a folder, and judge."""
    with ExitStack() as held:
        site = Site(broker.bootstrap, ledger, folder)
        stress = StressRun(site, plan, held, say)
        client = stress.start()
        stress.strike()
        wrong = stress.finish()
        say("judging")
        known = list(attempts(site.journals))
        serial, positions, versions = played(client)
        serial.judge(known)
        wrong += serial.wrong
        wrong += [f"refused: {each}" for each in known if is_refused_append(each)]
        wrong += totals(client, serial, known)
        wrong += compared(Served(client, stress.processes.uri), positions, plan.seed)
        for name in COLUMNS:
            published = verify_log(Replay(stress.log), client.table(name).table)
            if not published.is_clean:
                wrong.append(f"the Delta log of {name}: {published}")
        wrong += stress.processes.failures()
        committed = {kind: serial.committed(kind, known) for kind in (APPEND, COUNT, BOTH)}
        restored = len(stress.kept.restored) if stress.kept is not None else 0
        return Report(known, versions, committed, stress.kills, restored, wrong)


def live_files(ledger: Ledger) -> Iterator[Path]:
    """Yield the files of all tables that the ledger lists now."""
    for name in COLUMNS:
        row = ledger.table(name)
        folder = Path(str(row.definition.location).removeprefix("file://"))
        for file in ledger.read(row):
            yield folder / file.path.removeprefix("file://")


def played(ledger: Ledger) -> tuple[SerialRun, Sequence[int], Mapping[str, int]]:
    """Play all versions; return the run, the positions of versions, and how many there are."""
    serial, positions, versions = SerialRun(), set[int](), Counter[str]()
    for name in COLUMNS:
        # The tables of counters begin with a version that fills them.
        for commit in ledger.changes(name, after=0 if name == LINES else 1):
            rows = commit.rows().to_pylist()
            serial.play(netted(name, commit.version, commit.position, rows))
            positions.add(commit.position)
            versions[name] += 1
    return serial, sorted(positions), versions


def is_refused_append(attempt: Attempt) -> bool:
    """Tell whether an append of lines alone was refused, which none may be."""
    return attempt.kind == APPEND and attempt.outcome == REFUSED


def totals(ledger: Ledger, serial: SerialRun, known: Sequence[Attempt]) -> Iterator[str]:
    """Yield the counters whose end value is not the number of increments."""
    for table, kind in ((COUNTS, COUNT), (TOTALS, BOTH)):
        value = sum(row["value"] for row in ledger.scan(table).to_arrow().to_pylist())
        wanted = serial.committed(kind, known)
        if value != wanted:
            yield f"{table} came to {value} by {wanted} increments"


def compared(lake: Served, positions: Sequence[int], seed: int) -> Iterator[str]:
    """Yield where readers differ: now, and as of some positions."""
    chance = Random(seed)
    sample = sorted(chance.sample(positions, min(SAMPLES, len(positions))))
    for position, name in chain(
        ((None, name) for name in COLUMNS),
        ((position, name) for position in sample for name in COLUMNS),
    ):
        try:
            agreed(lake, name, position=position)
        except Exception as problem:  # noqa: BLE001 - each reader has errors of its own
            said = " ".join(f"{type(problem).__name__}: {problem}".split())
            yield f"{name} at {position}: {said[:600]}"


def unknown(report: Report) -> int:
    """Return of how many operations the log decided the outcome."""
    return sum(each.outcome == UNKNOWN for each in report.attempts)
