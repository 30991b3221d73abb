"""Published Delta tables: what a scan shows is what Delta's kernel shows.

The logs are published without their data. So each live file is made: rows of the schema that the
table had then, under the names of then, and deletion vectors at the places that the log names.
"""

import json
import shutil
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from ledger.client import Ledger
from ledger.core.partitions.file_paths import spellings
from ledger.delta.importer import import_delta
from ledger.files.deletion_vectors import path_of
from ledger.reads.port import FileRow
from ledger.snapshot.scan_rows import known_rows
from ledger.snapshot.table_snapshot import TableSnapshot
from tests.tables.files import bits_of

SOURCES = Path(__file__).parents[3] / "shared" / "data" / "delta"
NAMES = sorted(each.parent.name for each in SOURCES.glob("*/_delta_log")) or ["none"]
NAME = "db.published"


def value(type_: pa.DataType, number: int) -> Any:
    """Return a value of a type; every fifth one is NULL."""
    if number % 5 == 4:
        return None
    if pa.types.is_struct(type_):
        return {each.name: value(each.type, number) for each in type_}
    moment = datetime(2024, 1, 1, 0, 0, number % 60, number, tzinfo=UTC)
    values = {
        pa.string(): f"text {number}",
        pa.timestamp("us", "UTC"): moment,
        pa.timestamp("us"): moment.replace(tzinfo=None),
        pa.date32(): moment.date(),
        pa.bool_(): number % 2 == 0,
        pa.float64(): number / 2,
        pa.binary(): bytes([number % 256]),
    }
    return values.get(type_, number % 100)


def make_data(ledger: Ledger, folder: Path) -> None:
    """Write each live file of the imported table, and its deletion vector."""
    found = ledger.read(NAME)
    snapshot = TableSnapshot(ledger.reads(), found.table, found.position)
    sizes = {}
    for at, file in enumerate(found.files):
        vector = file.deletion_vector
        rows = (known_rows(file) or 3) + (vector.cardinality if vector else 0)
        schema = snapshot.schema_of(file).stored
        data = {
            each.name: [value(each.type, at + place + row) for row in range(rows)]
            for place, each in enumerate(schema)
        }
        path = Path(spellings(str(folder), file.path)[-1])
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(data, schema=schema), path)
        sizes[file.path] = path.stat().st_size
    for place, vectors in vectors_by_path(found.files).items():
        write_vectors(folder / place, vectors)
    write_log(folder, {(each.path, each.vector) for each in found.files}, sizes)


def write_log(folder: Path, live: set[tuple[str, str]], sizes: dict[str, int]) -> None:
    """Put a log of one version, with the sizes of the made files, in the place of the log."""
    kept: dict[str, Any] = {}
    adds = []
    log = folder / "_delta_log"
    for file in sorted(log.glob("*.json")):
        for line in file.read_text(encoding="utf-8").splitlines():
            action = json.loads(line) if line.strip() else {}
            kept.update({key: action[key] for key in ("protocol", "metaData") if key in action})
            if "add" in action:
                adds.append(action["add"])
    newest = {(add["path"], vector_id(add)): add for add in adds}
    if not live <= newest.keys() or "metaData" not in kept:
        pytest.skip("a checkpoint alone knows the oldest files")
    shutil.rmtree(log)
    log.mkdir()
    lines = [{key: each} for key, each in kept.items()]
    lines += [
        {"add": {k: v for k, v in each.items() if k != "stats"} | {"size": sizes[each["path"]]}}
        for key, each in newest.items()
        if key in live
    ]
    text = "\n".join(map(json.dumps, lines))
    (log / f"{0:020}.json").write_text(text, encoding="utf-8")


def vector_id(add: dict[str, Any]) -> str:
    found = add.get("deletionVector")
    return f"{found['storageType']}{found['pathOrInlineDv']}@{found['offset']}" if found else ""


def vectors_by_path(files: Sequence[FileRow]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for file in files:
        if file.deletion_vector is not None:
            found.setdefault(path_of(file.deletion_vector), []).append(file.deletion_vector)
    return found


def write_vectors(path: Path, vectors: list[Any]) -> None:
    """Write vectors of the sizes that the log names."""
    data = bytearray(b"\1")
    for each in sorted(vectors, key=lambda vector: vector.offset):
        bits = next(bits for bits in candidates(each.cardinality) if len(bits) == each.size)
        data += bytes(each.offset - len(data))
        data += struct.pack(">i", len(bits)) + bits + struct.pack(">I", crc32(bits))
    path.write_bytes(data)


def candidates(count: int) -> Iterator[bytes]:
    """Yield bitmaps of so many rows, which are of different sizes."""
    yield bits_of(range(count))
    yield bits_of([*range(count - 1), count])
    yield bits_of(range(0, 2 * count, 2))


def plain(rows: Iterator[dict[str, Any]]) -> list[str]:
    """Return rows as texts, in order."""
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.skipif(not SOURCES.exists(), reason="the published logs are not on this machine")
@pytest.mark.parametrize("name", NAMES)
def test_a_scan_shows_what_delta_shows(ledger: Ledger, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "table"
    shutil.copytree(SOURCES / name, folder)
    import_delta(ledger, folder, NAME)
    make_data(ledger, folder)
    scan = ledger.scan(NAME)
    table = scan.to_arrow()
    delta = QueryBuilder().register("t", DeltaTable(str(folder))).execute("SELECT * FROM t")
    wanted = pa.table(delta.read_all()).cast(table.schema)
    assert plain(table.to_pylist()) == plain(wanted.to_pylist())
    assert scan.count() == len(table)
