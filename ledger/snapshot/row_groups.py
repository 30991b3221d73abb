"""Row groups of a data file that may hold rows of a condition, by their bounds and filters."""

from collections.abc import Mapping, Sequence

from ledger.core.predicates.tree import TRUE, Node
from ledger.expressions.bounds import may_hold
from ledger.expressions.column_bounds import group_bounds
from ledger.files.data_reading import OpenedFile, leaf_count
from ledger.files.foreign_bounds import is_foreign


def groups_holding(opened: OpenedFile, where: Node) -> Sequence[int] | None:
    """Return the row groups that may hold rows of a condition, None for all."""
    if where == TRUE:
        return None
    leaves = leaves_of(opened)
    metadata, is_other = opened.parquet.metadata, is_foreign(opened.file.path)
    found = (
        group_bounds(
            metadata.row_group(at), leaves, opened.schema, opened.filter, is_other=is_other
        )
        for at in range(metadata.num_row_groups)
    )
    return [at for at, bounds in enumerate(found) if may_hold(where, bounds)]


def leaves_of(opened: OpenedFile) -> Mapping[str, int]:
    """Return where the statistics of each column are, by its name in small letters.

    A column that is in no file, or in another type than the table has by now, has none.
    """
    found: dict[str, int] = {}
    starts = [0]
    for field in opened.arrow:
        starts.append(starts[-1] + leaf_count(field.type))
    for at, column in enumerate(opened.schema.columns):
        place = opened.places[at]
        if place is None or column.name in opened.partition:
            continue
        if opened.arrow.field(place).type.equals(column.type):
            found[column.name.lower()] = starts[place]
    return found
