"""Columns in questions and answers, with the metadata that Spark understands."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.arrow.schema import TableColumn
from ledger.core.commands import Column
from ledger.core.conflicts.metadata_diff import column_metadata

# What Spark keeps for a column as metadata, and what the ledger keeps of it.
COMMENT: Final = "comment"
DEFAULT: Final = "CURRENT_DEFAULT"
KEPT: Final = (COMMENT, DEFAULT)


def column_answers(
    columns: Sequence[TableColumn], declared: Sequence[Column]
) -> Sequence[Mapping[str, Any]]:
    """Return the columns of a table as answers; `declared` are those of its definition."""
    known = {column.name: column for column in declared}
    return [
        {
            "name": column.name,
            "type": column.declared,
            "nullable": column.nullable,
            "metadata": json.dumps(spark_metadata(known.get(column.name))),
        }
        for column in columns
    ]


def spark_metadata(column: Column | None) -> Mapping[str, Any]:
    """Return the metadata of a column that Spark understands."""
    known = {} if column is None else column_metadata(column)
    return {key: known[key] for key in KEPT if key in known}


def column_of(asked: Mapping[str, Any], number: int, before: Column | None = None) -> Column:
    """Return a column that Spark names, with the rest of the metadata that it had before."""
    metadata = {} if before is None else dict(column_metadata(before))
    given = json.loads(asked["metadata"])
    metadata = {key: value for key, value in metadata.items() if key not in KEPT}
    metadata.update({key: given[key] for key in KEPT if key in given})
    kind = str(asked["type"]) if before is None or asked["type"] != before.type else before.type
    text = json.dumps(metadata, sort_keys=True) if metadata else ""
    return Column(str(asked["name"]), kind, bool(asked["nullable"]), number, text)
