"""Answers of a Unity Catalog: a whole ledger of published tables, for engines that attach it.

A table `sales.orders` of the ledger is table `orders` in schema `sales`, one without a dot is in
schema `default`. Tables that are not published as Delta are left out. An engine reads the files and
the log itself: it needs the rights to read the folders, since no credentials are given out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.arrow.types import arrow_type, sql_type
from ledger.core.commands import Column, TableDefinition
from ledger.core.predicates.types import BY_NAME
from ledger.definitions.locations import as_uri
from ledger.reads.port import Reads, TableRow
from projections.delta.actions.metadata_action import delta_id
from projections.delta.actions.schema_json import UnpublishableError, schema_of
from projections.delta.table_state import folder_of, reason_against
from projections.web.answers.asked import LIMIT_MAX, Asked, BadRequestError
from projections.web.answers.unity_forms import (
    UNRECORDED,
    CredentialsWanted,
    UnityCatalog,
    UnityColumn,
    UnityCredentials,
    UnitySchema,
    UnityTableForm,
)

DEFAULT_SCHEMA: Final = "default"
# The end of the year 9999: no credentials are given out, so none expire.
NO_END_MS: Final = 253402300799000

# A client that lists a schema must know every type in it: DuckDB's extension knows these ones, and
# lists no table of a schema that has another. It knows decimals in arrays only.
LISTABLE: Final = re.compile(
    r"(?:array<)*decimal\(\d+,\d+\)>*"
    r"|(?:\w+:|(?:array|map|struct)<|tinyint|smallint|int|bigint|float|double"
    r"|boolean|string|binary|date|timestamp|void|[,>])+"
)

Form = dict[str, Any]


class UnityTable(NamedTuple):
    """A published table under its names in a Unity Catalog."""

    schema: str
    name: str
    row: TableRow

    @property
    def full_name(self) -> str:
        """The name with catalog and schema."""
        return f"{self.row.catalog}.{self.schema}.{self.name}"


def published_tables(reads: Reads) -> list[UnityTable]:
    """Return the published tables by their full names, which differ.

    A table without a dot in its name comes before one in a schema called `default`.
    """
    found: dict[str, UnityTable] = {}
    for row in sorted(reads.tables(), key=lambda each: ("." in each.name, each.name)):
        if is_readable(row.definition):
            schema, _, name = row.name.rpartition(".")
            table = UnityTable(schema or DEFAULT_SCHEMA, name, row)
            found.setdefault(table.full_name.lower(), table)
    return [found[key] for key in sorted(found)]


def is_readable(definition: TableDefinition) -> bool:
    """Return whether a definition says that its table has a log that Delta's readers understand."""
    if reason_against(definition):
        return False
    try:
        schema_of(definition, {})
    except UnpublishableError:
        return False
    return True


def is_listable(definition: TableDefinition) -> bool:
    """Return whether every client knows the types of a table."""
    return all(LISTABLE.fullmatch(plain_type(column.type)) for column in definition.columns)


def catalogs(reads: Reads, asked: Asked) -> Form:
    """Return the catalogs with tables."""
    names = sorted({row.catalog for row in reads.tables()})
    return paged("catalogs", [catalog_form(name) for name in names], asked)


def catalog(reads: Reads, asked: Asked) -> UnityCatalog | None:
    """Return a catalog, None for one without tables."""
    name = asked.text("named")
    asked.pass_over_rest()
    return catalog_form(name) if any(row.catalog == name for row in reads.tables()) else None


def schemas(reads: Reads, asked: Asked) -> Form | None:
    """Return the schemas of a catalog, None for a catalog without tables."""
    name = asked.text("catalog_name")
    if all(row.catalog != name for row in reads.tables()):
        return None
    forms = known_schemas(reads)
    found = [forms[key] for key in sorted(forms) if forms[key]["catalog_name"] == name]
    return paged("schemas", found, asked)


def schema(reads: Reads, asked: Asked) -> UnitySchema | None:
    """Return a schema, None for one that was not created and has no published table."""
    wanted = asked.text("named").lower()
    asked.pass_over_rest()
    return known_schemas(reads).get(wanted)


def known_schemas(reads: Reads) -> Mapping[str, UnitySchema]:
    """Return the namespaces that were created and those of published tables, by full name."""
    found: dict[str, UnitySchema] = {}
    for row in reads.namespaces():
        form = schema_form(row.catalog, row.name, dict(row.properties))
        found[form["full_name"].lower()] = form
    for table in published_tables(reads):
        form = schema_form(table.row.catalog, table.schema, {})
        found.setdefault(form["full_name"].lower(), form)
    return found


