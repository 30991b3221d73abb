"""How a client makes a scan: which state of a table it asks for, and what it finds there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.predicates.tree import Node
from ledger.definitions.client_reads import View
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.files.folders import commit_positions, concerned, folder_files
from ledger.files.storage import storage_at
from ledger.reads.port import TableRow
from ledger.session.receipt import Token
from ledger.snapshot.reading import (
    TableFiles,
    known_row,
    position_of_version,
    read_table,
    scan_of,
)
from ledger.snapshot.scan import Scan
from ledger.snapshot.scan_planning import SchemasThen, position_at, state_of


def scan_table(
    view: View,
    table: int,
    where: Node | None,
    columns: Sequence[str] | None,
    *,
    version: int | None,
    position: Token | int | None,
    at: datetime | str | None,
    time_zone: ZoneLike | None,
) -> Scan:
    """Return a scan of a table at a version, a position or a time, else of the newest state."""
    position = place_of(view, table, version=version, position=position, at=at)
    zone = view.zone if time_zone is None else zone_named(time_zone)
    if in_write_folders(known_row(view.reads(), table)):
        if version is not None:
            position = position_of_version(view.reads(), table, version)
        reads = view.reads(0 if position is None else position)
        place = reads.position() if position is None else view.position_of(position)
        found = scan_of(view, table, where, place, None, time_zone=time_zone)
        return folders_scan(
            view, found, reads.write_ids_at(table, place), where, columns, zone=zone
        )
    found = read_table(view, table, where, version=version, position=position, time_zone=time_zone)
    state = state_of(view.reads(), found.table, found.position)
    return Scan(state, found, where, columns, zone)


def place_of(
    view: View,
    table: int,
    *,
    version: int | None,
    position: Token | int | None,
    at: datetime | str | None,
) -> Token | int | None:
    """Return the position of a time, or the given position; raises ValueError for several places.

    Raises as `position_at`.
    """
    if sum(each is not None for each in (version, position, at)) > 1:
        raise ValueError("give version, position or at, not several of them")
    if at is None:
        return position
    reads = view.reads()
    return position_at(reads, known_row(reads, table), at)


def in_write_folders(row: TableRow) -> bool:
    """Return whether the rows of a table lie in folders of write ids."""
    return row.definition.kind != "external" and row.definition.layout == "directories"


def folders_scan(
    view: View,
    found: TableFiles,
    ids: ValidWriteIdList,
    where: Node | None,
    columns: Sequence[str] | None,
    *,
    zone: str,
) -> Scan:
    """Return a scan of the folders of valid write ids; they are listed now."""
    reads, row = view.reads(), found.table
    state = state_of(reads, row, found.position)
    then = SchemasThen(state, state.schema)
    files = folder_files(
        storage_at(state.definition.location),
        row,
        ids,
        commit_positions(reads, row),
        lambda file: then.of(file).partition_columns,
    )
    kept = list(concerned(files, found.where, row))
    return Scan(state, replace(found, files=kept), where, columns, zone)
