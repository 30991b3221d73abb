"""A flusher does what is due, for the tables that need it, and leaves all others alone."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Event as Signal
from time import monotonic
from typing import Final

import pytest
from structlog.typing import EventDict

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.config.settings import FlusherSettings
from ledger.core.commands import Property, TableDefinition
from ledger.definitions.definitions import TableOptions
from ledger.definitions.log_room import ROWS_MAX, LogRoom
from ledger.properties.upkeep import FlushBounds, flush_bounds, is_maintained
from ledger.testing import InMemoryLedger
from ledger.upkeep.upkeep import Upkeep

NAME: Final = "db.small"
COLUMNS: Final = [("id", "bigint"), ("kind", "string")]
INLINE: Final = {"lakeledger.inline": "on"}
NOW: Final = 1_000_000
QUICK: Final = FlusherSettings(look_s=0.01, maintain_s=0.01)


class LateClock(SystemClock):
    """A clock that is ahead by some seconds."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        self.ahead_s = ahead_s

    def now_ms(self) -> int:
        return super().now_ms() + round(self.ahead_s * 1000)

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self.ahead_s


def kept(ledger: Ledger, clock: SystemClock, settings: FlusherSettings = QUICK) -> Upkeep:
    return Upkeep(lambda: nullcontext(ledger), settings, clock)


def create(ledger: Ledger, folder: Path, name: str = NAME, **properties: str) -> None:
    location = folder / name
    ledger.create_table(name, COLUMNS, location=location, properties={**INLINE, **properties})


def append(ledger: Ledger, count: int, name: str = NAME) -> None:
    for key in range(count):
        ledger.append(name, [{"id": key, "kind": "a"}])


def operations(ledger: Ledger, name: str = NAME) -> list[str]:
    return [each.operation for each in ledger.history(name)]


@pytest.mark.parametrize(
    ("size", "rows", "age_s", "is_due"),
    [
        (1, 1, 0, False),
        (99, 9, 4.9, False),
        (100, 1, 0, True),
        (1, 10, 0, True),
        (1, 1, 5, True),
        (1, 1, -5, False),
    ],
)
def test_rows_go_into_files_at_the_first_bound_that_they_reach(
    size: int, rows: int, age_s: float, *, is_due: bool
) -> None:
    bounds = FlushBounds(size=100, rows=10, age_s=5)
    assert bounds.are_reached(size, rows, NOW - round(age_s * 1000), NOW) is is_due