def tables(reads: Reads, asked: Asked) -> Form:
    """Return the published tables of a schema, without those that DuckDB cannot list."""
    wanted = asked.text("catalog_name"), asked.text("schema_name").lower()
    ledger = reads.identity().ledger
    found = [
        table_form(ledger, each)
        for each in published_tables(reads)
        if (each.row.catalog, each.schema.lower()) == wanted and is_listable(each.row.definition)
    ]
    return paged("tables", found, asked)


def table(reads: Reads, asked: Asked) -> UnityTableForm | None:
    """Return a published table, None for another one."""
    wanted = asked.text("named").lower()
    asked.pass_over_rest()
    for each in published_tables(reads):
        if each.full_name.lower() == wanted:
            return table_form(reads.identity().ledger, each)
    return None


def credentials(reads: Reads, asked: Asked) -> UnityCredentials | None:
    """Return that an engine needs no credentials from here, None for an unknown table."""
    wanted = asked.body(CredentialsWanted, "request for credentials")
    asked.pass_over_rest()
    if wanted is None:
        raise BadRequestError("table_id is missing; it must be in the body")
    ledger = reads.identity().ledger
    for each in published_tables(reads):
        if delta_id(ledger, each.row.table) == wanted.table_id:
            return {"url": location_of(each.row.definition), "expiration_time": NO_END_MS}
    return None


def paged(kind: str, found: Sequence[Mapping[str, Any]], asked: Asked) -> Form:
    """Return a page of a list; `page_token` is the name that the page before ended with."""
    most = asked.number_or_none("max_results") or LIMIT_MAX
    after = asked.text_or_none("page_token") or ""
    asked.pass_over_rest()
    names = [each["name"].lower() for each in found]
    start = sum(name <= after.lower() for name in names) if after else 0
    page = found[start : start + most]
    is_last = start + len(page) >= len(found)
    more = {} if is_last else {"next_page_token": page[-1]["name"]}
    return {kind: list(page), **more}


def catalog_form(name: str) -> UnityCatalog:
    """Return the fields of a catalog."""
    return {"name": name, "properties": {}, **UNRECORDED}


def schema_form(catalog: str, name: str, properties: Mapping[str, str]) -> UnitySchema:
    """Return the fields of a schema."""
    return {
        "name": name,
        "catalog_name": catalog,
        "full_name": f"{catalog}.{name}",
        "properties": dict(properties),
        **UNRECORDED,
        "comment": properties.get("comment"),
    }


def table_form(ledger: str, found: UnityTable) -> UnityTableForm:
    """Return the fields of a table."""
    definition, fields = found.row.definition, schema_of(found.row.definition, {})
    known = {column.name.lower(): column for column in definition.columns}
    partitions = {name.lower(): at for at, name in enumerate(definition.partition_columns)}
    columns = list[UnityColumn]()
    for position, field in enumerate(fields["fields"]):
        name = field["name"].lower()
        form = column_form(field, known.get(name), position)
        if name in partitions:
            form["partition_index"] = partitions[name]
        columns.append(form)
    return {
        "name": found.name,
        "catalog_name": found.row.catalog,
        "schema_name": found.schema,
        "full_name": found.full_name,
        "table_type": "EXTERNAL",
        "data_source_format": "DELTA",
        "storage_location": location_of(definition),
        "table_id": delta_id(ledger, found.row.table),
        "columns": columns,
        "properties": {each.key: each.value for each in definition.properties},
        **UNRECORDED,
    }


def column_form(field: Form, column: Column | None, position: int) -> UnityColumn:
    """Return the fields of a column; a partition column may be one without a type."""
    text = "string" if column is None else plain_type(column.type)
    name = text.partition("<")[0].partition("(")[0]
    digits = text[len(name) + 1 : -1].split(",") if name == "decimal" else ["0", "0"]
    return {
        "name": field["name"],
        "type_text": text,
        "type_name": BY_NAME[name].unity if name in BY_NAME else name.upper(),
        "type_json": json.dumps(field, separators=(",", ":"), ensure_ascii=False),
        "type_precision": int(digits[0]),
        "type_scale": int(digits[1]),
        "position": position,
        "nullable": field["nullable"],
    }


def plain_type(text: str) -> str:
    """Return the one spelling of a Spark SQL type, without lengths of texts and nullability."""
    try:
        return sql_type(arrow_type(text)).replace(" NOT NULL", "")
    except ValueError:
        return text.lower()


def location_of(definition: TableDefinition) -> str:
    """Return the folder of the published log as a URI."""
    return as_uri(folder_of(definition))
