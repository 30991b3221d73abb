"""RI1, RI2 and RI6: appends whose rows lie in the log, against DuckLake's inlined rows.

Both sides append the same batches of ten rows with 23 columns, each in a commit of its own, and
begin each round with an empty table. DuckLake inserts a registered table of Arrow, the quickest way
it has. Nothing is flushed into files meanwhile, so the ledger's bound of rows in the log is taken
away here, above which its writers write files. All rows are counted at the end of each round.
"""

import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple

from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import INLINE
from tests.benchmarks import peer
from tests.benchmarks.against_sql import DURABILITY, TOGETHER
from tests.benchmarks.closed_loop import ONE, SIXTEEN, Crew, warm_broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.peers import readings
from tests.benchmarks.postgres import USER, postgres
from tests.benchmarks.table_rows import ONES, Lake, rounds, up
from tests.benchmarks.worked import CPU_NOTE, Worked

ROUNDS: Final = 3
SECONDS: Final = 5.0
WARM_UP: Final = 10
WRITERS: Final = Crew(4, 1)
LEDGER: Final = "ri1"
WHAT: Final = f"appends of {readings.ROWS} rows with {len(readings.COLUMNS)} columns to one table"


class Appended(NamedTuple):
    """What a crew did in one round, and how many rows and ids the table had then."""

    worked: Worked
    sent: int
    rows: int
    ids: int

    @property
    def lost(self) -> int:
        """Rows of answered commits that are not there."""
        return max(0, self.sent - self.ids)

    @property
    def doubled(self) -> int:
        """Rows that are there again."""
        return self.rows - self.ids


class Side(NamedTuple):
    """A crew of one side; without a port it is one of the ledger."""

    crew: Crew
    port: int = 0


def measure_one(broker: Broker) -> list[Figure]:
    """Return RI1."""
    return figures(broker, "RI1", ONE, ONE)


def measure_sixteen(broker: Broker) -> list[Figure]:
    """Return RI2."""
    return [
        *figures(broker, "RI2", TOGETHER, WRITERS),
        *figures(broker, "RI2-spread", SIXTEEN, WRITERS),
    ]


def figures(broker: Broker, name: str, ours: Crew, theirs: Crew) -> list[Figure]:
    """Return commits a second against DuckLake's, and the CPU of one on either side."""
    found = measured(broker)
    mine, others = found[ours, False], found[theirs, True]
    pairs = [(each.worked, other.worked) for each, other in zip(mine, others, strict=True)]
    rates = [(each.rate, other.rate) for each, other in pairs]
    cpu = [(each.cpu_us, other.cpu_us) for each, other in pairs]
    note = (
        f"{WHAT}, rows in the log, {ours.who}, against inlined rows of {theirs.processes} "
        f"writer(s) of DuckLake; {DURABILITY}; no flush meanwhile, the bound of rows in the log "
        f"taken away; ours: {told(mine)}; DuckLake: {told(others)}"
    )
    return [
        against(name, "commits/s", rates, note),
        against(f"{name}-cpu", "us of CPU per commit", cpu, CPU_NOTE),
    ]


def told(found: Iterable[Appended]) -> str:
    """Return in words what became of the rows."""
    every = list(found)
    sent, lost = sum(each.sent for each in every), sum(each.lost for each in every)
    doubled = sum(each.doubled for each in every)
    failed = sum(each.worked.failed for each in every)
    return f"of {sent} rows {lost} lost, {doubled} doubled, {failed} commits failed"


@cache
def measured(broker: Broker) -> dict[tuple[Crew, bool], Sequence[Appended]]:
    """Return the rounds of all crews, and whether they are DuckLake's; measured once."""
    warm_broker(broker)
    with up(broker, LEDGER) as lake, postgres() as port:
        sides = [Side(ONE), Side(TOGETHER), Side(SIXTEEN), Side(ONE, port), Side(WRITERS, port)]
        found: dict[Side, list[Appended]] = {side: [] for side in sides}
        for _ in range(ROUNDS):
            for side in sides:
                done = by_ducklake(lake, side) if side.port else by_ledger(broker, lake, side.crew)
                found[side].append(done)
    return {(side.crew, bool(side.port)): every for side, every in found.items()}


def by_ledger(broker: Broker, lake: Lake, crew: Crew) -> Appended:
    """Return what a crew of the ledger did to a new table."""
    table = f"db.t{len(lake.ledger.tables())}"
    create_table(lake, table)
    where = {"bootstrap": broker.bootstrap, "ledger": LEDGER, "store": str(lake.store)}
    worked = peer.work("block_session", job_of(crew, table=table, **where), is_ours=True)
    assert worked.failed == 0, f"{worked.failed} appends failed: {worked.errors}"
    (found,) = lake.ledger.sql(readings.COUNT.format(table=table)).to_pylist()
    (waiting,) = lake.ledger.reads().blocks(lake.ledger.table(table).table)
    assert waiting.rows == found["n"], f"{waiting.rows} of {found['n']} rows lie in the log"
    return Appended(worked, sent(worked, crew), found["n"], found["ids"])


def by_ducklake(lake: Lake, side: Side) -> Appended:
    """Return what writers of DuckLake did to a new catalog."""
    with tempfile.TemporaryDirectory(dir=lake.folder) as data:
        where = {"port": side.port, "user": USER, "path": data, "inlined": True}
        worked = peer.work("ducklake_blocks", job_of(side.crew, **where))
        rows, ids = peer.answer("ducklake_readings", {**where, "does": "count"})
        files = peer.answer("ducklake_readings", {**where, "does": "files"})
    assert files == 0, f"DuckLake wrote {files} files"
    return Appended(worked, sent(worked, side.crew), rows, ids)


def create_table(lake: Lake, name: str) -> None:
    """Create a table of readings whose rows lie in the log."""
    place = lake.folder / name
    lake.ledger.create_table(name, readings.COLUMNS, location=place, properties={INLINE: "on"})


def job_of(crew: Crew, **more: Any) -> dict[str, Any]:
    load = {"processes": crew.processes, "sessions": crew.sessions_each, "warm_up": WARM_UP}
    return {**load, "seconds": SECONDS, **more}


def sent(worked: Worked, crew: Crew) -> int:
    """Return how many rows the answered commits had."""
    return (len(worked.took_ms) + WARM_UP * crew.sessions) * readings.ROWS


def measure_dict(broker: Broker) -> list[Figure]:
    """Return RI6: what an append of one dict takes, its row in the log, against one in a file."""
    warm_broker(broker)
    numbers = count()
    with up(broker, "ri6") as lake:
        columns = [("id", "bigint"), ("city", "string"), ("price", "double")]
        for table, inline in (("blocks", "on"), ("files", "off")):
            place = lake.folder / table
            lake.ledger.create_table(table, columns, location=place, properties={INLINE: inline})

        def one_block() -> None:
            lake.ledger.append("blocks", [{"id": next(numbers), "city": "Oslo", "price": 1.5}])

        def one_file() -> None:
            lake.ledger.append("files", [{"id": next(numbers), "city": "Oslo", "price": 1.5}])

        found = rounds(one_block, one_file, calls=ONES)
        rows = {name: lake.ledger.scan(name).count() for name in ("blocks", "files")}
        assert rows["blocks"] == rows["files"], f"{rows}"
    note = "a row in a dict, in the log, against the same in a file"
    return [against("RI6", "ms p50", found, note)]
