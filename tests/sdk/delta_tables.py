"""Published Delta tables and what is expected of each of their versions, beside the repository."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from threading import Event as Signal
from typing import Any

from ledger.client import Ledger
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.delta.checkpoints import CHECKPOINT_NAME
from ledger.delta.footprint import UNRECORDED
from ledger.delta.importer import import_delta
from ledger.delta.listing import COMMIT_NAME
from ledger.reads.port import Reads

TABLES = Path(__file__).parents[3] / "shared" / "data" / "delta"
NAME = "t"

State = Mapping[str, Any]


def names() -> list[str]:
    return sorted(path.parent.name for path in TABLES.glob("*/expected.json"))


def checkpoints() -> list[tuple[str, int]]:
    """Return every checkpoint of the tables: the table and the version it is of."""
    files = (
        (name, each.name) for name in names() for each in (TABLES / name).rglob("*checkpoint*")
    )
    found = ((name, CHECKPOINT_NAME.fullmatch(file)) for name, file in files)
    return sorted({(name, int(match[1])) for name, match in found if match})


def vacuumed(name: str, table: Path, checkpoint: int) -> Path:
    """Copy a table to a folder without what came before a checkpoint, and return the folder."""
    shutil.copytree(TABLES / name, table)
    for path in (table / "_delta_log").iterdir():
        named = COMMIT_NAME.fullmatch(path.name) or CHECKPOINT_NAME.fullmatch(path.name)
        if named and int(named[1]) < checkpoint:
            path.unlink()
    return table


def expected(name: str, first: int = 0) -> list[State]:
    told = json.loads((TABLES / name / "expected.json").read_text(encoding="utf-8"))
    return [expected_state(each) for each in told["versions"] if each["version"] >= first]


def expected_state(told: Mapping[str, Any]) -> State:
    """Return the state of one version as `imported_state` has it."""
    return {
        "version": told["version"],
        "paths": told["live_paths_sha256"],
        "keys": told["live_keys_sha256"],
        "operation": told["operation"] or UNRECORDED,
        "partitioned": told["partition_columns"],
        "configuration": told["configuration"],
        "protocol": (
            told["min_reader"],
            told["min_writer"],
            sorted({*told["reader_features"], *told["writer_features"]}),
        ),
        "apps": told["txns"],
        "domains": told["domains"],
    }


def imported_state(reads: Reads, table: int, version: int, delta_version: int) -> State:
    """Return the state of an imported table as the read model tells it now."""
    files = reads.files(table, version=version)
    row, now = reads.version_row(table, version=version), reads.table(table)
    protocol = reads.protocol(table)
    assert row is not None
    assert now is not None
    assert protocol is not None
    return {
        "version": delta_version,
        "paths": digest(file.path for file in files),
        "keys": digest(
            f"{file.path}|{file.vector}" if file.vector else file.path for file in files
        ),
        "operation": row.operation,
        "partitioned": list(now.definition.partition_columns),
        "configuration": {each.key: each.value for each in now.definition.properties},
        "protocol": (protocol.min_reader, protocol.min_writer, list(protocol.features)),
        "apps": {
            app.app: app.version for app in reads.apps(table) if not app.app.startswith(IMPORT_APPS)
        },
        "domains": {domain.name: domain.configuration for domain in reads.domains(table)},
    }


def import_stepwise(ledger: Ledger, table: Path) -> Iterator[State]:
    """Import a table version by version, each by an import of its own; yield the states."""
    newest = -2
    while True:
        stop = Signal()
        report = import_delta(
            ledger, table, NAME, stop=stop, progress=lambda *_, stop=stop: stop.set()
        )
        if report.delta_version == newest:
            return
        newest = report.delta_version
        yield imported_state(ledger.reads(), report.table, report.version, newest)


def digest(texts: Iterable[str]) -> str:
    """Return the sum over a set of texts by which expectations are told."""
    return sha256("\n".join(sorted(texts)).encode()).hexdigest()
