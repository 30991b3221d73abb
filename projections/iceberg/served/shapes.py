"""Shapes: what the definitions of a table are to Iceberg, with numbers for what differs.

Schemas, partition specs and sort orders have ids in the order in which they appear in the table's
history. So the ids are a function of the events. A definition that Iceberg cannot show has no ids:
it says why, and files from its time may be unreadable.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ledger.core.commands import Column, TableDefinition
from ledger.iceberg.manifests.avro_schemas import SEQUENCES_FROM
from ledger.iceberg.partitioning import FIRST_FIELD, partition_types, spec_json, with_voids
from ledger.iceberg.schemas import DEFAULT_FORMAT, format_version, schema_json, type_of
from ledger.iceberg.sort_orders import order_json
from ledger.iceberg.types import NoIcebergTypeError
from ledger.properties.field_ids import fields_of, ids_in
from ledger.properties.known_properties import problem_of_format
from ledger.reads.port import DefinitionRow
from projections.iceberg.served.own_partitions import OwnPartition

JSON = Mapping[str, Any]
UNSORTED: Final[JSON] = {"order-id": 0, "fields": []}
"""The order of a table without one; its id is fixed by the format."""

ROW_IDS_FROM: Final = 3
"""From this format on, rows have ids, and deleted rows are vectors."""

FORMER: Final = (
    "the version of its format was {0}, and must not become 1: set iceberg.format-version to {0}"
)

WIDER: Final = frozenset({("int", "long"), ("float", "double")})
"""The changes of a type after which older files can still be read."""


class TableShape(NamedTuple):
    """What a table is to Iceberg under some of its definitions.

    `problem` says why Iceberg cannot show it, "" if it can. Files of one shape have one `kind` of
    partition: the id of their spec, and the types of its values.
    """

    number: int
    definition: TableDefinition
    format_version: int
    schema: JSON
    spec: JSON
    problem: str
    kind: tuple[Any, ...]

    @property
    def has_row_ids(self) -> bool:
        """Whether rows have ids, as from format 3 on."""
        return self.format_version >= ROW_IDS_FROM


class Shown(NamedTuple):
    """A table as of one position: its shape, and all schemas, specs and orders up to there."""

    shape: TableShape
    definition: TableDefinition
    schemas: Sequence[JSON]
    specs: Sequence[JSON]
    orders: Sequence[JSON]
    order_id: int
    last_column_id: int
    known: int
    """The number of shapes up to there."""

    @property
    def last_partition_id(self) -> int:
        """The highest id of a partition field so far."""
        fields = (field for spec in self.specs for field in spec["fields"])
        return max((field["field-id"] for field in fields), default=FIRST_FIELD - 1)


class TableShapes:
    """The shapes of one table in the order of its history; it only grows."""

    def __init__(self) -> None:
        self.position = 0
        self._from: list[int] = []
        self._shown: list[Shown] = []
        self._shapes: list[TableShape] = []
        self._divided: list[TableShape] = []

    def take(self, rows: Iterable[DefinitionRow]) -> None:
        """Apply the definitions that follow."""
        for row in rows:
            self._shown.append(self._following(row.definition))
            self._from.append(row.position)
            self.position = row.position

    def at(self, position: int) -> Shown:
        """Return the table as of a position at which it exists."""
        at = bisect_right(self._from, position)
        assert at, f"a table must exist to be shown, and does not at position {position}"
        return self._shown[at - 1]

    def numbered(self, number: int) -> TableShape:
        """Return the shape that entries of files refer to."""
        return self._shapes[number] if number >= 0 else self._divided[-1 - number]

    def divided(self, shape: TableShape, own: OwnPartition) -> TableShape:
        """Return the shape of a file that is divided by another spec than its version's.

        It is the same shape if the table had no such spec. A column that is gone since is known to
        the last shape of that spec. The numbers of these shapes are below 0.
        """
        several: Iterator[TableShape] = reversed(self._shapes)
        last = next((each for each in several if not each.problem and own.is_of(each.spec)), None)
        if last is None or shape.problem or own.is_of(shape.spec):
            return shape
        try:
            types = tuple(sorted(partition_types(last.spec, shape.schema).items()))
        except NoIcebergTypeError:
            return last
        number = -1 - len(self._divided)
        made = shape._replace(number=number, spec=last.spec, kind=(last.spec["spec-id"], types))
        same: TableShape
        for same in self._divided:
            if same == made._replace(number=same.number):
                return same
        self._divided.append(made)
        return made

    def up_to(self, shown: Shown) -> Sequence[TableShape]:
        """Return all shapes that the table had, the one that is shown last."""
        return (*self._shapes[: shown.known], shown.shape)

    def _following(self, definition: TableDefinition) -> Shown:
        before = self._shown[-1] if self._shown else None
        schemas = list(before.schemas) if before else []
        specs = list(before.specs) if before else []
        orders = list(before.orders) if before else [UNSORTED]
        problem, schema, spec, order = "", JSON_NONE, JSON_NONE, UNSORTED
        former = before.shape.format_version if before else 0
        version = former or DEFAULT_FORMAT
        try:
            version = format_version(definition)
            schema = with_id(schema_json(definition, len(schemas)), schemas, "schema-id")
            made = spec_json(definition, len(specs), specs)
            if version < SEQUENCES_FROM:
                made = with_voids(made, specs, definition)
            spec = with_id(made, specs, "spec-id")
            order = with_id(order_json(definition, len(orders)), orders, "order-id")
            problem = problem_of_format(definition)
            if version < SEQUENCES_FROM <= former:
                version, problem = former, FORMER.format(former)
        except ValueError as error:
            problem = str(error)
        shape = self._shape(definition, version, schema, spec, problem)
        highest = max([before.last_column_id if before else 0, *ids_of(definition)])
        return Shown(
            shape,
            definition,
            tuple(schemas),
            tuple(specs),
            tuple(orders),
            order["order-id"],
            highest,
            len(self._shapes),
        )

    def _shape(
        self, definition: TableDefinition, version: int, schema: JSON, spec: JSON, problem: str
    ) -> TableShape:
        found = schema.get("schema-id"), spec.get("spec-id"), version, problem
        each: TableShape
        for each in reversed(self._shapes):
            known = each.schema.get("schema-id"), each.spec.get("spec-id")
            is_same = (*known, each.format_version, each.problem) == found
            if is_same and (not problem or each.definition.columns == definition.columns):
                return each
        types = () if problem else tuple(sorted(partition_types(spec, schema).items()))
        kind = (spec.get("spec-id", -1), types)
        made = TableShape(len(self._shapes), definition, version, schema, spec, problem, kind)
        self._shapes.append(made)
        return made


JSON_NONE: Final[JSON] = {}


def with_id(made: JSON, known: list[JSON], name: str) -> JSON:
    """Return the known form that is equal but for its id; a new one is added to the known ones."""
    plain = {key: each for key, each in made.items() if key != name}
    for each in known:
        if {key: value for key, value in each.items() if key != name} == plain:
            return each
    known.append(made)
    return made


def of_format(metadata: Mapping[str, Any], sequence: int, next_row: int) -> dict[str, Any]:
    """Return metadata with the fields that its version of the format has besides.

    `sequence` is the number of the newest snapshot, `next_row` the id of the next new row.
    """
    version = metadata["format-version"]
    if version < SEQUENCES_FROM:
        # Readers of format 1 alone know the present schema and spec by these.
        schemas = {each["schema-id"]: each for each in metadata["schemas"]}
        specs = {each["spec-id"]: each for each in metadata["partition-specs"]}
        return {
            **metadata,
            "schema": schemas[metadata["current-schema-id"]],
            "partition-spec": specs[metadata["default-spec-id"]]["fields"],
        }
    made = {**metadata, "last-sequence-number": sequence}
    return {**made, "next-row-id": next_row} if version >= ROW_IDS_FROM else made


def ids_of(definition: TableDefinition) -> Iterable[int]:
    """Yield the ids of all columns of a definition, and of the fields within them."""
    for column in definition.columns:
        yield column.id
        for number, _ in ids_in(fields_of(column)):
            yield number


def problem_between(files: TableShape, reading: TableShape) -> str:
    """Return why files of a shape cannot be read under another one, "" if they can."""
    if files.number == reading.number:
        return files.problem
    then, now = files.definition.columns, reading.definition.columns
    return problem_of_columns(tuple(then), tuple(now))


@lru_cache(maxsize=4096)
def problem_of_columns(then: tuple[Column, ...], now: tuple[Column, ...]) -> str:
    """Return why files with some columns cannot be read as others, "" if they can."""
    known = {column.id: column for column in then}
    for column in now:
        before = known.get(column.id)
        if before is None:
            continue
        try:
            problem = problem_of_types(type_of(before), type_of(column))
        except NoIcebergTypeError as error:
            problem = str(error)
        if problem:
            return f"files from before have column {column.name} otherwise: {problem}"
    return ""


def problem_of_types(then: Any, now: Any) -> str:
    """Return why values of a former type cannot be read as another one, "" if they can."""
    before, after = leaves(then), leaves(now)
    for number, kind in after.items():
        was = before.get(number, kind)
        if was != kind and (was, kind) not in WIDER and not is_wider_decimal(was, kind):
            return f"type {was} cannot become {kind} for Iceberg's readers; write it anew"
    return ""


def leaves(kind: Any, number: int = 0) -> dict[int, str]:
    """Return the type of each field of a type by its id, 0 for the type itself."""
    if not isinstance(kind, dict):
        return {number: str(kind)}
    found = {number: str(kind["type"])}
    for field in kind.get("fields", ()):
        found |= leaves(field["type"], field["id"])
    for part in ("element", "key", "value"):
        if part in kind:
            found |= leaves(kind[part], kind[f"{part}-id"])
    return found


def is_wider_decimal(was: str, now: str) -> bool:
    """Return whether a decimal became one with more digits before the point."""
    if not (was.startswith("decimal(") and now.startswith("decimal(")):
        return False
    digits, scale = was[8:-1].split(",")
    digits_now, scale_now = now[8:-1].split(",")
    return int(scale) == int(scale_now) and int(digits) <= int(digits_now)
