"""CHECK constraints between Spark and a table's definition, which keeps them as Delta does.

Spark checks the rows that its batch writes bring, by the constraints of the table as it was looked
up. All other new rows are checked here: rows of streams, and rows of a table that got another
constraint since.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.arrow.casts import is_text
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.core.commands import TableDefinition
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.expressions.parse import PredicateSyntaxError, parsed
from ledger.log.wire.file_list import AddFile
from ledger.properties.known_properties import CONSTRAINT, constraints_of
from ledger.snapshot.overlay import file_row
from ledger.snapshot.reading import TableFiles
from ledger.statements.restoring import check_files
from ledger.statements.target import StatementTable
from spark_sink.catalog.columns import columns_in, is_computed
from spark_sink.catalog.session.open_statements import Question, unsupported

CHECK: Final = "Check"
# What the Java side puts around a condition, so that NULL does not pass.
BEFORE, BEHIND = "(", ") IS TRUE"


def constraint_answers(definition: TableDefinition) -> Sequence[Mapping[str, str]]:
    """Return the constraints of a table as an answer."""
    found = sorted(constraints_of(definition).items())
    return [{"name": name, "condition": text} for name, text in found]


def left_to_spark(definition: TableDefinition, schema: TableSchema) -> Sequence[Mapping[str, str]]:
    """Return the constraints that Spark checks, before the values of computed columns are there."""
    computed = {each.name.lower() for each in schema.columns if is_computed(each)}
    return [
        each
        for each in constraint_answers(definition)
        if not computed or computed.isdisjoint(columns_in(each["condition"]))
    ]


def as_properties(table: str, given: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Return constraints that Spark names as table properties; raises Refusal for other kinds."""
    found: dict[str, str] = {}
    for each in given:
        if each["type"] != CHECK:
            raise unsupported(
                f"table {table} can have CHECK constraints only, got {each['type']} {each['name']}"
            )
        key = f"{CONSTRAINT}{each['name'].lower()}"
        if key in found:
            raise unsupported(f"table {table} must have one constraint {each['name']}, got several")
        found[key] = condition_of(str(each["condition"]))
    return found


def with_constraints(
    properties: Mapping[str, str], constraints: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the properties of a new table with its constraints; raises Refusal if they differ."""
    for key, text in constraints.items():
        if properties.get(key, text) != text:
            raise unsupported(f"{key} must be given once, got {properties[key]} and {text}")
    return {**properties, **constraints}


def condition_of(text: str) -> str:
    """Return a condition as it was given first: SHOW CREATE TABLE shows what Spark checks."""
    inner = text[len(BEFORE) : -len(BEHIND)]
    if text != f"{BEFORE}{inner}{BEHIND}":
        return text
    try:
        parsed(inner)
    except PredicateSyntaxError:
        return text
    return inner


def changed_constraints(
    before: TableDefinition, table: str, changes: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the properties that ALTER TABLE adds and drops with constraints; raises Refusal."""
    known = {each.key.lower(): each.key for each in before.properties}
    added: dict[str, str] = {}
    dropped: list[str] = []
    for change in changes:
        if change["kind"] == "AddConstraint":
            for key, text in as_properties(table, [change]).items():
                if key in known:
                    raise unsupported(
                        f"table {table} has a constraint {change['name']} already: drop it first"
                    )
                added[key] = text
        elif change["kind"] == "DropConstraint":
            spelled = known.get(f"{CONSTRAINT}{change['name'].lower()}")
            if spelled is not None:
                dropped.append(spelled)
            elif not change["if_exists"]:
                raise unsupported(f"table {table} has no constraint {change['name']}")
    return added, dropped


def check_written(table: StatementTable, adds: Sequence[AddFile], asked: Question) -> None:
    """Raise ConstraintViolatedError for a new row that Spark did not check and that breaks one.

    Spark checks a row before an empty text in a partition column becomes NULL.
    """
    if asked["mode"] != "delete":
        check_filled_partitions(table.schema, adds)
    known = constraint_answers(table.definition)
    if known and "stream" not in asked and asked.get("constraints") == known:
        places = text_places(table.schema)
        adds = [add for add in adds if any(add.partition[at] is None for at in places)]
    if not known or not adds:
        return
    read = TableFiles(table.row, table.work.opened, TRUE_PREDICATE, ())
    check_files(table, [file_row(add, read) for add in adds])


def check_filled_partitions(schema: TableSchema, adds: Sequence[AddFile]) -> None:
    """Raise ValueError for a new file with NULL in a partition column that is NOT NULL."""
    for at, column in text_places(schema).items():
        for each in () if column.nullable else adds:
            if each.partition[at] is None:
                raise ValueError(
                    f"column {column.name} is NOT NULL and must have a value in each row, got "
                    "NULL: an empty text in a partition column is NULL"
                )


def text_places(schema: TableSchema) -> Mapping[int, TableColumn]:
    """Return the partition columns with texts, by their places among the partition columns."""
    found = {at: schema.find(name) for at, name in enumerate(schema.partition_columns)}
    return {at: each for at, each in found.items() if each is not None and is_text(each.type)}
