"""CREATE TABLE: at once, or only described, for a commit that brings the first rows as well."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.core.partitions.file_paths import FILE
from ledger.definitions.definitions import table_definition
from ledger.definitions.locations import in_one_spelling
from ledger.definitions.new_tables import NewTables
from ledger.errors import TableExistsError
from ledger.files.storage import accesses
from ledger.iceberg.partitioning import FIRST_FIELD, spec_json
from ledger.iceberg.schemas import DEFAULT_FORMAT, fresh, highest_in, schema_json
from ledger.iceberg.sort_orders import order_json
from ledger.reads.namespaces import namespaces_with
from ledger.reads.port import Reads
from projections.iceberg.commits.definitions.definition_changes import NewTable, new_table
from projections.iceberg.commits.files.client_paths import home_of
from projections.iceberg.commits.given_json import (
    Given,
    list_in,
    object_in,
    object_of,
    shown,
    text_in,
    texts_in,
)
from projections.iceberg.commits.ledger_refusals import as_bad_requests, as_refusals
from projections.iceberg.commits.table_state import TablesAsServed
from projections.iceberg.commits.updates import LAST, AskedChanges
from projections.iceberg.errors import already_there, bad_request, no_namespace
from projections.iceberg.names import (
    DEFAULT,
    Parts,
    TableIdentifier,
    names_of,
    namespace_name,
    table_name,
)
from projections.iceberg.served.paths import location_of, place_key
from projections.iceberg.served.shapes import of_format

BODY: Final = "the body"
FOLDERS: Final = ("data", "metadata")
"""A client on a disk writes into these folders and does not make them."""

FIELDS_MAX: Final = 1_000
SUFFIX_CHARS: Final = 8


def create(
    ledger: Ledger, served: TablesAsServed, namespace: Parts, request: Any
) -> Mapping[str, Any]:
    """Create a table, or describe one that a later commit creates; return what a load does.

    Raises IcebergRefusal.
    """
    body = object_of(BODY, request)
    identifier = TableIdentifier(namespace, text_in(body, "name", BODY))
    name = table_name(identifier)
    reads = ledger.reads()
    check_namespace(ledger, reads, namespace)
    check_free(ledger, reads, identifier)
    is_staged = body.get("stage-create", False)
    if not isinstance(is_staged, bool):
        raise bad_request(f"stage-create must be true or false, got {shown(is_staged)}")
    with as_refusals(name), as_bad_requests(name):
        asked = asked_by(body)
        asked.uuid = str(uuid4())
        location = location_for(ledger, identifier, asked)
        if not is_staged:
            # The ledger's own number of the table is enough: its uuid follows from that.
            asked.uuid = None
        new = new_table(asked, location)
        make_folders(location)
        if is_staged:
            return staged(new, asked)
        try:
            ledger.create_table(
                name,
                new.columns,
                partition_columns=new.partition_columns,
                location=location,
                properties=new.properties,
            )
        except TableExistsError as error:
            raise already_there("Table", identifier.text()) from error
    row = ledger.table(name)
    table = served.table(row)
    return {
        "metadata-location": table.metadata_location,
        "metadata": table.metadata("all"),
        "config": {},
    }


def asked_by(body: Given) -> AskedChanges:
    """Return a request to create a table as the updates of one, with ids of the catalog's own."""
    asked = AskedChanges(properties=dict(texts_in(body, "properties", BODY)))
    schema, numbers = fresh(object_in(body, "schema", BODY))
    asked.schemas, asked.current_schema = [schema], LAST
    if body.get("partition-spec") is not None:
        spec = object_in(body, "partition-spec", BODY)
        fields = [
            {**renumbered(each, numbers), "field-id": FIRST_FIELD + at}
            for at, each in enumerate(list_in(spec, "fields", "partition-spec", FIELDS_MAX))
        ]
        asked.specs, asked.default_spec = [{"spec-id": 0, "fields": fields}], LAST
    if body.get("write-order") is not None:
        order = object_in(body, "write-order", BODY)
        keys = [
            renumbered(each, numbers)
            for each in list_in(order, "fields", "write-order", FIELDS_MAX)
        ]
        asked.orders, asked.default_order = [{"order-id": 1, "fields": keys}], LAST
    if body.get("location") is not None:
        asked.location = text_in(body, "location", BODY)
    return asked


