"""R17: the sequencer's loop over commits with 100 files each, against commits with none.

The loop and the broker are those of R1. Each command is a one-shot commit of a blind append to one
of sixteen sessions' tables: opened, given a write id and committed in one step. The files come as a
client sends them: their list packed, the partitions they are in named beside it.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Final

from ledger.core.commands import Command, CommitTxn, Footprint, TableWrite
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.log.wire.codec import encode_command
from ledger.log.wire.file_list import AddFile, FileList, listed
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.sequencer_loop import fill, sequencer_loop
from tests.benchmarks.workload import PARTITIONS, SESSIONS, TABLE, Asked, opening

ROUNDS: Final = 5
COMMITS: Final = 6_000
FILES: Final = 100
# Packing takes a client longer than the loop takes; so each list is committed several times.
LISTS: Final = 60
EMPTY: Final = EMPTY_FOOTPRINT._replace(operation="WRITE")


def measure(broker: Broker) -> list[Figure]:
    """Return R17."""
    sides = [encoded([EMPTY]), encoded([footprint(seed) for seed in range(LISTS)])]
    rounds = [one_round(broker, number, sides) for number in range(ROUNDS + 1)][1:]
    size = round(sum(map(len, sides[1])) / len(sides[1]))
    note = f"one-shot commit of {FILES} files, {size} bytes, against one of no file"
    return [against("R17", "us per command", rounds, note)]


def one_round(broker: Broker, number: int, sides: Sequence[list[bytes]]) -> tuple[float, float]:
    """Return the microseconds of a command with files, and of one without."""
    without, having = (
        looped_us(broker, f"r17-{number}-{side}", values) for side, values in enumerate(sides)
    )
    return having, without


def looped_us(broker: Broker, ledger: str, values: list[bytes]) -> float:
    """Return the microseconds that the loop takes for one of these commands."""
    fill(broker, ledger, values)
    return sequencer_loop(broker, ledger, len(values)) / len(values) * 1e6


def encoded(footprints: Sequence[Footprint]) -> list[bytes]:
    """Return the commands of a new ledger whose commits have these footprints in turn."""
    return [encode_command(command) for command in commands(footprints)]


def commands(footprints: Sequence[Footprint]) -> Iterator[Command]:
    """Yield the opening of sixteen sessions and a table, and then the commits."""
    asked = Asked()
    yield from opening(asked, "listed")
    for number in range(COMMITS):
        write = TableWrite(TABLE, 0, (), footprints[number % len(footprints)])
        yield CommitTxn(*asked.next(number % SESSIONS), 0, (write,))


def footprint(seed: int) -> Footprint:
    """Return a blind append of files in all partitions, named and measured as Spark's are."""
    draw = random.Random(seed)  # noqa: S311 - names need not be secret
    files = [added(draw, number % PARTITIONS) for number in range(FILES)]
    return listed(EMPTY_FOOTPRINT, FileList(files))._replace(operation="WRITE", rows_added=FILES)


def added(draw: random.Random, month: int) -> AddFile:
    path = f"month={month}/part-{draw.randrange(200):05}-{draw.randbytes(16).hex()}.snappy.parquet"
    rows = draw.randrange(10**6)
    stats = f'{{"numRecords":{rows},"minValues":{{"id":{rows}}},"maxValues":{{"id":{rows * 2}}}}}'
    return AddFile(path, (str(month),), rows * 10, 1_700_000_000_000 + rows, stats=stats)
