"""Logs of the first published form are read as the program that wrote them read them.

`written_before.json.gz` holds two of its events topics: one of a run with faults, one with files,
alters and staged chunks. Beside the records lie its state digest, its checkpoint and its answers.
"""

import dataclasses
import gzip
import json
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.core.acceptance import LogHead
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log import checkpoints
from ledger.log.memory import MemoryLog
from ledger.log.port import Record, Topic
from ledger.log.replay import Replay
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.store.memory import MemoryStore

FILE: Final = Path(__file__).with_name("written_before.json.gz")
ALL: Final = 10_000
NAMES: Final = ("faults", "files")


@cache
def kept() -> Mapping[str, Mapping[str, Any]]:
    return {load["name"]: load for load in json.loads(gzip.decompress(FILE.read_bytes()))}


def log_of(name: str) -> MemoryLog:
    log = MemoryLog()
    log.topics[Topic.EVENTS].records.extend(
        Record(offset, b64decode(key), b64decode(value), at)
        for offset, key, value, at in kept()[name]["records"]
    )
    return log


def folded(name: str) -> tuple[DomainState, LogHead]:
    replay, state = Replay(log_of(name)), DomainState()
    for event in replay:
        evolve(state, event)
    return state, replay.acceptor.head


@pytest.mark.parametrize("name", NAMES)
def test_the_same_events_make_a_state_of_the_same_digest(name: str) -> None:
    state, head = folded(name)

    assert head.position == kept()[name]["position"]
    assert head.chain.hex() == kept()[name]["chain"]
    assert checkpoints.digest(state, head) == kept()[name]["state"]


@pytest.mark.parametrize("name", NAMES)
def test_a_former_checkpoint_holds_the_state_that_its_log_gives(name: str) -> None:
    loaded = checkpoints.load(b64decode(kept()[name]["checkpoint"]))

    assert checkpoints.digest(loaded.state, loaded.head) == checkpoints.digest(*folded(name))


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_former_log_give_every_former_answer(name: str) -> None:
    log, store = log_of(name), MemoryStore()
    Fold.load(store, log).feed(log.topics[Topic.EVENTS].records)

    assert differences(kept()[name]["answers"], plain(answers(StoreReads(store)))) == []


def answers(reads: StoreReads) -> dict[str, Any]:
    """Return the answers that are kept."""
    txns = {txn: row for txn in range(1, ALL) if (row := reads.txn(txn)) is not None}
    return {
        "identity": reads.identity(),
        "valid_txns": reads.valid_txns().text(),
        "open": reads.open_txns(ALL),
        "aborted": reads.aborted_txns(ALL),
        "counts": reads.counts(),
        "watermark": reads.watermark(),
        "history": reads.history(0, ALL),
        "conflicts": reads.conflicts(0, ALL),
        "anomalies": reads.anomalies(None, ALL),
        "txns": txns,
        "tables": {
            row.table: {
                "row": row,
                "files": None if row.dropped else reads.files(row.table),
                "versions": reads.versions(row.table, ALL),
                "mappings": reads.mappings(row.table),
                "apps": reads.apps(row.table),
                "protocol": reads.protocol(row.table),
                "domains": reads.domains(row.table),
                "ids": reads.write_ids_at(row.table).text(),
                "released": reads.released_files(row.table, ALL),
                "aborted": reads.aborted_write_ids(row.table, ALL),
                "definition": reads.definition(row.table),
            }
            for row in reads.tables(include_dropped=True)
        },
    }


def plain(given: Any) -> Any:
    """Return an answer as JSON has it."""
    if isinstance(given, tuple) and hasattr(given, "_asdict"):
        return {name: plain(value) for name, value in given._asdict().items()}
    if dataclasses.is_dataclass(given):
        fields = dataclasses.fields(given)
        return {field.name: plain(getattr(given, field.name)) for field in fields}
    if isinstance(given, bytes):
        return given.hex()
    if isinstance(given, Mapping):
        return {str(key): plain(value) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return [plain(each) for each in given]
    return given


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Return the places where an answer differs; fields that are new are no difference."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            found
            for name, value in before.items()
            for found in differences(value, now.get(name), f"{place}/{name}")
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [
            found
            for number, (old, new) in enumerate(zip(before, now, strict=True))
            for found in differences(old, new, f"{place}/{number}")
        ]
    return [] if before == now else [f"{place}: was {before!r}, is {now!r}"]