def renumbered(given: Any, numbers: Mapping[int, int]) -> dict[str, Any]:
    """Return a field of a spec or an order with the new id of its source.

    Raises IcebergRefusal for a source that the schema does not have.
    """
    field = dict(object_of("a field", given))
    sources = field.pop("source-ids", None)
    source = field.get("source-id", sources[0] if isinstance(sources, list) and sources else None)
    if type(source) is not int or source not in numbers:
        raise bad_request(f"source-id of a field must be an id of the schema, got {shown(source)}")
    return {**field, "source-id": numbers[source]}


def staged(new: NewTable, asked: AskedChanges) -> Mapping[str, Any]:
    """Return what a client gets of a table that a later commit creates."""
    definition = table_definition(
        new.columns,
        partition_columns=new.partition_columns,
        location=new.location,
        properties=new.properties,
    )
    schema, order = schema_json(definition, 0), order_json(definition, 1)
    spec = spec_json(definition, 0)
    numbers = [field["field-id"] for field in spec["fields"]]
    version = asked.format_version or DEFAULT_FORMAT
    metadata = {
        "format-version": version,
        "table-uuid": asked.uuid,
        "location": location_of(definition),
        "last-updated-ms": SystemClock().now_ms(),
        "last-column-id": highest_in(schema),
        "current-schema-id": 0,
        "schemas": [schema],
        "default-spec-id": 0,
        "partition-specs": [spec],
        "last-partition-id": max(numbers, default=FIRST_FIELD - 1),
        "default-sort-order-id": order["order-id"],
        "sort-orders": [order],
        "properties": dict(asked.properties),
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
        "refs": {},
    }
    return {"metadata": of_format(metadata, 0, 0), "config": {}}


def location_for(ledger: Ledger, identifier: TableIdentifier, asked: AskedChanges) -> str:
    """Return the location of a new table: the one that is asked for, or one of its own.

    The latter follows from the uuid, so a described table and its commit have the same. Raises
    IcebergRefusal for a location that is not below the warehouse, or that lies in another table.
    """
    warehouse = ledger.warehouse
    if not warehouse:
        raise bad_request(
            "the server must have a warehouse, below which tables of clients lie: set it by "
            "LAKELEDGER_WAREHOUSE, or warehouse = ... in lakeledger.toml"
        )
    if asked.location is None:
        name = table_name(identifier)
        found = NewTables(warehouse).location(ledger.catalog, name)
        ending = (asked.uuid or uuid4().hex).replace("-", "")[:SUFFIX_CHARS]
        location = f"{found.rpartition('-')[0]}-{ending}"
    else:
        location = below(warehouse, asked.location)
    check_own_folder(ledger, location)
    return location


def below(warehouse: str, asked: str) -> str:
    """Return a location in its one spelling; raises IcebergRefusal for one outside a folder."""
    try:
        found = in_one_spelling(asked)
    except ValueError as error:
        raise bad_request(str(error)) from error
    if ".." in found.split("/") or not place_key(found).startswith(f"{place_key(warehouse)}/"):
        raise bad_request(
            f"the location of a table must be below the warehouse {warehouse}, got {shown(asked)}"
        )
    return found


def check_own_folder(ledger: Ledger, location: str) -> None:
    """Raise IcebergRefusal for a location that is another table's, within it or around it."""
    place = f"{place_key(location)}/"
    for row in ledger.reads().tables():
        if row.definition.location:
            other = f"{place_key(row.definition.location)}/"
            if other.startswith(place) or place.startswith(other):
                raise bad_request(
                    f"a table must have a folder of its own, got {location}, and the table "
                    f"{row.name} has {row.definition.location}"
                )


def make_folders(location: str) -> None:
    """Make the folders of a table on a disk; raises StorageError if the disk refuses."""
    family, _, path = home_of(location)
    if family == FILE:
        with accesses(location):
            for name in FOLDERS:
                Path(path, name).mkdir(parents=True, exist_ok=True)


def check_namespace(ledger: Ledger, reads: Reads, namespace: Parts) -> None:
    """Raise IcebergRefusal for a namespace that is not there."""
    name = namespace_name(namespace)
    if name.lower() == DEFAULT:
        return
    known = namespaces_with(reads.namespaces(), reads.tables())
    if not any((row.catalog, row.name.lower()) == (ledger.catalog, name.lower()) for row in known):
        raise no_namespace(name)


def check_free(ledger: Ledger, reads: Reads, identifier: TableIdentifier) -> None:
    """Raise IcebergRefusal for a name that a table has."""
    for name in names_of(identifier):
        if reads.table_named(ledger.catalog, name) is not None:
            raise already_there("Table", identifier.text())
