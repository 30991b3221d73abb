"""Partition specs: the partition columns of a definition, and the values that files have in them.

A spec has one field for each partition column, in the same order. Names and ids of the fields are
Iceberg's own: a table keeps them in a property, and otherwise gets them as Iceberg gives them. A
field that an earlier spec had stays the same field, whatever its column is called now.
"""

import json
import re
from collections.abc import Mapping, Sequence
from heapq import merge
from typing import Any, Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.partitions.transforms import PartitionTransform, TransformKind, transforms_of
from ledger.iceberg.types import IcebergType, NoIcebergTypeError, fields_in, spark_type

PARTITION_FIELDS: Final = "iceberg.partition-fields"
"""Under this property a table keeps what its partition fields are.

For each one it has the name, the id, the id of the source column, and the transform."""

FIRST_FIELD: Final = 1000
"""The lowest id of a partition field."""

WORDS: Final[Mapping[TransformKind, str]] = {
    "years": "year",
    "months": "month",
    "days": "day",
    "hours": "hour",
    "bucket": "bucket",
    "truncate": "truncate",
}
KINDS: Final[Mapping[str, TransformKind]] = {word: kind for kind, word in WORDS.items()}
TRANSFORM: Final = re.compile(r"([a-z]+)(?:\[([1-9][0-9]{0,9})\])?")
IDENTITY: Final = "identity"
VOID: Final = "void"
INT_MAX: Final = (1 << 31) - 1


class PartitionField(NamedTuple):
    """A field of a spec; `source` is the id of its column, `transform` Iceberg's text."""

    source: int
    number: int
    name: str
    transform: str

    @property
    def json(self) -> dict[str, Any]:
        """The field as the JSON of a spec has it."""
        return {
            "source-id": self.source,
            "field-id": self.number,
            "name": self.name,
            "transform": self.transform,
        }

    @property
    def meaning(self) -> tuple[int, str]:
        """What makes it this field, whatever its name and its id are."""
        return self.source, self.transform


