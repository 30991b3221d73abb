"""What txns do to a table, drawn at random: footprints made from the files live at the read.

A statement reads by its scans and lists the files in which they found rows; what it removes it
had found. Rows keep their ids for as long as nobody changes them, whichever file they lie in.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ledger.core.commands import AppVersion, CoarseWrite, Domain, Footprint, Protocol
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, packed
from ledger.core.partitions.names import partition_text
from tests.core.histories import Draw
from tests.isolation import scans
from tests.isolation.plain import Cells, Schema
from tests.isolation.values import holds, typed

FEATURES: Final = (
    *("deletionVectors", "checkConstraints", "identityColumns", "domainMetadata"),
    "thinkingColumns",
)
NAMED: Final = (3, 7)
APPS: Final = ("stream", "loader")
DOMAINS: Final = ("clustering", "delta.rowTracking", "clustering")


class Live(NamedTuple):
    """A file that was live at the read, under its path."""

    path: str
    cells: Cells
    rows: frozenset[int]


class Seen(NamedTuple):
    """A table as a plan sees it; `files` are live at the read, `fresh` gives new numbers."""

    schema: Schema
    files: Sequence[Live]
    features: frozenset[str]
    versions: Mapping[str, int]
    fresh: Callable[[], int]


class Work(NamedTuple):
    """What a statement found and did, before it is packed."""

    operation: str
    scans: Sequence[str] = ()
    found: Sequence[Live] = ()
    adds: Sequence[Live] = ()
    removes: Sequence[Live] = ()
    data_change: bool = True
    whole: bool = False


Extra = Callable[[Draw, Seen, Footprint], Footprint]


def footprint(work: Work, *, says_where: bool = True) -> Footprint:
    """Return the footprint of a statement; `says_where` = the partitions of removed files too."""
    files = {
        "adds": [[add.path, add.cells, sorted(add.rows)] for add in work.adds],
        "removes": [remove.path for remove in work.removes],
    }
    where = dict.fromkeys(partition_text(remove.cells) for remove in work.removes)
    return EMPTY_FOOTPRINT._replace(
        operation=work.operation,
        reads=list(work.scans),
        reads_whole=work.whole,
        read_files=packed(each.path for each in work.found),
        adds=list(dict.fromkeys(partition_text(add.cells) for add in work.adds)),
        removes=packed(remove.path for remove in work.removes),
        removes_in=list(where) if says_where else [],
        data_change=work.data_change and bool(work.adds or work.removes),
        files=json.dumps(files).encode() if work.adds or work.removes else b"",
    )


def drawn(draw: Draw, seen: Seen) -> Footprint:
    """Return the footprint of a statement, now and then with more than files in it."""
    work = draw.of(STATEMENTS)(draw, seen)
    made = footprint(work, says_where=draw.mostly(90))
    if draw.mostly(60):
        return made
    extra: Extra = draw.of(EXTRAS)
    return extra(draw, seen, made)


def only_read(draw: Draw, seen: Seen) -> Footprint:
    """Return the footprint of a table that is read for the sake of others."""
    wanted, found = looked(draw, seen)
    if draw.mostly(80):
        return footprint(Work("", wanted, found))
    return footprint(Work("", (), seen.files, whole=True))


def new_file(draw: Draw, seen: Seen, cells: Cells | None = None) -> Live:
    """Return a file with one to three new rows."""
    place = scans.cells(draw, seen.schema) if cells is None else cells
    rows = frozenset(seen.fresh() for _ in range(1 + draw.below(3)))
    return Live(f"f{seen.fresh()}", place, rows)


def rewritten(seen: Seen, cells: Cells, rows: Iterable[int]) -> Live:
    return Live(f"f{seen.fresh()}", cells, frozenset(rows))


def looked(draw: Draw, seen: Seen) -> tuple[list[str], list[Live]]:
    """Return one scan or two, and the files in which they found rows."""
    wanted = [scans.scan(draw, seen.schema) for _ in range(draw.of((1, 1, 1, 2)))]
    return wanted, [file for file in seen.files if matched(wanted, seen, file)]


def matched(wanted: Iterable[str], seen: Seen, file: Live) -> frozenset[int]:
    """Return the rows of a file that a scan finds."""
    return frozenset(
        row
        for row in file.rows
        if any(holds(each, file.cells, seen.schema, row) for each in wanted)
    )


def append(draw: Draw, seen: Seen) -> Work:
    return Work("WRITE", adds=[new_file(draw, seen) for _ in range(draw.of((1, 1, 2)))])


def insert_select(draw: Draw, seen: Seen) -> Work:
    """Append what follows from a read of the table itself."""
    wanted, found = looked(draw, seen)
    return Work("WRITE", wanted, found, adds=[new_file(draw, seen)])


def delete(draw: Draw, seen: Seen) -> Work:
    """Delete the rows a scan finds; the others of their files are kept in new ones."""
    wanted, found = looked(draw, seen)
    kept = [(each.cells, each.rows - matched(wanted, seen, each)) for each in found]
    adds = [rewritten(seen, cells, rows) for cells, rows in kept if rows]
    return Work("DELETE", wanted, found, adds, found)


def update(draw: Draw, seen: Seen) -> Work:
    """Change the rows a scan finds: they are new rows then."""
    wanted, found = looked(draw, seen)
    adds = []
    for each in found:
        hit = matched(wanted, seen, each)
        rows = (seen.fresh() if row in hit else row for row in sorted(each.rows))
        adds.append(rewritten(seen, each.cells, rows))
    return Work("UPDATE", wanted, found, adds, found)


def merge(draw: Draw, seen: Seen) -> Work:
    """Change the rows a scan finds and insert others, perhaps elsewhere."""
    work = update(draw, seen)
    return work._replace(operation="MERGE", adds=[*work.adds, new_file(draw, seen)])


def compact(draw: Draw, seen: Seen) -> Work:
    """Rewrite the files of a partition as one; now and then by a write that only says so."""
    if not seen.files:
        return Work("OPTIMIZE", data_change=False)
    first = draw.of(seen.files)
    group = [file for file in seen.files if file.cells == first.cells][: 1 + draw.below(3)]
    operation = draw.of(("OPTIMIZE", "OPTIMIZE", "OPTIMIZE", "WRITE"))
    adds = [rewritten(seen, first.cells, (row for each in group for row in each.rows))]
    found = group if draw.mostly(85) else []
    return Work(operation, (), found, adds, group, data_change=not draw.mostly(90))


def compact_found(draw: Draw, seen: Seen) -> Work:
    """Rewrite the files that a scan finds one by one, saying what was scanned."""
    wanted, found = looked(draw, seen)
    adds = [rewritten(seen, each.cells, each.rows) for each in found]
    return Work(draw.of(("OPTIMIZE", "DELETE")), wanted, found, adds, found, data_change=False)


def overwrite(draw: Draw, seen: Seen) -> Work:
    """Replace a partition, dynamically: the scan is declared, the files it found are not."""
    place = scans.cells(draw, seen.schema)
    if not scans.is_castable(place, seen.schema):
        return append(draw, seen)
    wanted = [json.dumps(scans.is_partition(place, seen.schema))]
    key = typed(place, seen.schema)
    gone = [file for file in seen.files if typed(file.cells, seen.schema) == key]
    gone += [file for file in seen.files if file not in gone and matched(wanted, seen, file)]
    return Work("WRITE", wanted, (), [new_file(draw, seen, place)], gone)


def read_all(draw: Draw, seen: Seen) -> Work:
    """Append after a read of the whole table."""
    return Work("STREAMING UPDATE", (), seen.files, [new_file(draw, seen)], whole=True)


def remove_unread(draw: Draw, seen: Seen) -> Work:
    """Remove a file that was named, not found."""
    gone = [draw.of(seen.files)] if seen.files else []
    return Work("DELETE", removes=gone)


def read_list(draw: Draw, seen: Seen) -> Work:
    """Read files by their names, and add one."""
    found = [draw.of(seen.files)] if seen.files else []
    return Work("WRITE", (), found, [new_file(draw, seen)])


def find_nothing(draw: Draw, seen: Seen) -> Work:
    wanted, found = looked(draw, seen)
    return Work(draw.of(("DELETE", "MERGE", "VACUUM")), wanted, found)


def backfill(draw: Draw, seen: Seen) -> Work:
    """List live files once more, for their row ids."""
    found = seen.files[: 1 + draw.below(3)]
    return Work("ROW TRACKING BACKFILL", (), found, found, data_change=False)


def note_domain(draw: Draw, _: Seen, made: Footprint) -> Footprint:
    return made._replace(domains=[Domain(draw.of(DOMAINS), "{}", removed=False)])


def look_up_app(draw: Draw, seen: Seen, made: Footprint) -> Footprint:
    """Look up how far an application came; mostly record the next version of it."""
    app = draw.of(APPS)
    last = seen.versions.get(app, 0)
    version = last + 1 if draw.mostly(85) else last
    apps = [AppVersion(app, version)] if draw.mostly(80) else []
    return made._replace(read_apps=[app] if draw.mostly(80) else [], apps=apps)


def change_protocol(draw: Draw, seen: Seen, made: Footprint) -> Footprint:
    """Add a feature to the table's protocol, or take one away."""
    feature = draw.of(FEATURES)
    after = seen.features | {feature} if draw.mostly(80) else seen.features - {feature}
    return made._replace(protocol=Protocol(*NAMED, sorted(after)))


