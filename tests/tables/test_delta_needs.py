"""What published tables ask of Delta's readers, compared with what the installed readers do."""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from ledger.cli.tables.published import published_fields
from ledger.client import Ledger
from ledger.core.state.traits import KNOWN_FEATURES
from ledger.delta.actions import READER_FEATURES
from ledger.delta.importer import import_delta
from ledger.properties.delta_readers import (
    ARROW,
    DUCKDB,
    MAPPING,
    NEEDS,
    POLARS,
    READERS,
    SPARK,
    SQL,
    VOID,
    WIDENING,
    refused,
)
from ledger.testing import InMemoryLedger
from projections.delta.adopting import LogOwner
from projections.delta.log.log_folder import LogFolder
from projections.delta.log.log_marks import features_in
from tests.tables.delta_readers import by_deltalake, with_delta
from tests.tables.delta_spark import delta_session
from tests.tables.published_lake import PUBLISHED, publish

Change = Callable[[Ledger, str], object]
Rows = Callable[[str, int], int]

COLUMNS: Final = [("id", "int"), ("day", "int")]
PACKAGES: Final = {ARROW: "deltalake", SQL: "deltalake", POLARS: "polars", DUCKDB: "duckdb"}
# The ledger takes the place of a coordinator, and publishes no log in the other form.
NOT_PUBLISHED: Final = {"adaptiveMetadata-preview", "catalogManaged", "coordinatedCommits-preview"}
# What only writers must know.
OF_WRITERS: Final = {
    *("checkConstraints", "allowColumnDefaults", "generatedColumns", "identityColumns")
}
# A feature that needs another one.
NEEDED_TOO: Final = {"variantShredding": "variantType"}
REFUSALS: Final = "eature|column mapping|reader version|Unsupported Delta table type"


def duckdb_rows(folder: str, at: int) -> int:
    """Return how many rows DuckDB reads; a VARIANT has no form in Arrow there."""
    asked = with_delta().execute("SELECT * FROM delta_scan(?, version = ?)", [folder, at])
    return len(asked.fetchall())


HERE: Final[Mapping[str, Rows]] = {
    ARROW: lambda folder, at: DeltaTable(folder, version=at).to_pyarrow_table().num_rows,
    SQL: lambda folder, at: by_deltalake(folder, at).num_rows,
    POLARS: lambda folder, at: pl.scan_delta(folder, version=at).collect().height,
    DUCKDB: duckdb_rows,
}


def refusing(folder: Path, at: int, readers: Mapping[str, Rows] = HERE) -> list[str]:
    """Return the readers that refuse a version of a table for what it needs."""
    found = []
    for name, rows in readers.items():
        try:
            count = rows(str(folder), at)
        except Exception as problem:  # each reader has errors of its own
            if not re.search(REFUSALS, str(problem)):
                raise
            found.append(name)
        else:
            assert count, name
    return found


def altering(*columns: tuple[str, str], **more: Any) -> Change:
    changes: dict[str, Any] = {"columns": columns} if columns else {}
    return lambda ledger, name: ledger.alter_table(name, **changes, **more)


def renaming(ledger: Ledger, name: str) -> None:
    id_, *others = ledger.table(name).definition.columns
    columns = [id_._replace(name="number"), *others]
    ledger.run(lambda txn: txn.alter_table(name, columns=columns))


def widening(ledger: Ledger, name: str) -> None:
    """Append a row whose number does not fit."""
    ledger.append(name, [{"id": 2**40, "day": 2}], evolve=True)


