"""Tables of this host as a snapshot sees them, whatever became of their names since."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.core.commands import Column
from ledger.core.decide.cut import beyond, seen_in
from ledger.errors import LogRewrittenError, ReaderBehindError, SettingsError, UnknownTableError
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from projections.cache.store import Reopened
from projections.errors import StoreError, StoreMissingError
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.rows.keys import DEFINITION
from projections.store.port import Row
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from spark_sink.host_tables import HostTable, HostTables, Level, tables_at
from tests.core.cutting import cut, filled, shortened
from tests.driver import Driver
from tests.projections.test_metadata_costs import Counted
from tests.spark_sink.host import NAME, Host, running_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with running_host(tmp_path) as host:
        host.create("directories")
        yield host


def test_a_snapshot_finds_a_table_under_the_name_it_had(host: Host) -> None:
    before = host.snapshot()
    with host.ledger.transaction() as txn:
        txn.rename_table(NAME, "db.old_flights")
    with host.ledger.transaction() as txn:
        txn.create_table(NAME, [("other", "INT")])
    after = host.snapshot()
    found, new = (host.tables.resolve(NAME, each).metadata for each in (before, after))
    assert (found.name, len(found.definition.columns)) == (NAME, 2)
    assert [column.name for column in new.definition.columns] == ["other"]
    assert host.tables.resolve("db.old_flights", after).metadata.table == found.table
    with pytest.raises(UnknownTableError):
        host.tables.resolve("db.old_flights", before)


def test_a_snapshot_of_another_ledger(host: Host) -> None:
    """What a snapshot of one ledger sees is not looked for in the rows of another."""
    with InMemoryLedger() as memory, memory.connect() as other:
        other.create_table(NAME, [("other", "INT")])
        with pytest.raises(SettingsError, match="LAKELEDGER_STORE"):
            host.tables.resolve(NAME, other.begin("read_only"))


def test_a_table_dropped_later_is_there_for_a_snapshot(host: Host) -> None:
    before = host.snapshot()
    with host.ledger.transaction() as txn:
        txn.drop_table(NAME)
    assert host.tables.resolve(NAME, before).metadata.name == NAME
    with pytest.raises(UnknownTableError, match="has no table db"):
        host.tables.resolve(NAME, host.snapshot())


def test_a_name_never_leads_a_snapshot_to_another_table(host: Host) -> None:
    first, second, names = "db.first", "db.second", ("db.first", "db.second", "db.new")
    for name in (first, second):
        host.ledger.create_table(name, [("old", "INT")])
    before = host.snapshot()
    with host.ledger.transaction() as txn:
        txn.drop_table(first)
    host.ledger.drop_table(second)
    for name in names:
        host.ledger.create_table(name, [("new", "INT")])
    host.tables.reads.wait(host.snapshot().opened, 10_000)
    found = {name: host.tables.resolve(name, before).metadata for name in (first, "db.new")}
    assert [each.definition.columns[0].name for each in found.values()] == ["old", "new"]
    with pytest.raises(UnknownTableError):
        host.tables.resolve(second, before)


def test_own_changes_are_seen(host: Host) -> None:
    other = host.snapshot()
    with host.ledger.transaction() as txn:
        write_id = txn.write_id(NAME)
        txn.alter_table(NAME, properties={"owner": "ada"})
        found = host.tables.resolve(NAME, txn)
        seen = host.tables.resolve(NAME, other)
    assert [each.key for each in found.metadata.definition.properties] == ["owner"]
    assert found.write_ids is not None
    assert found.write_ids.is_valid(write_id)
    assert list(seen.metadata.definition.properties) == []
    assert seen.write_ids is not None
    assert not seen.write_ids.is_valid(write_id)


def test_own_names_are_found(host: Host) -> None:
    other = host.snapshot()
    with host.ledger.transaction() as txn:
        txn.create_table("db.mine", [("own", "INT")])
        txn.rename_table(NAME, "db.renamed")
        txn.alter_table("db.renamed", properties={"owner": "ada"})
        mine, renamed = (host.tables.resolve(name, txn) for name in ("db.mine", "db.Renamed"))
        for name, snapshot in ((NAME, txn), ("db.renamed", other), ("db.mine", other)):
            with pytest.raises(UnknownTableError):
                host.tables.resolve(name, snapshot)
        before = host.tables.resolve(NAME, other)
    assert (mine.metadata.name, len(mine.metadata.definition.columns)) == ("db.mine", 1)
    assert renamed.metadata.name == "db.renamed"
    assert [each.key for each in renamed.metadata.definition.properties] == ["owner"]
    assert (before.metadata.table, before.metadata.name) == (renamed.metadata.table, NAME)


def test_rows_that_are_behind(host: Host) -> None:
    """Who plans from rows that do not come to the snapshot is told, not given older data."""
    host.end()
    snapshot = host.snapshot()
    with pytest.raises(ReaderBehindError):
        host.tables.resolve(NAME, snapshot, max_wait_ms=0)


def planned(kept: Reopened[HostTables], snapshot: Transaction) -> HostTable:
    with kept.use() as tables:
        return tables.resolve(NAME, snapshot)


def test_rows_that_were_away(host: Host, tmp_path: Path) -> None:
    """Who asks while the rows are away is told, who asks again when they are back is answered."""
    snapshot, rows = host.snapshot(), tmp_path / "rows"
    with closing(tables_at(rows, host.tables.catalog)) as kept:
        before = planned(kept, snapshot).metadata
        host.end()
        rows.rename(tmp_path / "away")
        with pytest.raises(StoreMissingError):
            planned(kept, snapshot)
        (tmp_path / "away").rename(rows)
        assert planned(kept, snapshot).metadata == before


def lose_end(host: Host, rows: Path, last: int) -> Driver:
    """Let the log lose what follows a position, cut it, and make the rows of this host anew."""
    host.end()
    host.store.close()
    led = Driver.empty(0)
    led.go_on_with(host.log)
    whole = shortened(led, len(led.records))
    keep = 1 + next(at for at, each in enumerate(whole.events) if each.control.position == last)
    short = shortened(whole, keep)
    cut(short, beyond(seen_in(whole.state, whole.head.epoch), 5))
    list(filled(short))
    with RocksStore.rebuild(rows) as store:
        Fold.load(store, short.log).feed(short.records)
        store.publish()
    return short


def test_a_log_that_lost_its_end(host: Host, tmp_path: Path) -> None:
    """A snapshot of what is lost is refused by what it had seen, and so is who had seen more.

    Tables that are opened again are those of the log as it is.
    """
    early, rows = host.snapshot(), tmp_path / "rows"
    late = host.snapshot()
    with closing(tables_at(rows, host.tables.catalog)) as kept:
        before = planned(kept, early).metadata
        planned(kept, late)
        short = lose_end(host, rows, early.token.position)

        looks: list[Callable[[], object]] = [
            lambda: host.tables.resolve(NAME, late),
            lambda: planned(kept, early),
            lambda: host.tables.resolve(NAME, late),
        ]
        told = []
        for look in looks:
            with pytest.raises(LogRewrittenError) as raised:
                look()
            told.append((raised.value.position, raised.value.seen, raised.value.cut))

        seen = late.token.position, late.token.chain, short.state.cuts[-1].position
        assert told == [seen] * 3
        assert planned(kept, early).metadata == before


def test_costs_of_many_alters(host: Host, tmp_path: Path) -> None:
    host.ledger.alter_table(NAME, partition_columns=["tail"])
    with closing(RocksReader.open(tmp_path / "rows")) as reader:
        rows = Counted(reader)
        tables = HostTables(rows, host.tables.reads, host.tables.cache, host.ledger.catalog)
        found = [plan_after(host, tables, rows, alters) for alters in (1, 20)]

    levels = [Level({each: each}, None) for each in ("tail", "day")]
    assert found == [(found[0][0], levels)] * 2


class Definitions(Counted):
    """Rows of which the definitions of tables are counted."""

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return rows in order."""
        read = super().scan if start.startswith(DEFINITION) else self._rows.scan
        return read(start, end, limit=limit, reverse=reverse)

    def get(self, key: bytes) -> bytes | None:
        return self._rows.get(key)


