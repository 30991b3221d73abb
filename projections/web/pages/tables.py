"""The pages about tables: the list, and of one table its history, schema, partitions and files."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ledger.core.partitions.keys import place_of
from ledger.core.state.traits import partitioned_by
from ledger.properties.column_mapping import is_published
from ledger.reads.listed_tables import ListedTable, TableOrder, listed_tables
from ledger.reads.port import FileRow, PartitionRow, TableRow, VersionRow
from projections.reads.dropped_files import waiting_files
from projections.reads.lake_diff import schema_diff
from projections.web.answers.asked import BadRequestError
from projections.web.pages.page import ROWS, Fields, NothingHereError, PageView, number_between
from projections.web.pages.pictures.charts import history_chart, share_bars
from projections.web.pages.pictures.tree_map import SizedThing, tree_map

CHARTED: Final = 40
METADATA_SOUGHT: Final = 200
APPS_SHOWN: Final = 20


def tables(view: PageView) -> Fields:
    """Gather the tables that existed at the position of the page, some at a time."""
    like, skip = view.asked.text_or_none("like") or "", view.asked.number_or_none("skip") or 0
    order = order_in(view.asked.text_or_none("sort") or TableOrder.NAME)
    view.subject |= {"sort": order.value} | ({"like": like} if like else {})
    every = view.reads.tables(include_dropped=view.is_past)
    there = [row for row in every if is_there(row, view.at)]
    found = listed_tables(there, view.reads.newest_versions(view.list_at), like=like, order=order)
    # A table without a version was not there yet for every reader.
    found = [line for line in found if line.version is not None]
    return {
        "lines": [line_of(view, line) for line in found[skip : skip + ROWS]],
        "total": len(found),
        "sums": sums_of(found),
        "sort": order.value,
        "like": like,
        "next": view.here(skip=skip + ROWS) if len(found) > skip + ROWS else None,
        "first": view.here() if skip else None,
        "waiting": "" if view.is_past else waiting_files(view.reads).text(),
    }


def is_there(row: TableRow, position: int) -> bool:
    """Return whether a table was created and not dropped by a position."""
    return row.created <= position and not 0 < row.dropped <= position


def order_in(text: str) -> TableOrder:
    """Return the order of a list; raises BadRequestError for an unknown one."""
    if text not in list(TableOrder):
        raise BadRequestError(f"sort must be one of {', '.join(TableOrder)}, got {text!r}")
    return TableOrder(text)


class ListSums(NamedTuple):
    """The files and bytes of several tables, as far as they are known."""

    files: int
    size: int


def sums_of(lines: Sequence[ListedTable]) -> ListSums:
    """Add up what is known of files and bytes, for the line above a list."""
    return ListSums(sum(line.files or 0 for line in lines), sum(line.size or 0 for line in lines))


def line_of(view: PageView, line: ListedTable) -> Fields:
    """Return one line of the list, with the definition at the position of the page."""
    table = line.row.table
    definition = view.reads.definition(table, view.list_at) or line.row.definition
    return {
        "line": line,
        "definition": definition,
        "published": is_published(definition),
        "link": view.link("table", table=table),
    }


def table_of(view: PageView) -> Fields:
    """Return the fields that each page about one table shows in its head."""
    number = view.number("table")
    row = view.reads.table(number)
    if row is None:
        raise NothingHereError(f"There is no table {number} up to position {view.newest}.")
    return {
        "row": row,
        "is_there": is_there(row, view.at),
        "definition": view.reads.definition(number, view.list_at),
        "version": view.reads.version_row(number, position=view.list_at),
    }


def one_table(view: PageView) -> Fields:
    """Gather one table: its definition, its last versions, and how it is published and cleaned."""
    head = table_of(view)
    row, version = head["row"], head["version"]
    below = 0 if version is None else version.version + 1
    rows = view.reads.versions(row.table, CHARTED, below=below)
    definition = head["definition"]
    apps = view.reads.apps(row.table)
    return {
        **head,
        "chart": history_chart(view, rows),
        "versions": rows[:8],
        "published": definition is not None and is_published(definition),
        "mark": view.reads.table_mark(row.table),
        "logged": next(iter(view.reads.blocks(row.table)), None),
        "apps": apps[:APPS_SHOWN],
        "more_apps": max(0, len(apps) - APPS_SHOWN),
    }


def table_history(view: PageView) -> Fields:
    """Gather the versions of a table, newest first, some at a time."""
    head = table_of(view)
    row, newest = head["row"], head["version"]
    end = 0 if newest is None else newest.version + 1
    below = number_between(view.asked, "below", 0, 2**63 - 1, end)
    rows = view.reads.versions(row.table, ROWS, below=min(below, end))
    return {
        **head,
        "versions": rows,
        "chart": history_chart(view, rows),
        "older": view.here(below=rows[-1].version) if rows and rows[-1].version else None,
        "first": view.here() if below < end else None,
    }


def schema(view: PageView) -> Fields:
    """Gather the definition of a table at two positions, and how they differ."""
    head = table_of(view)
    row = head["row"]
    changes = metadata_versions(view, row.table, head["version"])
    # A table that never changed is compared with its creation.
    last = changes[0].position - 1 if changes else 0
    first = number_between(view.asked, "first", 0, view.newest, max(0, last))
    view.subject["first"] = first
    old = view.reads.definition(row.table, first)
    return {
        **head,
        "first": first,
        "old": old,
        "differences": schema_diff(old, head["definition"]),
        "changes": [
            (
                change,
                view.link("schema", table=row.table, first=change.position - 1, at=change.position),
            )
            for change in changes[:ROWS]
        ],
        "sought": METADATA_SOUGHT,
    }


def metadata_versions(
    view: PageView, table: int, newest: VersionRow | None
) -> Sequence[VersionRow]:
    """Return the versions among the last ones that changed the definition, newest first."""
    below = 0 if newest is None else newest.version + 1
    rows = view.reads.versions(table, METADATA_SOUGHT, below=below)
    return [row for row in rows if row.metadata_events or not row.version]


def partitions(view: PageView) -> Fields:
    """Gather the partitions of a table with the sums of their files, some at a time."""
    head = table_of(view)
    after = view.asked.number_or_none("after") or 0
    rows: Sequence[PartitionRow] = ()
    if is_readable(head):
        rows = view.reads.partitions(
            head["row"].table, position=view.list_at, limit=ROWS, after=after
        )
    return {
        **head,
        "bars": share_bars(in_order(rows, head) if not after and len(rows) < ROWS else rows),
        "map": tree_map([SizedThing(partition_text(row.partition), row.size) for row in rows]),
        "next": view.here(after=rows[-1].number) if len(rows) == ROWS else None,
        "first": view.here() if after else None,
    }


def files(view: PageView) -> Fields:
    """Gather the files of a table, some at a time, by path."""
    head = table_of(view)
    path = view.asked.text_or_none("path") or ""
    vector = view.asked.text_or_none("vector") or ""
    rows: Sequence[FileRow] = ()
    if is_readable(head):
        rows = view.reads.files(
            head["row"].table, position=view.at, limit=ROWS, path=path, vector=vector
        )
    last = rows[-1] if len(rows) == ROWS else None
    return {
        **head,
        "files": rows,
        "map": tree_map([SizedThing(row.path, row.size) for row in rows]),
        # The pages of one listing are of one position, whatever is committed meanwhile.
        "next": last and view.here(at=view.at, path=last.path, vector=last.vector),
        "first": view.here() if path or vector else None,
    }


def in_order(rows: Sequence[PartitionRow], head: Fields) -> Sequence[PartitionRow]:
    """Return partitions as the types of their columns sort, those of former columns first."""
    row = head["row"]
    types = [kind for _, kind, _ in partitioned_by(head["definition"] or row.definition)]
    now = row.partitioned

    def place(part: PartitionRow) -> tuple[int, tuple[tuple[int, Any], ...]]:
        return part.partitioned, place_of(part.partition, types if part.partitioned == now else ())

    return sorted(rows, key=place)


def partition_text(values: Sequence[str | None]) -> str:
    """Return the values of a partition in words."""
    return ", ".join("NULL" if value is None else value for value in values) or "no partition"


def is_readable(head: Fields) -> bool:
    """Return whether a table had files that any reader saw at the position of the page."""
    return bool(head["is_there"]) and head["definition"] is not None
