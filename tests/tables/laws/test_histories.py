"""Histories of random statements end, and are at each version, as a model in plain Python says."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ledger.arrow.types import arrow_type
from ledger.client import Ledger
from ledger.testing import InMemoryLedger
from tests.tables.laws.drawing import some_condition
from tests.tables.laws.history import History, replayable
from tests.tables.laws.model import TableModel
from tests.tables.laws.statements import counted, where_text
from tests.tables.row_files import tuples

SEEDS = range(6)
MANY = range(100, 300)


def check_scan(ledger: Ledger, name: str, model: TableModel, **place: Any) -> None:
    found = ledger.scan(name, **place).to_arrow()
    assert found.column_names == [column.name for column in model.columns]
    assert [each.type for each in found.schema] == [
        arrow_type(column.type) for column in model.columns
    ]
    assert counted(found) == model.counted()
    assert ledger.scan(name, **place).count() == len(model.rows)


def check_conditions(rng: Random, ledger: Ledger, name: str, model: TableModel, **at: Any) -> None:
    """Assert that scans with conditions show what the conditions mean."""
    for _ in range(3):
        where = some_condition(rng, model, 0)
        text = where_text(where, model)
        found = ledger.scan(name, text, **at)
        assert counted(found.to_arrow()) == model.counted(where), text
        assert found.count() == sum(model.counted(where).values()), text


def check_sql(history: History) -> None:
    """Assert that DuckDB sees both tables, now and as of one position."""
    ledger, versions = history.ledger, history.versions
    positions = [seen.position for several in versions.values() for seen in several.values()]
    for place in (None, history.rng.choice(positions)):
        counts = []
        for name, model in history.world.items():
            then = [each for each in versions[name].values() if place and each.position <= place]
            if place and not then:
                return  # The second table was not there yet.
            shown = then[-1].model if place else model
            rows = ledger.sql(f"SELECT * FROM {name}", position=place).to_arrow()  # noqa: S608
            assert counted(rows) == shown.counted()
            counts.append(len(shown.rows))
        found = ledger.sql(
            "SELECT (SELECT count(*) FROM db.one) AS one, (SELECT count(*) FROM two) AS two",
            position=place,
        )
        assert list(found.to_arrow().to_pylist()[0].values()) == counts


def check_changes(ledger: Ledger, name: str, history: History) -> None:
    """Assert that the net changes since the first version add up to the newest rows."""
    total: Counter[Any] = Counter()
    change = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
    for batch in ledger.changes(name, after=0).rows():
        names = [column.name for column in history.world[name].columns]
        kinds = batch.column("_change_type").to_pylist()
        for row, kind in zip(tuples(batch.select(names)), kinds, strict=True):
            total[row] += change[kind]
    assert {row: n for row, n in total.items() if n} == dict(history.world[name].counted())


def check_files(ledger: Ledger, name: str) -> None:
    """Assert that no live file is missing, and that no file is there which no commit named."""
    row = ledger.table(name)
    root = Path(row.definition.location)
    there = {str(each) for each in root.rglob("*.parquet")}
    named = {
        str(root / change.file.path)
        for commit in ledger.changes(name, after=0)
        for change in commit
    }
    assert there == named


def check(history: History) -> None:
    """Assert all that is said of a history that has been played."""
    ledger = history.ledger
    for name, versions in history.versions.items():
        for version, seen in versions.items():
            check_scan(ledger, name, seen.model, version=version)
        version, seen = history.rng.choice(list(versions.items()))
        check_conditions(history.rng, ledger, name, seen.model, version=version)
        check_conditions(history.rng, ledger, name, history.world[name])
        check_changes(ledger, name, history)
        check_files(ledger, name)
    check_sql(history)
    for name, model in history.world.items():
        ledger.vacuum(name, older_than_h=0.0)
        check_scan(ledger, name, model)


def play(folder: Path, seed: int) -> History:
    with InMemoryLedger() as memory:
        history = History(memory.connect(), folder, seed)
        with replayable(seed, history):
            history.play()
            check(history)
    return history


@pytest.mark.parametrize("seed", SEEDS)
def test_histories(tmp_path: Path, seed: int) -> None:
    """Every version, the queries and the changes show what the committed txns made, in order."""
    play(tmp_path, seed)


def play_with_vacuums(folder: Path, seed: int) -> None:
    """Play a history beside vacuums, and check what is left."""
    with InMemoryLedger() as memory:
        history = History(memory.connect(), folder, seed, vacuums=True)
        with replayable(seed, history):
            history.play()
            for name, model in history.world.items():
                history.ledger.vacuum(name, older_than_h=0.0)
                check_scan(history.ledger, name, model)
                root = folder / name
                there = {str(each.relative_to(root)) for each in root.rglob("*.parquet")}
                assert there == set(history.ledger.read(name).paths)


@pytest.mark.parametrize("seed", range(2))
def test_vacuums_beside_txns(tmp_path: Path, seed: int) -> None:
    """A vacuum deletes no file that an open txn needs, has written, or will commit."""
    play_with_vacuums(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY[:60])
def test_many_vacuums_beside_txns(tmp_path: Path, seed: int) -> None:
    """The same for many histories."""
    play_with_vacuums(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_histories(tmp_path: Path, seed: int) -> None:
    """The same for many histories."""
    play(tmp_path, seed)