def deny_blindness(_: Draw, __: Seen, made: Footprint) -> Footprint:
    """Say that something was read."""
    return made._replace(not_blind=True)


def coarse(draw: Draw, schema: Schema) -> CoarseWrite:
    """Return a coarse write, mostly of a partition the table can have."""
    operation = draw.of(("update", "insert", "delete"))
    if draw.mostly(15):
        return CoarseWrite("table", "", operation)
    if not schema:
        return CoarseWrite("unpartitioned", "", operation)
    place = draw.of(["1", "2", "01"]), draw.of(["a", "b"]), draw.of(["2024-01-01", "2024-01-02"])
    values = dict(zip("psd", place, strict=True))
    pairs = [f"{name}={values[name]}" for name, _ in schema]
    return CoarseWrite("partition", "/".join(pairs) if draw.mostly(92) else "q=7", operation)


STATEMENTS: Final[Sequence[Callable[[Draw, Seen], Work]]] = (
    *(append, append, append, append),
    *(insert_select, insert_select, delete, delete, update, update, merge),
    *(compact, compact, compact, compact_found, overwrite, read_all, remove_unread, read_list),
    *(find_nothing, backfill),
)
EXTRAS: Final[Sequence[Extra]] = (
    *(note_domain, note_domain, look_up_app, look_up_app, change_protocol, deny_blindness),
)
