"""Changes of rows, as the footprint of a command and the event of a commit have them.

The fields of each class have the order of its Avro schema in `ledger/log/schemas`.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Marks(NamedTuple):
    """Rows of a live file that are gone, by their numbers from 0; `rows` is a bitmap."""

    path: str
    rows: bytes


class Moved(NamedTuple):
    """Rows that a rewrite only put elsewhere.

    All rows of `source` but the ones in the bitmap `stayed` lie in `target` from row `first` on, in
    their old order; `rows` is their number.
    """

    source: str
    target: str
    first: int
    rows: int
    stayed: bytes


class ToldColumn(NamedTuple):
    """A column of new rows whose values are stated, with its Spark SQL type at that time."""

    name: str
    type: str


class AddedRows(NamedTuple):
    """What is known of the new rows of one partition.

    `columns` are the columns whose values are stated. `values` are all combinations of their values
    that a new row may have, each a JSON array of texts and nulls as of a partition; if it is empty,
    `lowest` and `highest` are such arrays of bounds, where null stands for an unknown bound, or "".
    """

    partition: str
    columns: Sequence[ToldColumn]
    values: Sequence[str]
    lowest: str
    highest: str


class RowChanges(NamedTuple):
    """What one table part read and wrote row by row.

    `marks` are the rows that it deleted or changed, also of files that it wrote anew. `read` are
    rows that it matched and left. `scanned` are the path hashes of files of which only the rows in
    `marks` and `read` count as read, but at the strongest level. `moved` says where the rows of
    rewritten files are. `added` has every partition that got new rows.
    """

    marks: Sequence[Marks]
    read: Sequence[Marks]
    scanned: bytes
    moved: Sequence[Moved]
    added: Sequence[AddedRows]
