"""An import keeps each file as the Delta log has it: every field of every add and remove."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.log.file_list import AddFile, RemoveFile, unpack_chunks
from ledger.testing import InMemoryLedger
from tests.sdk.delta_logs import add, begin, commits, remove, staged, write_log

PUBLISHED: Final = Path(__file__).parents[3] / "shared" / "data" / "delta"
TABLES: Final = sorted(each.parent.name for each in PUBLISHED.glob("*/_delta_log"))
ABSENT: Final = pytest.param("", marks=pytest.mark.skip(reason="the published tables are absent"))
VECTOR: Final = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
INLINE: Final = {"storageType": "i", "pathOrInlineDv": "wi5b", "sizeInBytes": 4, "cardinality": 1}

Fields = Mapping[str, Any]


def test_generated_log(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """Deletion vectors of each kind, tags and row ids come back, for adds and for removes."""
    ids = {"baseRowId": 0, "defaultRowCommitVersion": 1}
    tags = {"INSERTION_TIME": "1", "OPTIMIZE_TARGET_SIZE": "2"}
    write_log(
        tmp_path,
        begin(),
        [add("a", tags=tags, **ids), add("b"), add("c", deletionVector=INLINE)],
        [
            remove("a", tags=tags, **ids),
            add("a", deletionVector=VECTOR, tags=tags, dataChange=False, **ids),
            remove("c", deletionVector=INLINE),
        ],
    )

    check_kept(memory, ledger, tmp_path)

    kept = {each.path: each for each in ledger.reads().files(1)}
    assert kept["a"].deletion_vector is not None
    assert (kept["a"].deletion_vector.cardinality, kept["a"].tags) == (6, tags)


@pytest.mark.parametrize("name", TABLES or [ABSENT])
def test_published_table(memory: InMemoryLedger, ledger: Ledger, name: str) -> None:
    """Every published table is imported, and its versions list the same files."""
    check_kept(memory, ledger, PUBLISHED / name)


def check_kept(memory: InMemoryLedger, ledger: Ledger, table: Path) -> None:
    """Import a table, and compare each version whose log file is there."""
    report = import_delta(ledger, table, "t")
    found = commits(memory)
    first = report.delta_version - report.version
    logs = {int(each.stem): each for each in table.glob("_delta_log/*.json") if each.stem.isdigit()}

    assert len(found) == report.version + 1
    for version, (_, footprint) in enumerate(found, start=first):
        # The first version may stand for a checkpoint, which has all live files.
        if version in logs and (version > first or first == 0):
            chunks = [*staged(memory), footprint] if footprint.staged else [footprint]
            files = unpack_chunks(chunks)
            kept = {*map(form, files.adds), *map(form, files.removes)}
            assert kept == actions(logs[version]), version


def form(file: AddFile | RemoveFile) -> tuple[Any, ...]:
    """Return the fields of a file that a Delta log has too."""
    vector = None if file.deletion_vector is None else tuple(file.deletion_vector)
    values = None if file.partition is None else tuple(sorted(map(str, file.partition)))
    tail = vector, frozenset(file.tags.items()), file.base_row_id, file.row_version
    if isinstance(file, RemoveFile):
        return "remove", file.path, values, file.data_change, *tail
    written = file.size, file.modified, file.stats
    return "add", file.path, values, file.data_change, *written, *tail


def actions(log: Path) -> set[tuple[Any, ...]]:
    """Return the same fields of the adds and removes in a file of a log; the last word counts."""
    found = {}
    for line in map(json.loads, log.read_text().splitlines()):
        for kind in ("add", "remove"):
            if line.get(kind) is not None:
                action = action_form(kind, line[kind])
                found[kind, action[1], action[-4]] = action
    return set(found.values())


def action_form(kind: str, fields: Fields) -> tuple[Any, ...]:
    """Return the fields of one action."""
    described = fields.get("deletionVector")
    names = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
    vector = None if described is None else tuple(described.get(name) for name in names)
    values = fields.get("partitionValues")
    texts = None if values is None else tuple(sorted(str(each or None) for each in values.values()))
    tags = frozenset((fields.get("tags") or {}).items())
    tail = vector, tags, fields.get("baseRowId"), fields.get("defaultRowCommitVersion")
    head = kind, fields["path"], texts, fields.get("dataChange", True)
    if kind == "remove":
        return *head, *tail
    return *head, fields["size"], fields["modificationTime"], fields.get("stats") or "", *tail
