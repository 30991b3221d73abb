"""A query in DuckDB's SQL: which tables it names, and what of each of them it needs.

Only queries pass. The text itself is run by DuckDB. A scan may leave out columns that the text does
not name, and files that cannot hold rows of a comparison which reads the same in both dialects.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from ledger.errors import LedgerError

DIALECT: Final = "duckdb"
SCHEMA_PARTS: Final = 2
"""The parts of a name that has no catalog."""

VERBS: Final[Mapping[type[exp.Expression], str]] = {
    exp.Insert: "INSERT: use txn.insert or ledger.append",
    exp.Update: "UPDATE: use txn.update",
    exp.Delete: "DELETE: use txn.delete",
    exp.Merge: "MERGE: use txn.merge",
    exp.Create: "CREATE: use ledger.create_table",
    exp.Drop: "DROP: use ledger.drop_table",
    exp.Alter: "ALTER: use ledger.alter_table",
    exp.TruncateTable: "TRUNCATE: use txn.delete",
    exp.Copy: "COPY: use ledger.append, or --output parquet",
}
COMPARISONS: Final[Mapping[type[exp.Expression], str]] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
TURNED: Final[Mapping[str, str]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})


class QuerySyntaxError(LedgerError, ValueError):
    """A text is not one query, or would change something."""


TableName = tuple[str, ...]
"""The parts of a name as they are written."""


class LiteralComparison(NamedTuple):
    """A column compared with a literal; every row of the answer fulfils it."""

    column: str
    operator: str
    value: int | str


class NamedTable(NamedTuple):
    """A table of a query and what the answer needs of it.

    `columns` are names in lower case, None = all. `comparisons` hold for each row that counts.
    """

    name: TableName
    columns: frozenset[str] | None
    comparisons: Sequence[LiteralComparison]


class Query(NamedTuple):
    """A query as DuckDB gets it, without catalogs before names, and its tables, each name once."""

    text: str
    tables: Sequence[NamedTable]


def read_query(query: str) -> Query:
    """Return what a query needs; raises QuerySyntaxError for a text that is not one query."""
    tree = query_of(query)
    tables = tables_of(tree)
    return Query(without_catalogs(query, tree, {each.name for each in tables}), tables)


def without_catalogs(query: str, tree: Any, names: set[TableName]) -> str:
    """Return a query in which the names of tables, and of their columns, begin with no catalog.

    DuckDB has databases of its own, and knows no catalog of a ledger.
    """
    whole = {tuple(map(str.lower, each)) for each in names if len(each) > SCHEMA_PARTS}
    cuts: set[tuple[int, int]] = set()
    for node in tree.find_all(exp.Table, exp.Column):
        parts = node.parts
        if tuple(each.name.lower() for each in parts[: SCHEMA_PARTS + 1]) in whole:
            cuts.add((parts[0].meta["start"], parts[1].meta["start"]))
    for start, end in sorted(cuts, reverse=True):
        query = query[:start] + query[end:]
    return query


def tables_of(tree: Any) -> Sequence[NamedTable]:
    """Return the tables that a query names, each name once."""
    found: dict[TableName, dict[int, tuple[exp.Table, Any]]] = {}
    for scope in traverse_scope(tree):
        for source in scope.sources.values():
            if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
                key = tuple(each.name.lower() for each in source.parts)
                # A nested SELECT also sees the tables around it.
                found.setdefault(key, {}).setdefault(id(source), (source, scope))
    columns = columns_of(tree)
    return [
        NamedTable(
            tuple(each.name for each in first[0].parts),
            columns,
            () if others else list(comparisons(*first)),
        )
        for first, *others in (list(each.values()) for each in found.values())
    ]


def query_of(query: str) -> Any:
    """Return the tree of a query; raises QuerySyntaxError for anything else."""
    if not isinstance(query, str):
        raise TypeError(f"a query must be a text, got {query!r}")
    try:
        trees = [each for each in sqlglot.parse(query, dialect=DIALECT) if each is not None]
    except SqlglotError as problem:
        raise QuerySyntaxError(f"{query!r} is not a query: {said(problem)}") from None
    if len(trees) != 1:
        raise QuerySyntaxError(f"there must be one query, got {len(trees)}: {query!r}")
    (tree,) = trees
    for node in tree.walk():
        verb = next((text for kind, text in VERBS.items() if isinstance(node, kind)), None)
        if verb is not None:
            raise QuerySyntaxError(f"sql only reads, got {verb}")
    if not isinstance(tree, exp.Query | exp.Values):
        word = query.split(maxsplit=1)[0].upper()
        raise QuerySyntaxError(f"sql only reads: the text must be a SELECT, got {word}")
    return tree


def said(problem: SqlglotError) -> str:
    """Return what the parser found wrong, in a line."""
    errors = getattr(problem, "errors", None) or [{}]
    first = errors[0]
    where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
    return f"{first.get('description') or str(problem).splitlines()[0]}{where}"


def columns_of(tree: Any) -> frozenset[str] | None:
    """Return all names in a query in lower case, None if it may name columns in another way."""
    for star in tree.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count):
            return None
    if any(tree.find_all(exp.Columns, exp.Pivot)):
        return None
    methods = (each.args.get("method") for each in tree.find_all(exp.Join))
    if any(str(each).upper() == "NATURAL" for each in methods):
        return None
    names = {each.name.lower() for each in tree.find_all(exp.Identifier)}
    sources = {each.alias_or_name.lower() for each in tree.find_all(exp.Table)}
    # `SELECT t FROM t` is a struct of all columns.
    used = {each.name.lower() for each in tree.find_all(exp.Column) if not each.table}
    return None if sources & used else frozenset(names)


def comparisons(table: exp.Table, scope: Any) -> Iterator[LiteralComparison]:
    """Yield comparisons that all rows of a table fulfil which count in its SELECT."""
    select = scope.expression
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if where is None:
        return
    alone = len(scope.sources) == 1
    name = table.alias_or_name.lower()
    for part in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        for found in compared(part):
            column, operator, value = found
            is_own = column.table.lower() == name if column.table else alone
            if is_own and isinstance(column, exp.Column):
                yield LiteralComparison(column.name, operator, value)


def compared(part: Any) -> Iterator[tuple[exp.Column, str, int | str]]:
    """Yield what a conjunct says of a column and a literal."""
    part = part.unnest()
    operator = COMPARISONS.get(type(part))
    if operator is not None:
        sides = part.this.unnest(), part.expression.unnest()
        if isinstance(sides[0], exp.Column) and (value := literal(sides[1])) is not None:
            yield sides[0], operator, value
        elif isinstance(sides[1], exp.Column) and (value := literal(sides[0])) is not None:
            yield sides[1], TURNED[operator], value
    elif isinstance(part, exp.Between) and isinstance(part.this, exp.Column):
        for operator, bound in ((">=", part.args["low"]), ("<=", part.args["high"])):
            if (value := literal(bound)) is not None:
                yield part.this, operator, value


def literal(node: Any) -> int | str | None:
    """Return a whole number or a text, None for anything else."""
    if isinstance(node, exp.Neg) and isinstance(inner := literal(node.this), int):
        return -inner
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return str(node.this)
    return int(node.this) if str(node.this).isdecimal() else None


def condition(comparisons: Sequence[LiteralComparison], types: Mapping[str, str]) -> str | None:
    """Return comparisons that read the same in Spark as a condition, None without one.

    `types` are the Spark SQL types of the columns by their names in lower case.
    """
    said = [
        f"`{each.column.replace('`', '``')}` {each.operator} {text}"
        for each in comparisons
        if (text := same(each, types.get(each.column.lower(), ""))) is not None
    ]
    return " AND ".join(said) or None


def same(comparison: LiteralComparison, kind: str) -> str | None:
    """Return the literal of a comparison if it means the same in Spark, else None."""
    value = comparison.value
    if isinstance(value, int):
        is_fit = kind in WHOLE and -(2**31) <= value < 2**31
        return str(value) if is_fit else None
    if kind != "string" or "\\" in value:
        return None
    return "'" + value.replace("'", "''") + "'"