CHANGES: Final[Mapping[str, tuple[str, Change]]] = {
    "drop": (MAPPING, altering(("id", "int"))),
    "rename": (MAPPING, renaming),
    "evolve": (WIDENING, widening),
    "alter": (WIDENING, altering(("id", "BIGINT"), ("day", "int"))),
    "ntz": ("timestampNtz", altering(*COLUMNS, ("at", "timestamp_ntz"))),
    "variant": ("variantType", altering(*COLUMNS, ("any", "variant"))),
    "void": (VOID, altering(*COLUMNS, ("none", "struct<void: int, x: void>"))),
    "check": ("checkConstraints", altering(properties={"delta.constraints.c": "id > 0"})),
    "default": ("allowColumnDefaults", altering(("id", "int"), ("day", "int DEFAULT 5"))),
    "add": ("", lambda ledger, name: ledger.append(name, [{"id": 1, "x": "y"}], evolve=True)),
}


def made(ledger: Ledger, folder: Path, name: str = "t", **more: str) -> None:
    ledger.create_table(name, COLUMNS, location=folder, properties={**PUBLISHED, **more})
    ledger.append(name, [{"id": 1, "day": 2}])


def warned(ledger: Ledger, change: Change, name: str = "t") -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        change(ledger, name)
    return [str(each.message) for each in found]


def bare_log(folder: Path, feature: str) -> None:
    """Write a Delta table of one row whose protocol has a feature."""
    features = {feature, NEEDED_TOO.get(feature, feature)}
    (folder / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), folder / "a.parquet")
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    reading = READER_FEATURES.intersection(features)
    protocol: dict[str, Any] = {"minReaderVersion": 3 if reading else 1, "minWriterVersion": 7}
    protocol |= {"writerFeatures": sorted({"appendOnly", "invariants", *features})}
    protocol |= {"readerFeatures": sorted(reading)} if reading else {}
    metadata = {
        "id": "one",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "partitionColumns": [],
        "configuration": {},
    }
    size = (folder / "a.parquet").stat().st_size
    add = {"path": "a.parquet", "partitionValues": {}, "size": size, "dataChange": True}
    add["modificationTime"] = 0
    lines = [{"protocol": protocol}, {"metaData": metadata}, {"add": add}]
    text = "\n".join(map(json.dumps, lines))
    (folder / "_delta_log" / f"{0:020}.json").write_text(text, encoding="utf-8")


def test_what_the_table_has() -> None:
    """It has each feature that readers must know, and the versions that are measured here."""
    assert NEEDS.keys() - OF_WRITERS - {VOID} == READER_FEATURES
    assert {each for need in NEEDS.values() for each in need.refused_by} <= set(READERS)
    for reader, package in PACKAGES.items():
        number = reader.split()[1]
        assert f"{version(package)}.".startswith(f"{number}."), f"measure {reader} anew"


@pytest.mark.parametrize("feature", sorted((KNOWN_FEATURES | READER_FEATURES) - NOT_PUBLISHED))
def test_a_reader_refuses_a_table_with_a_feature_it_lacks(tmp_path: Path, feature: str) -> None:
    bare_log(tmp_path, feature)
    wanted = NEEDS[feature].refused_by if feature in NEEDS else ()
    assert refusing(tmp_path, 0) == [each for each in HERE if each in wanted]


@pytest.mark.parametrize("name", CHANGES)
def test_each_change(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, name: str) -> None:
    """A change warns if readers refuse what it needs; they read the version before, and no other.

    `table show` says the same of the log.
    """
    need, change = CHANGES[name]
    wanted = NEEDS[need].refused_by if need else ()
    made(ledger, tmp_path)
    before = ledger.table("t").version
    said = warned(ledger, change)
    assert [need in each and all(name in each for name in wanted) for each in said] == (
        [True] if wanted else []
    )
    publish(memory.log)
    assert refusing(tmp_path, before) == []
    row = ledger.table("t")
    assert refusing(tmp_path, row.version) == [each for each in HERE if each in wanted]
    shown = published_fields(row)
    assert need in ("", VOID, *shown["delta_features"])
    assert shown["refused_by"] == {reader: [need] for reader in READERS if reader in wanted}


