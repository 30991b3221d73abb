"""Published Delta tables that are imported and published again: readers see the same table.

The copy of a log says from its first version on that the table is published into another folder.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.delta.log import DeltaLog
from ledger.properties.column_mapping import PUBLISH
from ledger.testing import InMemoryLedger
from projections.delta.actions.metadata_action import FOLDER
from tests.tables.published_lake import publish
from tests.tables.test_published import NAMES, SOURCES

NAME = "db.again"


def with_properties(log: Path, folder: Path) -> bool:
    """Publish a table by the properties in its log; return whether its first version has any."""
    first = min(log.glob("*.json"), default=None)
    found = False
    for file in sorted(log.glob("*.json")):
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
        for each in lines:
            if "metaData" in each:
                configuration = each["metaData"].setdefault("configuration", {})
                configuration |= {PUBLISH: "delta", FOLDER: str(folder)}
                found = found or file == first
        file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return found and not list(log.glob(f"{first.name[:20]}.checkpoint*" if first else "none"))


class Seen(NamedTuple):
    """What a reader sees of a version."""

    files: list[tuple[str, Any]]
    partitions: list[str]
    columns: list[tuple[str, str]]
    features: set[str]


def seen(folder: Path, version: int, prefix: str = "") -> Seen | None:
    """Return what deltalake sees of a version, None if it cannot read it."""
    try:
        table = DeltaTable(str(folder), version=version)
        actions = pa.table(table.get_add_actions()).to_pylist()
        protocol, metadata = table.protocol(), table.metadata()
        columns = [(field.name, str(field.type)) for field in table.schema().fields]
    except (DeltaError, ValueError, OSError):
        return None
    files = sorted(
        (action["path"].removeprefix(prefix), sorted((action.get("partition") or {}).items()))
        for action in actions
    )
    features = set(protocol.reader_features or ())
    return Seen(files, list(metadata.partition_columns), columns, features)


def progress(folder: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Return the newest progress of applications, and the domains, of a log."""
    apps: dict[str, int] = {}
    domains: dict[str, str] = {}
    for commit in DeltaLog.open(folder).versions():
        apps.update(commit.apps)
        for domain in commit.domains.values():
            domains.pop(domain.name, None)
            if not domain.removed:
                domains[domain.name] = domain.configuration
    return apps, domains


@pytest.mark.skipif(not SOURCES.exists(), reason="the published logs are not on this machine")
@pytest.mark.parametrize("name", NAMES)
def test_published_again(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, name: str) -> None:
    """Files, partitions, columns, features, progress and domains are those of the original."""
    original, folder = tmp_path / "original", tmp_path / "log"
    shutil.copytree(SOURCES / name, original)
    is_from_first = with_properties(original / "_delta_log", folder)
    report = import_delta(ledger, original, NAME)
    first = report.delta_version - report.version
    if not is_from_first:
        ledger.alter_table(NAME, properties={PUBLISH: "delta", FOLDER: str(folder)})
    assert publish(memory.log).stopped == {}

    row = ledger.table(NAME)
    newest = row.version - (0 if is_from_first else 1)
    compared = 0
    for version in range(newest + 1) if is_from_first else [newest]:
        wanted = seen(original, version + first)
        if wanted is None:
            continue
        found = seen(folder, version if is_from_first else version + 1, f"{original}/")
        assert found is not None, f"version {version} cannot be read"
        assert found[:3] == wanted[:3], f"version {version}"
        assert found.features >= wanted.features - {"v2Checkpoint"}
        compared += 1
    assert compared or seen(original, newest + first) is None
    assert progress(folder) == progress(original)
