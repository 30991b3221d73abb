"""The smallest histories that broke the check at some time, each a rule that is easily overlooked.

Those that still do are expected to fail, strictly: whoever mends one takes its mark away, and lets
the random histories do what they leave out because of it.
"""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from ledger.core.commands import (
    AlterTable,
    AppVersion,
    CoarseWrite,
    Column,
    CommitTxn,
    CreateTable,
    Footprint,
    Property,
    Protocol,
    StageWrites,
    TableDefinition,
    TableWrite,
)
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, next_digest, packed
from ledger.core.events.events import CommandRefused, Event, TxnAborted, TxnCommitted
from ledger.core.events.parts import Limits
from ledger.core.invariants import assert_invariants
from tests.driver import CATALOG, Driver

KEEPS_NOTHING: Final = Limits(99, 5, 9, 9, 10_000, 60_000, 600_000, 50, 0, 1_000_000, 100)
KEEPS_ALL: Final = KEEPS_NOTHING._replace(conflict_entries_min=1_000_000)
COLUMNS: Final = (Column("p", "int", nullable=True, id=0), Column("x", "int", nullable=True, id=0))
SERIALIZABLE: Final = (Property("delta.isolationLevel", "Serializable"),)
TABLE: Final = TableDefinition("managed", "listed", "file:///t", COLUMNS, ("p",), SERIALIZABLE)
ADDED: Final = EMPTY_FOOTPRINT._replace(operation="WRITE", adds=['["1"]'], data_change=True)
LONGER: Final = TABLE._replace(columns=[*COLUMNS, Column("y", "int", nullable=True, id=0)])


class Scene(Driver):
    """A ledger with one session and one Serializable table, partitioned by an int."""

    def __init__(self, limits: Limits = KEEPS_ALL) -> None:
        super().__init__(limits=limits)
        self.session = self.open_session()
        self.table = self.make("t")
        self.born = self.state.position

    def make(self, name: str, txn: int = 0) -> int:
        event = self.ask(CreateTable(*self.asks(self.session), txn, 0, CATALOG, name, TABLE))
        return int(getattr(event.body, "table", 0))

    def begin(self) -> int:
        return self.open_txn(self.session)

    def alter(
        self, made: TableDefinition, txn: int = 0, operation: str = "ALTER", *, read_at: int = 0
    ) -> Event:
        asks = self.asks(self.session)
        return self.ask(AlterTable(*asks, txn, read_at, self.table, made, operation))

    def write(
        self,
        footprint: Footprint | None,
        txn: int = 0,
        *,
        read_at: int = 0,
        coarse: Sequence[CoarseWrite] = (),
        level: str = "",
    ) -> Any:
        part = TableWrite(self.table, read_at, coarse, footprint)
        return self.ask(CommitTxn(*self.asks(self.session), txn, (part,), level)).body


REPARTITION: Final = EMPTY_FOOTPRINT._replace(
    operation="REPLACE TABLE", removes=packed(["f"]), removes_in=['["1"]'], data_change=True
)


def is_stopped(answer: Any) -> bool:
    """Tell whether a commit did not come about."""
    return isinstance(answer, TxnAborted | CommandRefused)


def test_a_commit_that_repartitions_leaves_the_index() -> None:
    scene = Scene(KEEPS_NOTHING)
    txn = scene.begin()
    scene.alter(TABLE._replace(partition_columns=()), txn, "REPLACE TABLE")
    scene.write(REPARTITION, txn)

    assert not scene.state.winners.parts


def test_a_commit_that_repartitions_comes_back_from_a_checkpoint() -> None:
    scene = Scene()
    txn = scene.begin()
    scene.alter(TABLE._replace(partition_columns=()), txn, "REPLACE TABLE")
    scene.write(REPARTITION, txn)

    assert_invariants(scene.state)


def test_a_partition_of_two_types_leaves_under_both() -> None:
    scene = Scene(KEEPS_NOTHING._replace(conflict_entries_min=8))
    scene.write(ADDED)
    scene.alter(TABLE._replace(columns=[Column("p", "string", nullable=True, id=0), COLUMNS[1]]))
    for _ in range(3):
        scene.write(ADDED)

    assert_invariants(scene.state)


@pytest.mark.parametrize("symbol", ["=", "<=>"])
def test_rows_of_no_partition_are_met_by_an_equality(symbol: str) -> None:
    scene = Scene()
    txn = scene.begin()
    coarse = [CoarseWrite("unpartitioned", "", "update")]
    scene.write(None, read_at=scene.state.position, coarse=coarse)
    scan = f'["{symbol}",["col","p"],["lit","1","int"]]'

    assert is_stopped(scene.write(ADDED._replace(reads=[scan]), txn))