def test_costs_of_many_commits(host: Host, tmp_path: Path) -> None:
    listed, columns, commits = "db.sales", [("day", "INT"), ("tail", "STRING")], 20
    host.ledger.create_table(listed, columns, partition_columns=["tail"])
    adds = [
        host.ledger.append(listed, [AddFile(f"{number}.parquet", ("N1",))]).position
        for number in range(commits)
    ]
    host.ledger.alter_table(listed, partition_columns=["day"])
    adds.append(host.ledger.append(listed, [AddFile("day=1/b.parquet", ("1",))]).position)
    snapshot = host.snapshot()
    host.tables.reads.wait(snapshot.opened, 10_000)
    with closing(RocksReader.open(tmp_path / "rows")) as reader:
        rows = Definitions(reader)
        tables = HostTables(rows, StoreReads(rows), host.tables.cache, host.ledger.catalog)
        found = tables.resolve(listed, snapshot)

    assert found.partitioned == {added: ["tail"] for added in adds[:commits]}
    assert rows.given == 1


class WithoutDefinitions(Counted):
    """Rows of which those that say what tables were are missing."""

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return rows in order."""
        is_missing = start.startswith(DEFINITION)
        return iter(()) if is_missing else super().scan(start, end, limit=limit, reverse=reverse)


def test_definition_that_is_missing(host: Host, tmp_path: Path) -> None:
    """Values of files are not taken for those of other columns than they were added with."""
    listed, columns = "db.sales", [("day", "INT"), ("tail", "STRING")]
    host.ledger.create_table(listed, columns, partition_columns=["tail"])
    host.ledger.append(listed, [AddFile("a.parquet", ("N1",))])
    host.ledger.alter_table(listed, partition_columns=["day"])
    snapshot = host.snapshot()
    host.tables.reads.wait(snapshot.opened, 10_000)
    with closing(RocksReader.open(tmp_path / "rows")) as reader:
        rows = WithoutDefinitions(reader)
        tables = HostTables(rows, host.tables.reads, host.tables.cache, host.ledger.catalog)
        with pytest.raises(StoreError, match=r"not how it was partitioned then.*--rebuild"):
            tables.resolve(listed, snapshot)


def test_a_column_that_got_the_id_of_a_dropped_one_has_none_of_its_values(host: Host) -> None:
    listed, columns = "db.sales", [("day", "INT"), ("tail", "STRING")]
    host.ledger.create_table(listed, columns, partition_columns=["tail"])
    added = host.ledger.append(listed, [AddFile("a.parquet", ("N1",))]).position
    host.ledger.alter_table(NAME, partition_columns=["tail"])
    of = Column("of", "STRING", nullable=True, id=2)
    for name in (NAME, listed):
        host.ledger.alter_table(name, columns=[columns[0], of], partition_columns=[])
    before = host.snapshot()
    for name in (NAME, listed):
        host.ledger.alter_table(name, columns=columns[:1])
        host.ledger.alter_table(name, columns=[*columns[:1], ("delay", "STRING")])
    levels, partitioned = (
        [host.tables.resolve(name, each) for each in (before, host.snapshot())]
        for name in (NAME, listed)
    )

    assert [level.levels[1].names for level in levels] == [{"tail": "of"}, {"tail": "tail"}]
    assert [each.partitioned for each in partitioned] == [{added: ["of"]}, {added: ["tail"]}]


def plan_after(
    host: Host, tables: HostTables, rows: Counted, alters: int
) -> tuple[int, list[object]]:
    """Alter the table so often; return how many rows a plan then looks at, and the levels."""
    for number in range(alters):
        host.ledger.alter_table(NAME, properties={"number": str(number)})
    before = rows.given
    levels = tables.resolve(NAME, host.snapshot()).levels
    return rows.given - before, [*levels]


def test_plans_come_from_the_cache(host: Host) -> None:
    for _ in range(3):
        host.tables.resolve(NAME, host.snapshot())
    assert host.tables.cache.counts["cache", "hit"] == 3