def test_warned_once(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """A feature that a table has is not new, and a table that is not published needs none.

    One that is published later needs what happened before.
    """
    made(ledger, tmp_path / "t")
    ledger.create_table("plain", COLUMNS, location=tmp_path / "plain")
    wide = altering(("id", "bigint"), ("day", "int"))
    wider = altering(("id", "bigint"), ("day", "bigint"))
    shorter = altering(("id", "bigint"))
    found = [len(warned(ledger, each)) for each in (wide, wider, shorter, wide)]
    assert found == [1, 0, 1, 0]
    assert [warned(ledger, each, "plain") for each in (wide, wider, shorter)] == [[]] * 3
    said = warned(ledger, altering(properties=PUBLISHED), "plain")
    assert [WIDENING in each for each in said] == [True]
    publish(memory.log)
    assert WIDENING in features_in(LogFolder(str(tmp_path / "plain")))


def test_a_warning_as_an_error_keeps_the_table(ledger: Ledger, tmp_path: Path) -> None:
    made(ledger, tmp_path)
    before = ledger.table("t")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=WIDENING):
            widening(ledger, "t")
    assert ledger.table("t") == before


def test_an_adopted_table(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """What a Delta table asked of readers before it was adopted is not new."""
    bare_log(tmp_path, MAPPING)
    import_delta(ledger, tmp_path, "t")
    owner = LogOwner(ledger, memory.log)
    assert warned(ledger, lambda made, name: owner.adopt(made.table(name))) == []
    assert refusing(tmp_path, 1) == [each for each in HERE if each in NEEDS[MAPPING].refused_by]
    assert warned(ledger, altering(("id", "bigint"), ("more", "int"))) == []
    assert warned(ledger, altering(("id", "bigint"))) == []
    said = warned(ledger, altering(("id", "bigint"), ("none", "void")))
    assert [VOID in each for each in said] == [True]


def test_no_way_back(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """A rewrite of all files leaves the feature; a new table of the rows is without it."""
    made(ledger, tmp_path / "t")
    widening(ledger, "t")
    ledger.run(lambda txn: txn.optimize("t"))
    rows = ledger.scan("t").to_arrow()
    ledger.create_table("new", rows, location=tmp_path / "new", properties=PUBLISHED)
    publish(memory.log)
    for name, wanted in (("t", NEEDS[WIDENING].refused_by), ("new", ())):
        at = ledger.table(name).version
        assert tuple(refusing(tmp_path / name, at)) == wanted


def test_features_in_a_checkpoint(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """`table show` finds the features in a checkpoint, and says if the log cannot be read."""
    made(ledger, tmp_path, **{"delta.checkpointInterval": "2"})
    assert published_fields(ledger.table("t")) == {"delta_features": [], "refused_by": {}}
    widening(ledger, "t")
    publish(memory.log)
    for file in sorted((tmp_path / "_delta_log").glob("*.json")):
        file.unlink()
    shown = published_fields(ledger.table("t"))
    assert shown["refused_by"] == refused([WIDENING])
    (tmp_path / "_delta_log" / f"{2:020}.checkpoint.parquet").write_bytes(b"no Parquet")
    assert "cannot be read here" in published_fields(ledger.table("t"))["delta_features"]


@pytest.mark.slow
@pytest.mark.spark
def test_by_spark(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """delta-spark refuses what the table says, too."""
    wanted = {}
    for feature in READER_FEATURES:
        bare_log(tmp_path / feature, feature)
        wanted[feature, 0] = SPARK in NEEDS[feature].refused_by
    for name, (need, change) in CHANGES.items():
        made(ledger, tmp_path / name, name)
        change(ledger, name)
        at = ledger.table(name).version
        wanted[name, at] = bool(need) and SPARK in NEEDS[need].refused_by
    publish(memory.log)
    with delta_session(tmp_path) as session:
        delta = session.read.format("delta")
        spark = {
            SPARK: lambda folder, at: len(delta.option("versionAsOf", at).load(folder).collect())
        }
        found = {(name, at): bool(refusing(tmp_path / name, at, spark)) for name, at in wanted}
    assert found == wanted