def test_a_backfill_exempts_the_files_it_lists_and_no_coarse_write_beside_them() -> None:
    scene = Scene()
    txn = scene.begin()
    backfill = EMPTY_FOOTPRINT._replace(operation="ROW TRACKING BACKFILL")
    coarse = [CoarseWrite("partition", "p=1", "update")]
    scene.write(backfill, read_at=scene.state.position, coarse=coarse)
    scan = '["=",["col","p"],["lit","1","int"]]'

    assert is_stopped(scene.write(ADDED._replace(reads=[scan]), txn))


def test_who_read_before_a_create_table_as_select_committed_has_not_read_what_it_added() -> None:
    scene = Scene()
    txn = scene.begin()
    scene.table = scene.make("made", txn)
    scene.write(ADDED._replace(operation="CREATE TABLE AS SELECT"), txn)

    assert is_stopped(scene.write(ADDED._replace(reads_whole=True), read_at=scene.born))


def test_files_need_an_operation() -> None:
    scene = Scene()

    assert is_stopped(scene.write(ADDED._replace(operation=""), scene.begin()))


def test_a_staged_chunk_loses_nothing() -> None:
    scene = Scene()
    txn = scene.begin()
    chunk = ADDED._replace(apps=[AppVersion("stream", 1)], files=b"files")
    staged = scene.ask(StageWrites(*scene.asks(scene.session), txn, scene.table, 1, chunk)).body
    scene.write(ADDED._replace(staged=1, digest=next_digest(b"", chunk)), txn)

    assert is_stopped(staged) or "stream" in scene.state.tables.by_id[scene.table].apps


def test_a_coarse_insert_below_the_floor_is_refused() -> None:
    """A coarse insert minds a change of shape, so its base must be remembered."""
    scene = Scene(KEEPS_NOTHING)
    scene.alter(LONGER)
    coarse = [CoarseWrite("partition", "p=1", "insert")]

    assert is_stopped(scene.write(None, read_at=scene.born, coarse=coarse))


def test_an_alter_below_the_floor_is_refused() -> None:
    """An alter minds a feature that is dropped, so its base must be remembered."""
    scene = Scene(KEEPS_NOTHING)
    less = EMPTY_FOOTPRINT._replace(operation="UPGRADE", protocol=Protocol(3, 7, ["appendOnly"]))
    scene.write(less, read_at=scene.born)
    txn = scene.begin()
    scene.alter(LONGER, txn, read_at=scene.born)

    assert is_stopped(scene.ask(CommitTxn(*scene.asks(scene.session), txn, ())).body)


def test_a_coarse_write_minds_no_mark() -> None:
    scene = Scene()
    txn = scene.begin()
    marked = COLUMNS[1]._replace(metadata='{"delta.identity.highWaterMark": 5}')
    scene.alter(TABLE._replace(columns=(COLUMNS[0], marked)))
    scene.alter(TABLE._replace(columns=(COLUMNS[0], marked)), operation="REPLACE TABLE")
    coarse = [CoarseWrite("partition", "p=1", "update")]

    assert not is_stopped(scene.write(None, txn, coarse=coarse))


def test_a_level_counts_in_any_case() -> None:
    scene = Scene()
    scene.alter(TABLE._replace(properties=()))
    txn = scene.begin()
    scene.write(ADDED)
    reads = ADDED._replace(reads=['["=",["col","p"],["lit","1","int"]]'])

    assert is_stopped(scene.write(reads, txn, level="serializable"))


@pytest.mark.parametrize("entries_max", [3, 1000])
def test_a_txn_with_a_write_id_that_declares_nothing_commits(entries_max: int) -> None:
    scene = Scene(KEEPS_NOTHING._replace(conflict_entries_max=entries_max))
    txn = scene.begin()
    scene.allocate(scene.session, [txn], [scene.table])
    scene.alter(LONGER)
    for _ in range(2):
        scene.write(ADDED)

    body = scene.ask(CommitTxn(*scene.asks(scene.session), txn, ())).body
    assert isinstance(body, TxnCommitted)


def test_a_new_name_is_met_in_its_place() -> None:
    scene = Scene()
    txn = scene.begin()
    scene.alter(LONGER, txn)
    renamed = scene.rename_table(scene.session, scene.table, "renamed").control.position
    scene.write(ADDED)

    answer = scene.write(ADDED._replace(reads_whole=True), txn)
    assert answer.evidence.winner.position == renamed


def test_a_level_that_is_set_counts_for_who_sets_it() -> None:
    """The level of a commit is that of the metadata it leaves (a.2)."""
    scene = Scene()
    scene.alter(TABLE._replace(properties=()))
    txn = scene.begin()
    scene.alter(TABLE, txn)

    assert scene.write(ADDED, txn).parts[0].level == "Serializable"
