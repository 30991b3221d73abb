"""Published logs of tables with rows in the log show states that the table had, version by version.

Random histories have appends into the log, statements that change rows, and flushes, beside each
other. DuckDB reads every version of every log.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.statements.rewrites.compacting import USUAL, compact
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from projections.delta.log.log_folder import version_file
from projections.delta.verify import verify_log
from tests.projections.published import outcomes
from tests.projections.test_delta_kept_state import outcomes_in_parts, plain
from tests.tables.laws.history import replayable
from tests.tables.laws.row_copies import published_files, republished
from tests.tables.laws.row_history import RowHistory
from tests.tables.published_lake import PUBLISHED, PublishedLake, Shown, faults, publish, refusals

SEEDS = range(6)
MANY = range(100, 200)
SMALL = USUAL._replace(min_files=2)
INLINE = {"lakeledger.inline": "on", "delta.checkpointInterval": "3"}


class PublishedFlushes(RowHistory):
    """A history of published tables with rows in the log, and of flushes beside its statements."""

    statements_max = 30
    shares = (0.12, 0.24, 0.62, 0.66, 0.80)

    def __init__(self, memory: InMemoryLedger, folder: Path, seed: int) -> None:
        self.log, self.flusher = memory.log, memory.connect()
        self.flushing: list[tuple[str, int, Transaction]] = []
        self.read: dict[tuple[str, int], int] = {}
        rows = "rewrite" if seed % 3 == 2 else "marks"
        properties = {**PUBLISHED, **INLINE}
        super().__init__(memory.connect(), folder, seed, rows=rows, properties=properties)

    def _step(self, *, may_run: bool = True) -> None:
        if self.rng.random() < 0.35:
            self._flush()
        if self.rng.random() < 0.25:
            self._compact()
        if self.rng.random() < 0.2:
            publish(self.log)
        super()._step(may_run=may_run)

    def _flush(self) -> None:
        """Begin a flush, or end one that began some steps ago."""
        if not self.flushing or self.rng.random() < 0.3:
            table, txn = self.rng.choice(list(self.world)), self.flusher.begin()
            txn.flush(table)
            self.steps.append(f"{txn.id}: flush {table}")
            self.flushing.append((table, self.ledger.table(table).version, txn))
            return
        self.end_flush(*self.flushing.pop(0))

    def _compact(self) -> None:
        """Put the rows of a few files of a table into larger ones, beside rows in the log."""
        table, txn = self.rng.choice(list(self.world)), self.flusher.begin()
        size = compact(txn.statement(table, "optimize"), SMALL)
        self.outcomes["compacted"] += size > 0
        self.steps.append(f"{txn.id}: compact {size} bytes of {table}")
        txn.commit()

    def end_flush(self, table: str, read: int, txn: Transaction) -> None:
        """Commit a flush of a table that read a version."""
        try:
            receipt = txn.commit()
        except ConflictError as error:
            self.steps.append(f"{txn.id} loses: {type(error).__name__}")
        else:
            self.steps.append(f"{txn.id} commits")
            self.outcomes["flushed"] += 1
            self.read.update({(table, version): read for version in receipt.versions.values()})


def shown_by(folder: Path, version: int) -> int:
    """Return the version whose rows a version of a log has, as it says."""
    line = (folder / "_delta_log" / version_file(version)).read_text().splitlines()[0]
    return int(json.loads(line)["commitInfo"]["lakeledger"].get("shows", version))


def shown(ledger: Ledger, name: str, version: int) -> Shown:
    """Return what the ledger shows of a version of a table."""
    scan = ledger.scan(name, version=version)
    definition = scan.table.definition
    return Shown(
        *(definition.location, version, scan.to_arrow(), []),
        *(refusals(definition), faults(definition)),
    )


def check_log(history: PublishedFlushes, lake: PublishedLake, name: str) -> None:
    """Assert that each version shows the rows that it says, as many as it can, and none is left."""
    ledger, row = history.ledger, history.ledger.table(name)
    folder, before, progress = history.folder / name, -1, 0
    numbers = sorted(int(each.stem) for each in (folder / "_delta_log").glob("*.json"))
    assert numbers == list(range(row.version + 1))
    for version in numbers:
        shows = shown_by(folder, version)
        waits = any(file.rows for file in ledger.scan(name, version=version).files)
        assert before <= shows <= version
        assert waits or shows == version
        check_flush(history, name, version, shows)
        lake.compare("duckdb", shown(ledger, name, shows)._replace(version=version))
        history.outcomes["held"] += shows == before
        history.outcomes["shown beside rows in the log"] += waits and shows > before
        before, progress = shows, progress + (shows > before)
    assert verify_log(Replay(history.log), row.table).is_clean


def check_flush(history: PublishedFlushes, name: str, version: int, shows: int) -> None:
    """Assert that a flush shows what it read at least, if it alone moved the rows of the log.

    A change of columns since then is not shown without the rows.
    """
    read = history.read.get((name, version))
    if read is None:
        return
    then, before, now = (
        {file.path for file in history.ledger.scan(name, version=each).files if file.rows}
        for each in (read, version - 1, version)
    )
    seen = history.versions[name]
    definitions = [seen[each].model.definition for each in range(read, version) if each in seen]
    if then <= before - now and len(set(map(repr, definitions))) == 1:
        assert shows >= read
        history.outcomes["shown as read"] += read <= shows < version


def play(folder: Path, seed: int) -> Counter[str]:
    log = MemoryLog()
    with InMemoryLedger(log=log) as memory:
        history = PublishedFlushes(memory, folder / "tables", seed)
        with replayable(seed, history):
            history.play()
            for flushing in history.flushing:
                history.end_flush(*flushing)
            assert publish(log).stopped == {}
            lake = PublishedLake(memory, history.ledger, folder)
            for name in history.world:
                check_log(history, lake, name)
            kept = published_files(history)
            assert republished(history, log) == kept
            every = range(log.ends(Topic.EVENTS)[1])
            made = [plain(each) for each in outcomes(Replay(log))]
            assert outcomes_in_parts(log, every) == made
    return history.outcomes


@pytest.mark.parametrize("seed", SEEDS)
def test_each_version_shows_a_state_that_the_table_had(tmp_path: Path, seed: int) -> None:
    play(tmp_path, seed)


@pytest.mark.slow
def test_many_published_histories_with_flushes(tmp_path: Path) -> None:
    """The same for many histories, in which versions are held back, and shown beside rows."""
    total: Counter[str] = Counter()
    for seed in MANY:
        total += play(tmp_path / str(seed), seed)
    assert min(total[kind] for kind in ("flushed", "held", "shown beside rows in the log")) > 50
