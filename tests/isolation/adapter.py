"""From commands and events to plain records: the one place where judges learn of the core.

A footprint's opaque file list is, in these histories, a JSON object: `adds` as (path, partition,
rows), `removes` as paths.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ledger.core.commands import CommitTxn, Footprint, TableDefinition, TableWrite
from ledger.core.conflicts.footprints import hashes, path_hash
from ledger.core.events.events import (
    CommandRefused,
    Event,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.events.parts import Evidence
from ledger.core.partitions.names import partition_values
from ledger.core.state.traits import FEATURES_NAMED_FROM
from tests.isolation import plain
from tests.isolation.lake import DEFAULT_FEATURES

CHANGED = (TableCreated, TableAltered, TableRenamed, TableDropped)
KINDS = dict(zip(CHANGED, ("create", "alter", "rename", "drop"), strict=True))
REFUSALS = {"SnapshotTooOld": "too_old", "AppVersionsDisagree": "disagree"}


class Adapter:
    """Tells what happened, event by event; `asked` is the command that an event answers."""

    def __init__(self) -> None:
        self._opened: dict[int, plain.Opened] = {}
        self._held: dict[int, set[int]] = {}
        self._changes: dict[int, list[plain.Change]] = {}
        self._chunks: dict[tuple[int, int], list[Footprint]] = {}

    def told(self, event: Event, asked: Any = None, floor: int = 0) -> Iterator[plain.Told]:
        """Yield what an event says; `floor` is the one the ledger had before it."""
        control, body = event
        match body:
            case TxnOpened():
                opened = plain.Opened(control.position, control.txn, body.size, body.type)
                self._opened.update(
                    dict.fromkeys(range(control.txn, control.txn + body.size), opened)
                )
                self._hold(body)
                yield opened
            case WriteIdsAllocated():
                self._hold(body)
            case WritesStaged():
                self._chunks.setdefault((control.txn, body.table), []).append(body.footprint)
            case TableCreated() | TableAltered() | TableRenamed() | TableDropped():
                yield from self._changed(event)
            case TxnCommitted() | TxnAborted() | CommandRefused() if isinstance(asked, CommitTxn):
                verdict = verdict_of(body)
                if verdict is not None:
                    yield self._attempt(event, asked, floor, verdict)
            case TxnAborted():
                yield plain.Ended(control.position, control.txn)
            case TxnsExpired() | SessionClosed():
                yield from (plain.Ended(control.position, end.txn) for end in body.ends)

    def _hold(self, body: TxnOpened | WriteIdsAllocated) -> None:
        for table, txn, _ in body.ids:
            self._held.setdefault(txn, set()).add(table)

    def _changed(self, event: Event) -> Iterator[plain.Told]:
        """Yield a change of a table, or keep it with its txn."""
        (position, txn), body = (event.control.position, event.control.txn), event.body
        assert isinstance(body, CHANGED)
        definition = getattr(body, "definition", None)
        made = definition_of(definition) if definition is not None else None
        one_shot = isinstance(body, TableAltered) and body.one_shot
        operation = body.operation if isinstance(body, TableAltered) else ""
        kind = KINDS[type(body)]
        altered = made if kind == "alter" else None
        change = plain.Change(body.table, kind, body.read_at, altered, operation)
        if txn and not one_shot:
            self._changes.setdefault(txn, []).append(change)
            if kind == "create" and made is not None:
                yield plain.Hidden(position, txn, body.table, made)
        elif kind == "create" and made is not None:
            yield plain.Made(position, body.table, made)
        else:
            yield plain.Changed(position, change, one_shot)

    def _attempt(
        self, event: Event, asked: CommitTxn, floor: int, verdict: plain.Verdict
    ) -> plain.Attempt:
        """Return a commit that was asked; a one-shot one has the txn that the event gives it."""
        opened = self._opened.get(asked.txn)
        return plain.Attempt(
            event.control.position,
            asked.txn or event.control.txn,
            opened.type if opened is not None else "default",
            opened.position if opened is not None else 0,
            asked.level,
            {write.table: self._part(asked.txn, write) for write in asked.tables},
            frozenset(self._held.get(asked.txn, ())),
            tuple(self._changes.get(asked.txn, ())),
            floor,
            verdict,
        )

    def _part(self, txn: int, write: TableWrite) -> plain.Part:
        chunks = self._chunks.get((txn, write.table), ())
        footprint = write.footprint
        return plain.Part(
            write.table,
            write.read_at,
            tuple(plain.Coarse(*each) for each in write.writes),
            footprint_of(chunks, footprint) if footprint is not None else None,
        )


def verdict_of(body: TxnCommitted | TxnAborted | CommandRefused) -> plain.Verdict | None:
    """Return what came of an attempt, None if it was refused for what no winner matters to."""
    match body:
        case TxnCommitted():
            levels = {part.table: (part.level, part.blind) for part in body.parts if part.footprint}
            return plain.Verdict("committed", levels=levels)
        case TxnAborted(evidence=None):
            return plain.Verdict("applied", winner=body.first)
        case TxnAborted(evidence=Evidence() as found):
            return plain.Verdict(
                "conflict", found.exception, found.table, found.winner.position, found.rule
            )
        case CommandRefused():
            outcome = REFUSALS.get(body.reason)
            return plain.Verdict(outcome) if outcome is not None else None
    return None


def definition_of(definition: TableDefinition) -> plain.Definition:
    return plain.Definition(
        tuple(definition[:3]),
        tuple(plain.Column(*column) for column in definition.columns),
        tuple(definition.partition_columns),
        {each.key: each.value for each in definition.properties},
    )


def footprint_of(chunks: Sequence[Footprint], last: Footprint) -> plain.Footprint:
    """Return the footprint that a commit and the chunks before it make together."""
    every = (*chunks, last)
    added, removed = files_of(each.files for each in every)
    return plain.Footprint(
        last.operation,
        tuple(scan for each in every for scan in each.reads),
        any(each.reads_whole for each in every),
        names(b"".join(each.read_files for each in every)),
        frozenset(app for each in every for app in each.read_apps),
        partitions(text for each in every for text in each.adds),
        names(b"".join(each.removes for each in every)),
        partitions(text for each in every for text in each.removes_in),
        any(each.data_change for each in every),
        any(each.not_blind for each in every),
        features_of(every),
        frozenset(domain.name for each in every for domain in each.domains),
        {app.app: app.version for each in every for app in each.apps},
        added,
        removed,
    )


def names(row: bytes) -> frozenset[str]:
    """Return the names of the files whose hashes stand in a row."""
    return frozenset(each.hex() for each in hashes(row))


def partitions(texts: Iterable[str]) -> frozenset[plain.Cells]:
    """Return the partitions of wire forms."""
    found = (partition_values(text) for text in texts)
    return frozenset(each for each in found if each is not None)


def features_of(footprints: Sequence[Footprint]) -> frozenset[str] | None:
    """Return the features of the last protocol action, None without one."""
    protocols = [footprint.protocol for footprint in footprints if footprint.protocol is not None]
    if not protocols:
        return None
    named = protocols[-1].min_writer >= FEATURES_NAMED_FROM
    return frozenset(protocols[-1].features) | (frozenset() if named else DEFAULT_FEATURES)


def files_of(lists: Iterable[bytes]) -> tuple[tuple[plain.File, ...], frozenset[str]]:
    """Return the files added and the names of those removed, of opaque file lists."""
    forms = [json.loads(data) for data in lists if data]
    added = tuple(
        plain.File(path_hash(path).hex(), tuple(cells), frozenset(rows))
        for form in forms
        for path, cells, rows in form["adds"]
    )
    return added, frozenset(path_hash(path).hex() for form in forms for path in form["removes"])