@pytest.mark.parametrize(
    ("properties", "bounds"),
    [
        ({}, FlushBounds(4 << 20, 10_000, 30)),
        ({"lakeledger.flush.rows": "7"}, FlushBounds(4 << 20, 7, 30)),
        ({"LakeLedger.Flush.Bytes": "9"}, FlushBounds(9, 10_000, 30)),
        ({"lakeledger.flush.seconds": " 2 "}, FlushBounds(4 << 20, 10_000, 2)),
        ({"lakeledger.flush.rows": "0"}, FlushBounds(4 << 20, 10_000, 30)),
    ],
)
def test_properties_set_the_bounds_of_a_table(
    properties: dict[str, str], bounds: FlushBounds
) -> None:
    given = [Property(*each) for each in properties.items()]
    definition = TableDefinition("managed", "listed", "/nowhere", [], [], given)
    assert flush_bounds(definition) == bounds
    assert not is_maintained(definition)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("lakeledger.flush.rows", "0", "must be a whole number from 1 to"),
        ("lakeledger.flush.bytes", "4 MB", "must be a whole number from 1 to"),
        ("lakeledger.flush.seconds", "1.5", "must be a whole number from 1 to"),
        ("lakeledger.maintain", "yes", "must be on or off, got 'yes'"),
        ("lakeledger.flush.row", "5", "did you mean lakeledger.flush.rows"),
    ],
)
def test_a_property_without_meaning_is_refused(
    ledger: Ledger, tmp_path: Path, key: str, value: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        create(ledger, tmp_path, **{key: value})


@pytest.mark.parametrize(
    ("given", "harmless"),
    [
        ({"lakeledger.maintain": "on"}, "off"),
        ({"lakeledger.MAINTAIN": "ON"}, "off"),
        ({"lakeledger.rows": "marks"}, "rewrite"),
        ({"lakeledger.unique": "true"}, "false"),
        ({"lakeledger.flush.bytes": "7"}, ""),
        ({"lakeledger.flush.rows": "7"}, ""),
        ({"lakeledger.flush.seconds": "7"}, ""),
    ],
)
@pytest.mark.parametrize("place", [{"kind": "external"}, {"layout": "directories"}])
def test_what_nothing_would_obey_is_refused_in_a_table_of_folders(
    ledger: Ledger, tmp_path: Path, given: dict[str, str], harmless: str, place: TableOptions
) -> None:
    options: TableOptions = {"location": tmp_path / "t", **place}
    keyed, key = {"lakeledger.key": "id"}, next(iter(given))
    options["properties"] = keyed
    ledger.create_table(NAME, COLUMNS, **options)
    with pytest.raises(ValueError, match=f"its property {key} needs a table whose files"):
        ledger.alter_table(NAME, properties=given)
    options["properties"] = {**keyed, **given}
    with pytest.raises(ValueError, match=f"its property {key} needs a table whose files"):
        ledger.create_table("db.other", COLUMNS, **options)
    if harmless:
        ledger.alter_table(NAME, properties={key: harmless})


@pytest.mark.parametrize("key", ["bytes", "rows", "seconds"])
def test_bounds_of_a_flush_need_rows_in_the_log(ledger: Ledger, tmp_path: Path, key: str) -> None:
    flush = f"lakeledger.flush.{key}"
    with pytest.raises(ValueError, match=f"its property {flush} needs lakeledger.inline"):
        create(ledger, tmp_path, **{"lakeledger.inline": "off", flush: "7"})
    create(ledger, tmp_path, **{flush: "7"})
    # What waits in the log is still flushed by the bounds, so they may stay.
    ledger.alter_table(NAME, properties={flush: "7", "lakeledger.inline": "off"})


def test_a_look_flushes_the_tables_whose_rows_are_due(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path, **{"lakeledger.flush.rows": "3"})
    create(ledger, tmp_path, "db.other")
    append(ledger, 3)
    append(ledger, 3, "db.other")
    upkeep = kept(ledger, SystemClock())
    upkeep.look(Signal())
    assert upkeep.flushed == 3
    assert operations(ledger)[0] == "FLUSH"
    assert [each.table for each in ledger.reads().blocks()] == [ledger.table("db.other").table]
    upkeep.look(Signal())
    assert upkeep.flushed == 3


def test_few_rows_go_into_files_once_they_are_old(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    append(ledger, 1)
    clock = LateClock(25)
    upkeep = kept(ledger, clock)
    upkeep.look(Signal())
    assert upkeep.flushed == 0
    clock.ahead_s = 31
    upkeep.look(Signal())
    assert upkeep.flushed == 1


def test_the_age_of_rows_counts_from_the_last_flush(ledger: Ledger, tmp_path: Path) -> None:
    """Else a table that is written without a pause would be flushed at each look."""
    create(ledger, tmp_path)
    append(ledger, 1)
    first = ledger.reads().blocks()[0].since
    flush = ledger.begin()
    flush.flush(NAME)
    append(ledger, 1)
    assert ledger.reads().blocks()[0].since == first
    flush.commit()
    (left,) = ledger.reads().blocks()
    flushed, *_ = ledger.history(NAME)
    assert (left.blocks, left.rows, left.since) == (1, 1, flushed.at)


def test_a_dropped_table_is_left_alone(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    append(ledger, 2)
    ledger.drop_table(NAME)
    upkeep = kept(ledger, LateClock(60))
    upkeep.look(Signal())
    assert upkeep.flushed == 0


def test_two_flushers_beside_a_writer_lose_no_row(memory: InMemoryLedger, tmp_path: Path) -> None:
    one, two = memory.connect(), memory.connect()
    writer = memory.connect()
    create(writer, tmp_path, **{"lakeledger.flush.rows": "1", "lakeledger.rows": "marks"})
    several = [kept(each, SystemClock()) for each in (one, two)]
    for key in range(12):
        writer.append(NAME, [{"id": key, "kind": "a"}])
        if key % 3 == 2:
            with writer.transaction() as txn:
                txn.delete(NAME, f"id = {key}")
        several[key % 2].look(Signal())
    found = writer.scan(NAME).to_arrow()["id"].to_pylist()
    assert sorted(found) == [key for key in range(12) if key % 3 != 2]
    assert sum(each.flushed for each in several) == 12 - 4


def test_a_table_that_cannot_be_flushed_is_told_of_once(
    ledger: Ledger, tmp_path: Path, log_lines: Sequence[EventDict]
) -> None:
    create(ledger, tmp_path)
    create(ledger, tmp_path, "db.other")
    append(ledger, 1)
    append(ledger, 1, "db.other")
    (tmp_path / NAME).write_text("no folder")
    clock = LateClock(31)
    upkeep = kept(ledger, clock)
    for _ in range(3):
        upkeep.look(Signal())
        clock.ahead_s += 31
    told = [line["event"] for line in log_lines if line["log_level"] == "warning"]
    assert told == [f"table {NAME} is left alone for now: its rows stay in the log"]
    assert operations(ledger, "db.other")[0] == "FLUSH"


def test_a_maintained_table_gets_larger_files_and_loses_old_ones(
    ledger: Ledger, tmp_path: Path
) -> None:
    settings = FlusherSettings(look_s=0.01, maintain_s=0.01, retention_h=1e-9)
    create(ledger, tmp_path, **{"lakeledger.inline": "off", "lakeledger.maintain": "on"})
    create(ledger, tmp_path, "db.other", **{"lakeledger.inline": "off"})
    append(ledger, 8)
    append(ledger, 8, "db.other")
    clock = LateClock()
    upkeep = kept(ledger, clock, settings)
    upkeep.look(Signal())
    assert operations(ledger)[0] == "OPTIMIZE"
    assert len(ledger.read(NAME)) == 1
    assert upkeep.compacted > 0
    assert len(ledger.read("db.other")) == 8
    position = ledger.reads().position()
    clock.ahead_s = 25 * 3600.0
    upkeep.look(Signal())
    upkeep.look(Signal())
    assert len(list((tmp_path / NAME).rglob("*.parquet"))) == 1
    assert operations(ledger).count("OPTIMIZE") == 1
    assert ledger.table(NAME).version == 9
    upkeep.look(Signal())
    assert ledger.reads().position() <= position + 9


def test_few_small_files_of_a_maintained_table_stay(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path, **{"lakeledger.inline": "off", "lakeledger.maintain": "on"})
    append(ledger, 7)
    upkeep = kept(ledger, SystemClock())
    upkeep.look(Signal())
    assert upkeep.compacted == 0
    assert len(ledger.read(NAME)) == 7


def test_worn_files_of_a_maintained_table_are_written_anew(ledger: Ledger, tmp_path: Path) -> None:
    create(
        ledger,
        tmp_path,
        **{"lakeledger.inline": "off", "lakeledger.maintain": "on", "lakeledger.rows": "marks"},
    )
    ledger.append(NAME, [{"id": key, "kind": "a"} for key in range(100)])
    ledger.run(lambda txn: txn.delete(NAME, "id < 50"))
    assert [file.vector for file in ledger.read(NAME)] != [""]
    kept(ledger, SystemClock()).look(Signal())
    assert [file.vector for file in ledger.read(NAME)] == [""]
    assert ledger.scan(NAME).count() == 50


def test_writers_write_files_while_a_table_has_too_much_in_the_log(
    ledger: Ledger, tmp_path: Path
) -> None:
    create(ledger, tmp_path)
    rows = [{"id": key, "kind": "a"} for key in range(1000)]
    ends_s = monotonic() + 60
    while not files_of(ledger) and monotonic() < ends_s:
        ledger.append(NAME, rows)
    ledger.run(lambda txn: txn.insert(NAME, rows))
    assert files_of(ledger) == 2
    (waiting,) = ledger.reads().blocks()
    assert waiting.rows >= ROWS_MAX
    ledger.run(lambda txn: txn.flush(NAME))
    while not ledger.reads().blocks() and monotonic() < ends_s:
        ledger.append(NAME, rows)
    assert ledger.reads().blocks()[0].rows == 1000


def test_the_bound_of_a_ledger_holds_for_all_tables_together(
    ledger: Ledger, tmp_path: Path
) -> None:
    """A dropped table counts no more: nothing flushes its rows."""
    view = ledger._view  # noqa: SLF001 - a small bound for one ledger
    sizes, names = list[int](), [f"db.t{n}" for n in range(3)]
    for name in names:
        create(ledger, tmp_path, name)
        append(ledger, 2, name)
        (found,) = ledger.reads().blocks(ledger.table(name).table)
        sizes.append(found.size)
    rows, size = [ledger.table(name) for name in names], sum(sizes)
    assert [LogRoom(view, size + 1).has(row) for row in rows] == [True] * 3
    assert [LogRoom(view, size).has(row) for row in rows] == [False] * 3
    ledger.drop_table(names[0])
    assert [LogRoom(view, size).has(row) for row in rows[1:]] == [True] * 2
    assert not LogRoom(view, size - sizes[0]).has(rows[1])
    ledger.run(lambda txn: txn.flush(names[1]))
    assert LogRoom(view, size - sizes[0]).has(rows[1])


def test_writers_of_one_table_heed_what_the_others_have_in_the_log(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger._names.log_room = LogRoom(ledger._view, 1)  # noqa: SLF001 - a small bound for one ledger
    create(ledger, tmp_path, "db.first")
    append(ledger, 1, "db.first")
    create(ledger, tmp_path)
    ends_s = monotonic() + 60
    while not files_of(ledger) and monotonic() < ends_s:
        append(ledger, 1)
    ledger.run(lambda txn: txn.insert(NAME, [{"id": 2, "kind": "a"}]))
    assert files_of(ledger) == 2


def files_of(ledger: Ledger) -> int:
    return [bool(file.rows) for file in ledger.read(NAME)].count(False)
