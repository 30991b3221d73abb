"""The pages with rows of tables: first rows, statistics of columns, and the answers to SQL.

Rows are read only where the setting `follower.sql` allows it, and the files of the table can be
read from this host. Statistics come from the log.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.config.config import load
from ledger.core.commands import Column
from ledger.errors import LedgerError
from ledger.keys.keyed_reads import keyed
from ledger.properties.column_mapping import physical_name
from ledger.reads.port import FileRow, Reads
from projections.web.answers.row_reads import (
    ANSWERED_MAX,
    BYTES_MAX,
    SECONDS_MAX,
    RowTable,
    answer_of,
    first_rows,
)
from projections.web.pages.page import Fields, PageView
from projections.web.pages.tables import is_readable, table_of

FILES_MAX: Final = 1_000
COLUMNS_MAX: Final = 200
BRACKETS_MAX: Final = 500


class ColumnStatistics(NamedTuple):
    """A column and what the statistics of files say of it, None for what they do not say."""

    column: Column
    least: Any = None
    most: Any = None
    nulls: int | None = None


def rows(view: PageView) -> Fields:
    """Gather the first rows of a table, and the statistics of its columns."""
    head = table_of(view)
    fields: Fields = {**head, "columns": (), "files": 0, "files_max": FILES_MAX}
    fields |= {"found": None, "problem": "", "is_on": view.reads_rows}
    if not is_readable(head):
        return fields
    row = head["row"]
    files = view.reads.files(row.table, position=view.at, limit=FILES_MAX)
    fields["files"] = len(files)
    fields["columns"] = statistics_of(head["definition"].columns[:COLUMNS_MAX], files)
    if view.reads_rows:
        fields |= shown_or_problem(lambda: first_rows(with_keys(view.reads), row, view.at))
    return fields


def sql(view: PageView) -> Fields:
    """Gather the answer to a query as of the position of the page."""
    query = (view.asked.text_or_none("q") or "").strip()
    if query:
        view.subject["q"] = query
    fields: Fields = {"query": query, "is_on": view.reads_rows, "found": None, "problem": ""}
    fields |= {"rows_max": ANSWERED_MAX, "seconds": SECONDS_MAX, "bytes_max": BYTES_MAX}
    if query and view.reads_rows:
        fields |= shown_or_problem(lambda: answer_of(with_keys(view.reads), query, view.at))
    return fields


def with_keys(reads: Reads) -> Reads:
    """Return reads with the keys of encrypted rows that this process has."""
    return keyed(reads, load().settings.keys)


def shown_or_problem(ask: Callable[[], RowTable]) -> Fields:
    """Return rows, or the name and the text of the error instead of them."""
    try:
        return {"found": ask()}
    except (LedgerError, OSError, ImportError, ValueError, ArithmeticError) as problem:
        return {"problem": f"{type(problem).__name__}: {problem}"}


def statistics_of(columns: Sequence[Column], files: Sequence[FileRow]) -> list[ColumnStatistics]:
    """Return what the statistics of some files say of columns.

    A bound is known if all files with a value say it. Deleted rows may be within the bounds.
    """
    said = [read_statistics(file.stats) for file in files]
    return [column_statistics(column, said) for column in columns]


def column_statistics(column: Column, said: Sequence[Mapping[str, Any]]) -> ColumnStatistics:
    """Return what the statistics of some files say of one column.

    A file whose rows are all NULL in the column has no bounds there.
    """
    name = physical_name(column)
    nulls = [part(file, "nullCount", name) for file in said]
    bounded = [
        file
        for file, count in zip(said, nulls, strict=True)
        if count is None or count != file.get("numRecords")
    ]
    known = [count for count in nulls if isinstance(count, int)]
    return ColumnStatistics(
        column,
        end_of([part(file, "minValues", name) for file in bounded], min),
        end_of([part(file, "maxValues", name) for file in bounded], max),
        sum(known) if nulls and len(known) == len(nulls) else None,
    )


def read_statistics(text: str) -> Mapping[str, Any]:
    """Return the statistics of a file, {} for a text that holds no statistics."""
    if not text or text.count("{") + text.count("[") > BRACKETS_MAX:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def part(said: Mapping[str, Any], kind: str, name: str) -> Any:
    """Return what statistics say of a column, None for nothing and for a column of fields."""
    values = said.get(kind)
    found = values.get(name) if isinstance(values, dict) else None
    return None if isinstance(found, dict | list) else found


def end_of(values: Sequence[Any], choose: Callable[[Sequence[Any]], Any]) -> Any:
    """Return the least or the largest of values of one kind, None if one is not known."""
    kinds = {str if isinstance(value, str) else float for value in values}
    if not values or None in values or len(kinds) > 1:
        return None
    return choose(values)
