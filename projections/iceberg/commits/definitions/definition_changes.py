"""What a client's updates make of the definition of a table.

Names and numbers of Iceberg that a definition has no place for stand in properties, which clients
do not see. A definition has one schema, one spec and one order: another one that is added must be
the one that is used.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.definitions.definitions import TableChanges
from ledger.definitions.locations import in_one_spelling, is_one_place
from ledger.iceberg.partitioning import PARTITION_FIELDS, VOID, fields_of_spec, partition_columns_of
from ledger.iceberg.schemas import DEFAULT_FORMAT, FORMAT_VERSION, FORMATS, columns_of, key_text
from ledger.iceberg.sort_orders import sort_properties
from ledger.properties.column_lists import KEY, SORT
from ledger.properties.known_properties import INLINE
from projections.iceberg.commits.definitions.schema_changes import (
    check_columns,
    check_new_ids,
    check_readable,
)
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.commits.updates import LAST, AskedChanges
from projections.iceberg.errors import bad_request
from projections.iceberg.served.paths import LOCATION, location_text

TABLE_UUID: Final = "iceberg.table-uuid"
OWN: Final = frozenset({TABLE_UUID, FORMAT_VERSION, PARTITION_FIELDS, LOCATION})
"""Properties in which the ledger keeps Iceberg's own facts."""

COLLECTED: Final = "gc.enabled"
VERSION: Final = "format-version"
UNSORTED: Final = 0
UNDIVIDED: Final[Given] = {"spec-id": 0, "fields": []}


class NewTable(NamedTuple):
    """A table that is to be created; `schema` and `spec` are its JSON in Iceberg."""

    columns: Sequence[Column]
    partition_columns: Sequence[str]
    location: str
    properties: Mapping[str, str]
    schema: Given
    spec: Given


class AskedDefinition(NamedTuple):
    """What changes of a table, empty for nothing, and its schema and spec after that."""

    changes: TableChanges
    schema: Given
    spec: Given


def new_table(asked: AskedChanges, location: str) -> NewTable:
    """Return the table that updates define from nothing, at a location.

    Raises IcebergRefusal, and NoIcebergTypeError for what the ledger cannot hold.
    """
    schema = chosen("schema", "schema-id", asked.schemas, asked.current_schema, ())
    if schema is None:
        raise bad_request("a new table must have a schema, got none")
    check_columns(schema)
    set_anew, _ = told_properties(asked)
    if key := key_text(schema):
        set_anew[KEY] = key
    spec = chosen("spec", "spec-id", asked.specs, asked.default_spec, ()) or UNDIVIDED
    check_voids(spec, ())
    columns, fields = partition_columns_of(spec, schema)
    set_anew |= {PARTITION_FIELDS: fields} if columns else {}
    order = chosen("sort-order", "order-id", asked.orders, asked.default_order, ())
    if order is not None:
        set_anew |= sort_properties(order, schema)
    version = asked.format_version or DEFAULT_FORMAT
    check_version(version)
    if version != DEFAULT_FORMAT:
        set_anew[FORMAT_VERSION] = str(version)
    set_anew |= told_location(asked, location)
    if asked.uuid is not None:
        set_anew[TABLE_UUID] = uuid_text(asked.uuid)
    return NewTable(columns_of(schema), columns, location, set_anew, schema, spec)


def table_changes(
    asked: AskedChanges, definition: TableDefinition, metadata: Given
) -> AskedDefinition:
    """Return what updates change of a table with served metadata.

    Raises IcebergRefusal, and NoIcebergTypeError for what the ledger cannot hold.
    """
    set_anew, unset = told_properties(asked)
    changes: TableChanges = {}
    before = one_of(metadata["schemas"], "schema-id", metadata["current-schema-id"])
    schema = chosen("schema", "schema-id", asked.schemas, asked.current_schema, metadata["schemas"])
    if schema is not None:
        check_columns(schema)
        check_new_ids(schema, metadata["schemas"], metadata["last-column-id"])
        if metadata.get("current-snapshot-id") is not None and not asked.is_replaced:
            check_readable(before, schema)
        known = () if asked.is_replaced else definition.columns
        changes["columns"] = columns_of(schema, known)
        put_or_unset(set_anew, unset, {KEY: key_text(schema, definition)}, (KEY,))
    used = before if schema is None else schema
    specs = metadata["partition-specs"]
    spec = chosen("spec", "spec-id", asked.specs, asked.default_spec, specs)
    divided = spec or one_of(specs, "spec-id", metadata["default-spec-id"])
    if spec is not None or schema is not None:
        changes["partition_columns"], fields = partition_columns_of(divided, used)
        if spec is not None:
            check_voids(spec, specs)
            put_or_unset(set_anew, unset, {PARTITION_FIELDS: fields}, (PARTITION_FIELDS,))
    orders = metadata["sort-orders"]
    order = chosen("sort-order", "order-id", asked.orders, asked.default_order, orders)
    if order is not None:
        put_or_unset(set_anew, unset, sort_properties(order, used), (SORT,))
    set_anew |= told_version(asked, metadata[VERSION])
    check_uuid(asked, metadata["table-uuid"])
    check_location(asked, definition)
    held = properties(definition)
    lost = [key for key in unset if key in held]
    if set_anew:
        changes["properties"] = set_anew
    if lost:
        changes["unset"] = lost
    return AskedDefinition(changes, used, divided)


