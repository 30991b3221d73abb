"""Own partitions: the values of a file that was written under an earlier spec than its version's.

In the log each file has the values of the partition columns that its version has. What it has under
its own spec stands in a tag, and Iceberg's readers get that.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.partitions.names import Values
from ledger.iceberg.partitioning import VOID, PartitionField, fields_of_spec

OWN_PARTITION: Final = "iceberg.partition"

Meaning = tuple[int, str]
"""The id of the source of a field, and its transform."""


class OwnPartition(NamedTuple):
    """The id of a file's own spec, and the meaning and value of each of its fields."""

    spec: int
    meanings: Sequence[Meaning]
    values: Values

    def is_of(self, spec: Mapping[str, Any]) -> bool:
        """Return whether this is a partition under a spec."""
        is_named = spec.get("spec-id") == self.spec
        return is_named and meanings_of(spec) == list(self.meanings)


def divided_by(spec: Mapping[str, Any]) -> list[PartitionField]:
    """Return the fields of a spec that have values."""
    return [field for field in fields_of_spec(spec) if field.transform != VOID]


def meanings_of(spec: Mapping[str, Any]) -> list[Meaning]:
    """Return the meanings of the fields of a spec that have values."""
    return [field.meaning for field in divided_by(spec)]


def own_text(own: OwnPartition) -> str:
    """Return the text of the tag of a file."""
    pairs = zip(own.meanings, own.values, strict=True)
    fields = [[source, transform, text] for (source, transform), text in pairs]
    return json.dumps([own.spec, fields], separators=(",", ":"), ensure_ascii=False)


def own_partition(tags: Mapping[str, str | None]) -> OwnPartition | None:
    """Return what the tags of a file say, None for no such tag or one of another form."""
    text = tags.get(OWN_PARTITION)
    if not text:
        return None
    try:
        spec, fields = json.loads(text)
        meanings = [(int(source), str(transform)) for source, transform, _ in fields]
        values = tuple(None if value is None else str(value) for _, _, value in fields)
        return OwnPartition(int(spec), meanings, values)
    except (ValueError, TypeError, RecursionError):
        return None