def spec_json(
    definition: TableDefinition, spec_id: int, earlier: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the partition columns of a table as a partition spec.

    `earlier` are the specs that the table had before, the oldest first: equal fields have equal
    names and ids in all specs, and no two fields share an id. Raises NoIcebergTypeError for a
    partition column that is no column.
    """
    known = {field.meaning: field for spec in earlier for field in fields_of_spec(spec)}
    following = max((field.number for field in known.values()), default=FIRST_FIELD - 1) + 1
    kept = {field.meaning: field for field in kept_fields(definition)}
    following = max([following, *(field.number + 1 for field in kept.values())])
    columns = {column.id: column.name for column in definition.columns}
    made: list[PartitionField] = []
    for source, transform, name in sources_of(definition):
        meaning = source, transform
        field = kept.get(meaning) or known.get(meaning)
        if field is None:
            field = PartitionField(source, following, name, transform)
            following += 1
        made.append(field._replace(name=free_name(field, columns, made)))
    return {"spec-id": spec_id, "fields": [field.json for field in made]}


def with_voids(
    spec: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]], definition: TableDefinition
) -> dict[str, Any]:
    """Return a spec as format 1 has it: with a `void` field for each one of earlier specs.

    So the ids of its fields have no gap. The other fields keep their order.
    """
    fields = fields_of_spec(spec)
    known = {field.number: field for each in earlier for field in fields_of_spec(each)}
    taken = {field.name: 0 for field in fields}
    columns = {column.name: column.id for column in definition.columns}
    gone = [
        field._replace(
            name=f"{field.name}_{number}"
            if (columns | taken).get(field.name, field.source) != field.source
            else field.name,
            transform=VOID,
        )
        for number, field in sorted(known.items())
        if number not in {each.number for each in fields}
    ]
    merged = merge(gone, fields, key=lambda field: field.number)
    return {**spec, "fields": [field.json for field in merged]}


def free_name(
    field: PartitionField, columns: Mapping[int, str], others: Sequence[PartitionField]
) -> str:
    """Return a field's name, or another one if a column or a field already has it.

    Iceberg allows a field the name of a column only if it has that column's own values.
    """
    own = columns.get(field.source, "") if field.transform == IDENTITY else None
    taken = {name for name in columns.values() if name != own} | {each.name for each in others}
    return field.name if field.name not in taken else f"{field.name}_{field.number}"


def sources_of(definition: TableDefinition) -> list[tuple[int, str, str]]:
    """Return of each partition column the id of its source, the transform and a name.

    Raises NoIcebergTypeError for one that is no column, and for a column without an id.
    """
    numbers = {column.name.lower(): column.id for column in definition.columns}
    transforms = transforms_of(definition)
    found = []
    for text in definition.partition_columns:
        transform = transforms.get(text)
        name = text if transform is None else transform.column
        number = numbers.get(name.lower(), 0)
        if not number:
            raise NoIcebergTypeError(
                f"the partition column {text} must be a column with an id, or a transform of one: "
                "write the table anew with OPTIMIZE"
            )
        word = IDENTITY if transform is None else word_of(transform)
        found.append((number, word, text if transform is None else transform.field))
    return found


def word_of(transform: PartitionTransform) -> str:
    """Return a transform as Iceberg writes it."""
    width = f"[{transform.width}]" if transform.width else ""
    return f"{WORDS[transform.kind]}{width}"


def kept_fields(definition: TableDefinition) -> list[PartitionField]:
    """Return the fields that a property of a table names, none for a text of another form."""
    try:
        found = json.loads(properties(definition).get(PARTITION_FIELDS, "[]"))
        return [
            PartitionField(int(source), int(number), str(name), str(transform))
            for name, number, source, transform in found
        ]
    except (ValueError, TypeError, RecursionError):
        return []


def partition_columns_of(
    spec: Mapping[str, Any], schema: Mapping[str, Any]
) -> tuple[list[str], str]:
    """Return the partition columns of a spec, and the text of `iceberg.partition-fields` for it.

    A `void` field is left out: it has no values. Raises NoIcebergTypeError for a transform that the
    ledger lacks, and for a source that is no column or whose type does not fit.
    """
    fields = [field for field in fields_of_spec(spec) if field.transform != VOID]
    if any(field.number < FIRST_FIELD for field in fields):
        # A client that defines a table may leave the ids to the catalog, or count from 1.
        fields = [field._replace(number=FIRST_FIELD + at) for at, field in enumerate(fields)]
    columns = [column_text(field, schema) for field in fields]
    kept = [[field.name, field.number, field.source, field.transform] for field in fields]
    if len(set(columns)) < len(columns):
        raise NoIcebergTypeError(f"a spec must divide by each column once, got {columns}")
    return columns, json.dumps(kept, ensure_ascii=False)


def column_text(field: PartitionField, schema: Mapping[str, Any]) -> str:
    """Return a field as a partition column of a definition; raises NoIcebergTypeError."""
    source = source_of(field, schema)
    transform = transform_of(field, source["name"])
    type_ = spark_type(source["type"], source["name"])[0]
    if transform is None:
        if not isinstance(source["type"], str) or source["type"] == "binary":
            raise NoIcebergTypeError(
                f"the partition field {field.name} must have a source with a text for each value, "
                f"got column {source['name']} of type {source['type']}"
            )
        return str(source["name"])
    if not transform.takes(type_):
        raise NoIcebergTypeError(
            f"the partition field {field.name} must be a transform that takes {source['name']} of "
            f"type {source['type']}, got {field.transform}"
        )
    return transform.text


def source_of(field: PartitionField, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column of a field as a schema has it; raises NoIcebergTypeError."""
    columns = {each["id"]: each for each in fields_in(schema, "the schema")}
    found = columns.get(field.source)
    if found is None:
        raise NoIcebergTypeError(
            f"the partition field {field.name} must have a column as its source, got the id "
            f"{field.source}: the ledger divides no table by a field within a column"
        )
    return found


def transform_of(field: PartitionField, column: str) -> PartitionTransform | None:
    """Return the transform of a field, None for a column's own values.

    Raises NoIcebergTypeError for one that the ledger lacks.
    """
    if field.transform == IDENTITY:
        return None
    made = transform_in(field.transform, column)
    if made is None:
        raise NoIcebergTypeError(
            f"the partition field {field.name} must have a transform of the ledger, such as "
            f"identity, day or bucket[16], got {field.transform[:80]!r}"
        )
    return made


def transform_in(word: str, column: str) -> PartitionTransform | None:
    """Return a transform of a column as Iceberg writes it, None for one that the ledger lacks."""
    found = TRANSFORM.fullmatch(word)
    kind = KINDS.get(found[1]) if found else None
    width = int(found[2] or 0) if found else 0
    if kind is None or bool(width) is not (kind in ("bucket", "truncate")) or width > INT_MAX:
        return None
    return PartitionTransform(kind, column, width)


def fields_of_spec(spec: Mapping[str, Any]) -> list[PartitionField]:
    """Return the fields of a spec's JSON, an id of 0 for one without; raises NoIcebergTypeError."""
    fields = spec.get("fields") if isinstance(spec, Mapping) else None
    if not isinstance(fields, list):
        raise NoIcebergTypeError(f"a spec must have a list of fields, got {str(spec)[:80]}")
    made = []
    for each in fields:
        given = each if isinstance(each, dict) else {}
        sources = given.get("source-ids")
        source = sources[0] if isinstance(sources, list) and len(sources) == 1 else None
        source = given.get("source-id", source)
        name, transform = given.get("name"), given.get("transform")
        number = given.get("field-id", 0)
        if not (
            type(source) is int
            and type(number) is int
            and isinstance(name, str)
            and name
            and isinstance(transform, str)
        ):
            raise NoIcebergTypeError(
                f"a partition field must have one source, a name and a transform, got "
                f"{str(each)[:80]}"
            )
        made.append(PartitionField(source, number, name, transform.strip().lower()))
    return made


def partition_types(
    spec: Mapping[str, Any], schema: Mapping[str, Any]
) -> dict[int, tuple[str, str]]:
    """Return the name and the Iceberg type of each value of a spec, by the id of its field.

    Raises NoIcebergTypeError for a source that the schema lacks.
    """
    found = {}
    for field in fields_of_spec(spec):
        if field.transform == VOID:
            kinds = {each["id"]: each["type"] for each in fields_in(schema, "the schema")}
            kind = kinds.get(field.source)
            found[field.number] = field.name, kind if isinstance(kind, str) else "int"
            continue
        source = source_of(field, schema)
        found[field.number] = field.name, result_type(field, source["type"])
    return found


def result_type(field: PartitionField, source: IcebergType) -> str:
    """Return the Iceberg type of a field's values; raises NoIcebergTypeError."""
    transform = transform_of(field, "")
    kind = None if transform is None else transform.kind
    if kind in ("years", "months", "hours", "bucket"):
        return "int"
    if kind == "days":
        return "date"
    if not isinstance(source, str):
        raise NoIcebergTypeError(f"the partition field {field.name} must have an atomic source")
    return source