def check_voids(spec: Given, known: Sequence[Given]) -> None:
    """Raise IcebergRefusal for a field that divides nothing and did so in no spec before.

    Format 1 has such a field in the place of a removed one.
    """
    numbers = {field.number for each in known for field in fields_of_spec(each)}
    for field in fields_of_spec(spec):
        if field.transform == VOID and field.number not in numbers:
            raise bad_request(
                f"the partition field {field.name} must divide rows, got {VOID}: leave it out"
            )


def chosen(
    what: str, key: str, added: Sequence[Given], number: int | None, known: Sequence[Given]
) -> Given | None:
    """Return the schema, spec or order that updates choose, None if they leave it as it is.

    `known` are those that the table has. Raises IcebergRefusal for one that is not there, and for
    one that is added and not used.
    """
    if number is None:
        if added:
            raise bad_request(
                f"a new {what} must be the one that the table uses: a table has one {what} at a "
                "time"
            )
        return None
    if number == LAST:
        if not added:
            raise bad_request(f"{key} -1 must follow a new {what}, got none")
        return added[-1]
    found = one_of([*known, *added], key, number)
    if not found and (what, number) == ("sort-order", UNSORTED):
        return {"order-id": UNSORTED, "fields": []}
    if not found:
        raise bad_request(f"{key} must be of a {what} of the table, got {number}")
    if added and found not in added:
        raise bad_request(f"a new {what} must be the one that the table uses, got {key} {number}")
    return found


def one_of(several: Sequence[Given], key: str, number: int) -> Given:
    """Return the last of several objects that has a number, empty without one."""
    return next((each for each in reversed(several) if each.get(key) == number), {})


def told_properties(asked: AskedChanges) -> tuple[dict[str, str], dict[str, None]]:
    """Return the properties to set and to unset.

    Raises IcebergRefusal for a property in which the ledger keeps a fact of its own, and for one
    that would hide rows from the client.
    """
    set_anew, unset = dict(asked.properties), dict(asked.unset)
    version = set_anew.pop(VERSION, None)
    if version is not None:
        if not version.isdecimal():
            raise bad_request(f"{VERSION} must be a number, got {shown(version)}")
        asked.format_version = int(version)
    for key in (*set_anew, *unset):
        if key.lower() in OWN:
            raise bad_request(f"the property {key} is the ledger's own: leave it as it is")
    if set_anew.get(COLLECTED, "false").lower() != "false":
        raise bad_request(
            f"{COLLECTED} must be false, got {shown(set_anew[COLLECTED])}: files of earlier "
            "versions are deleted by `lakeledger table vacuum` alone"
        )
    set_anew.pop(COLLECTED, None)
    inline = next((key for key in set_anew if key.lower() == INLINE), None)
    if inline is not None and set_anew[inline].lower() != "off":
        raise bad_request(
            f"{inline} must be off, got {shown(set_anew[inline])}: it puts rows into the log, and "
            "clients of Iceberg do not find them there"
        )
    return set_anew, unset


def put_or_unset(
    set_anew: dict[str, str], unset: dict[str, None], values: Mapping[str, str], keys: Sequence[str]
) -> None:
    """Set the properties that have a value now, and unset the others."""
    for key in keys:
        if values.get(key):
            set_anew[key] = values[key]
            unset.pop(key, None)
        else:
            unset[key] = None


def told_version(asked: AskedChanges, present: Any) -> dict[str, str]:
    """Return the property of another version of the format, empty if it stays.

    Raises IcebergRefusal for a version that is not known, and for a lower one.
    """
    wanted = asked.format_version
    if wanted is None or wanted == present:
        return {}
    check_version(wanted)
    if wanted < present:
        raise bad_request(
            f"the format version of a table must not become lower than {present}, got {wanted}"
        )
    return {FORMAT_VERSION: str(wanted)}


def told_location(asked: AskedChanges, location: str) -> dict[str, str]:
    """Return the property with the text of a location, empty if it follows from the location."""
    text = (asked.location or "").rstrip("/")
    plain = location_text(in_one_spelling(location))
    return {LOCATION: text} if text not in ("", plain) else {}


def check_version(version: int) -> None:
    """Raise IcebergRefusal for a version of the format that is not written."""
    if version not in FORMATS:
        raise bad_request(f"the format version of a table must be 1, 2 or 3, got {version}")


def check_uuid(asked: AskedChanges, present: str) -> None:
    """Raise IcebergRefusal for another uuid than the table has."""
    if asked.uuid is not None and asked.uuid != present.lower():
        raise bad_request(f"the uuid of a table must stay {present}, got {shown(asked.uuid)}")


def uuid_text(given: str) -> str:
    """Return a uuid in its usual form; raises IcebergRefusal for another text."""
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise bad_request(f"the uuid of a table must be a uuid, got {shown(given)}") from None


def check_location(asked: AskedChanges, definition: TableDefinition) -> None:
    """Raise IcebergRefusal for another location: paths of files start at the present one."""
    if asked.location is not None and not is_one_place(asked.location, definition.location):
        raise bad_request(
            f"a table must stay at {definition.location}, got the location "
            f"{shown(asked.location)}: create another table"
        )
