"""A query in DuckDB's SQL: which tables it names, and what of each of them it needs.

Only queries pass. The text itself is run by DuckDB. A scan may leave out columns whose names are no
word of the text, and files that cannot hold rows of a comparison which reads the same in both
dialects. What names columns or counts rows in another way reads all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ledger.core.predicates.tree import And, ColumnRef, Compare, Literal, Node, connected
from ledger.errors import LedgerError

DIALECT: Final = "duckdb"
SHOWN_CHARS_MAX: Final = 1000
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
ANOTHER_WAY: Final = (exp.Columns, exp.Pivot, exp.PositionalColumn, exp.Describe, exp.Summarize)
"""Forms that read columns without their names."""

BY_PLACE: Final = frozenset({"ASOF", "POSITIONAL"})
"""Joins whose rows depend on rows that the WHERE leaves out."""

READ_NOTHING: Final = (exp.GenerateSeries, exp.Unnest)
"""Functions in FROM that read neither a file nor the database itself."""

ROW_NUMBER: Final = "rowid"
TEXTS_OF_NAMES: Final = frozenset({"query", "query_table"})
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


def read_query(query: str, *, of_tables_alone: bool = False) -> Query:
    """Return what a query needs; raises QuerySyntaxError for a text that is not one query.

    Rows of a query `of_tables_alone` come from named tables, and from functions that read nothing.
    """
    tree = query_of(query)
    for source in tree.find_all(exp.Table) if of_tables_alone else ():
        if not isinstance(source.this, exp.Identifier) and not isinstance(
            source.this, READ_NOTHING
        ):
            raise QuerySyntaxError(
                f"rows must come from tables of the ledger, got {shown(source.this.sql(DIALECT))}"
            )
    tables = tables_of(tree, words_of(query, tree))
    return Query(without_catalogs(query, tree, {table.name for table in tables}), tables)


def folded(name: str) -> str:
    """Return a name in which letters count as DuckDB counts them: only ASCII has no case."""
    return "".join(each.lower() if each.isascii() else each for each in name)


def without_catalogs(query: str, tree: Any, names: set[TableName]) -> str:
    """Return a query in which the names of tables, and of their columns, begin with no catalog.

    DuckDB has databases of its own, and knows no catalog of a ledger.
    """
    whole = {tuple(map(folded, name)) for name in names if len(name) > SCHEMA_PARTS}
    cuts: set[tuple[int, int]] = set()
    for node in tree.find_all(exp.Table, exp.Column):
        parts = node.parts
        # A column with fewer parts is a field of a struct.
        is_whole = isinstance(node, exp.Table) or len(parts) > SCHEMA_PARTS + 1
        if is_whole and tuple(folded(part.name) for part in parts[: SCHEMA_PARTS + 1]) in whole:
            cuts.add((parts[0].meta["start"], parts[1].meta["start"]))
    for start, end in sorted(cuts, reverse=True):
        query = query[:start] + query[end:]
    return query


def tables_of(tree: Any, words: frozenset[str]) -> Sequence[NamedTable]:
    """Return the tables that a query names, each name once."""
    found: dict[TableName, list[exp.Table]] = {}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not is_named_by_with(table):
            found.setdefault(tuple(folded(part.name) for part in table.parts), []).append(table)
    columns = None if names_in_another_way(tree) else words
    return [
        NamedTable(
            tuple(part.name for part in first.parts),
            columns,
            () if others or ROW_NUMBER in words else list(comparisons(first)),
        )
        for first, *others in found.values()
    ]


def is_named_by_with(table: exp.Table) -> bool:
    """Return whether a name means a SELECT of a WITH, and no table."""
    node: Any = table
    name = folded(table.name)
    while len(table.parts) == 1 and (around := node.parent) is not None:
        seen: Sequence[Any] = ()
        if isinstance(around, exp.With):
            at = next(at for at, each in enumerate(around.expressions) if each is node)
            is_own = around.args.get("recursive") and isinstance(node.this, exp.SetOperation)
            seen = around.expressions[: at + bool(is_own)]
        elif not isinstance(node, exp.With) and around.args.get("with_"):
            seen = around.args["with_"].expressions
        if any(folded(each.alias) == name for each in seen):
            return True
        node = around
    return False


def query_of(query: str) -> Any:
    """Return the tree of a query; raises QuerySyntaxError for anything else."""
    if not isinstance(query, str):
        raise TypeError(f"a query must be a text, got {query!r}")
    try:
        trees = [each for each in sqlglot.parse(query, dialect=DIALECT) if each is not None]
    except (SqlglotError, RecursionError) as problem:
        raise QuerySyntaxError(
            f"{shown(query)} is not a query: {syntax_problem(query, problem)}"
        ) from None
    if len(trees) != 1:
        raise QuerySyntaxError(f"there must be one query, got {len(trees)}: {shown(query)}")
    (tree,) = trees
    for node in tree.walk():
        verb = next((text for kind, text in VERBS.items() if isinstance(node, kind)), None)
        if verb is not None:
            raise QuerySyntaxError(f"sql only reads, got {verb}")
        if isinstance(node, exp.Anonymous) and str(node.this).lower() in TEXTS_OF_NAMES:
            raise QuerySyntaxError(f"tables must be named in FROM, got {node.this}(...)")
    if not isinstance(tree, exp.Query | exp.Values | exp.Pivot):
        if "syntax error" in (wrong := syntax_problem(query, ValueError())):
            raise QuerySyntaxError(f"{shown(query)} is not a query: {wrong}")
        word = query.split(maxsplit=1)[0].upper()
        raise QuerySyntaxError(f"sql only reads: the text must be a SELECT, got {word}")
    return tree


def shown(query: str) -> str:
    """Return a query as messages show it."""
    return repr(query if len(query) <= SHOWN_CHARS_MAX else f"{query[:SHOWN_CHARS_MAX]}...")


def syntax_problem(query: str, problem: Exception) -> str:
    """Return what is wrong with a text, in the words of DuckDB if it does not read it either."""
    if isinstance(problem, RecursionError):
        return "its brackets and operators are nested too deep. Use WITH, or IN in place of OR"
    try:
        with duckdb.connect() as connection:
            connection.extract_statements(query)
    except duckdb.Error as found:
        return str(found).partition("Error: ")[2] or str(found)
    first = (getattr(problem, "errors", None) or [{}])[0]
    where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
    return f"its syntax is not supported{where}"


def words_of(query: str, tree: Any) -> frozenset[str]:
    """Return all words of a query in lower case: a name may also be read as a function."""
    words = {each.text.lower() for each in sqlglot.tokenize(query, read=DIALECT)}
    return frozenset(words.union(each.name.lower() for each in tree.find_all(exp.Identifier)))


def names_in_another_way(tree: Any) -> bool:
    """Return whether a query may read columns that it does not name."""
    if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)):
        return True
    if tree.find(*ANOTHER_WAY) is not None:
        return True
    # `FROM t AS v(a, b)` names the first columns of t anew.
    if any(each.args.get("columns") for each in tree.find_all(exp.TableAlias)):
        return True
    if any(str(each.args.get("method")).upper() == "NATURAL" for each in tree.find_all(exp.Join)):
        return True
    sources = {each.alias_or_name.lower() for each in tree.find_all(exp.Table)}
    # `SELECT t FROM t` is a struct of all columns.
    return any(each.name.lower() in sources for each in tree.find_all(exp.Column))


def comparisons(table: exp.Table) -> Iterator[LiteralComparison]:
    """Yield comparisons that all rows of a table fulfil which count in its SELECT."""
    select = table.parent.parent if isinstance(table.parent, exp.From | exp.Join) else None
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if not isinstance(select, exp.Select) or where is None or not keeps_rows(table, select):
        return
    alone = not select.args.get("joins") and not select.args.get("laterals")
    own = [table.alias] if table.alias else [each.name for each in table.parts]
    for part in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        for column, operator, value in compared(part):
            qualifier = [each.name.lower() for each in column.parts[:-1]]
            is_own = [each.lower() for each in own][-len(qualifier) :] == qualifier
            if is_own if qualifier else alone:
                yield LiteralComparison(column.name, operator, value)


def keeps_rows(table: exp.Table, select: exp.Select) -> bool:
    """Return whether a SELECT has the same rows if rows that its WHERE excludes are not read."""
    if any(node.args.get("sample") for node in (table, select)) or table.args.get("pivots"):
        return False
    if table.args["alias"].args.get("columns") if table.args.get("alias") else False:
        return False
    joins = select.args.get("joins") or ()
    return not any(str(join.args.get("method")).upper() in BY_PLACE for join in joins)


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


def condition(comparisons: Sequence[LiteralComparison], types: Mapping[str, str]) -> Node | None:
    """Return comparisons that read the same in Spark as a condition, None without one.

    `types` are the Spark SQL types of the columns by their names in lower case.
    """
    parts = [
        Compare(comparison.operator, ColumnRef(comparison.column), constant)
        for comparison in comparisons
        if (constant := same(comparison, types.get(comparison.column.lower(), ""))) is not None
    ]
    return connected(And, parts) if parts else None


def same(comparison: LiteralComparison, kind: str) -> Literal | None:
    """Return the constant of a comparison if it means the same in Spark, else None."""
    value = comparison.value
    if isinstance(value, int):
        is_fit = kind in WHOLE and -(2**31) <= value < 2**31
        return Literal(str(value), "int", is_number=True) if is_fit else None
    return Literal(value, "string") if kind == "string" and "\\" not in value else None
