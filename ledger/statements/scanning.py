"""A scan of a table as a txn sees it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ledger.core.predicates.tree import TRUE, Node
from ledger.definitions.names import TableLike
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.session.receipt import Token
from ledger.snapshot.overlay import own_files
from ledger.snapshot.reading import TableFiles, read_table, scan_of
from ledger.snapshot.scan import Scan
from ledger.snapshot.scan_planning import state_of
from ledger.snapshot.scanning import folders_scan, in_write_folders, place_of
from ledger.work.unit_of_work import Work


def scan_in_txn(
    work: Work,
    table: TableLike,
    where: Node | None,
    columns: Sequence[str] | None,
    *,
    version: int | None,
    position: Token | int | None,
    at: datetime | str | None,
    record: bool,
    time_zone: ZoneLike | None,
) -> Scan:
    """Return a scan of a table as a txn sees it, or at a version, a position or a time."""
    work.check()
    number = work.names.find(table)[0]
    position = place_of(work.view, number, version=version, position=position, at=at)
    zone = work.view.zone if time_zone is None else zone_named(time_zone)
    own = work.names.own(number)
    is_former = version is not None or position is not None
    row = work.view.reads(work.opened).table(number) if own is None else own
    if row is not None and in_write_folders(row):
        if is_former:
            raise ValueError(
                f"a txn scans a table of layout directories in its own snapshot only, and table "
                f"{row.name} has this layout: use Ledger.scan for an earlier state"
            )
        found = scan_of(work.view, number, where, work.opened, own, time_zone=time_zone)
        work.check()
        if record:
            work.writes.read(found)
        return folders_scan(
            work.view, found, work.valid_write_ids(number), where, columns, zone=zone
        )
    if own is not None and own.creator == work.id and not is_former:
        # No reader knows the table yet.
        found = TableFiles(own, work.opened, (where or TRUE).in_zone(zone).to_wire(), ())
    else:
        place = position if is_former else work.opened
        found = read_table(
            work.view, number, where, version=version, position=place, own=own, time_zone=time_zone
        )
        work.check()
        if record:
            work.writes.read(found)
    state = state_of(work.view.reads(), found.table, found.position)
    if is_former:
        return Scan(state, found, where, columns, zone)
    if own is not None:
        state = state._replace(definition=own.definition)
    location = state.definition.location
    state = state._replace(own_definition=lambda file: work.files.definition(location, file.path))
    files = own_files(found, work.writes.own_changes(number), own)
    return Scan(state, replace(found, files=files), where, columns, zone)
