"""Statements of the ledger's own words, and the procedures that do them.

A statement about a table of another catalog stays with Spark's parser.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from spark_sink.catalog.session.open_statements import Refusal
from spark_sink.catalog.sql.table_names import CatalogTable, SessionPlace, place_of
from spark_sink.catalog.sql.tokens import FormError, Tokens

Arguments = dict[str, str | int | float | bool]

CONDITION: Final = "LEDGER_SYNTAX"
FIELD: Final = ("PARTITION", "FIELD")


class ProcedureCall(NamedTuple):
    """A call of a procedure; `catalog` is its ledger."""

    catalog: str
    procedure: str
    arguments: Arguments


class StatementForm(NamedTuple):
    """A form of statements: the words that it begins with, all of it for errors, and its reader.

    The reader returns the procedure and its arguments, None for a statement of Spark's parser that
    begins so too. `has_table` says that the name of a table follows the words; without one the
    statement is about the ledger or the session. `is_shared` says that Spark's parser has other
    statements that begin so.
    """

    heads: tuple[tuple[str, ...], ...]
    whole: str
    read: Callable[[Tokens], tuple[str, Arguments] | None]
    has_table: bool = False
    is_shared: bool = False


def optimize(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows OPTIMIZE and the table."""
    found: Arguments = {}
    if tokens.takes("WHERE"):
        found["where"] = tokens.until("ZORDER")
    if tokens.takes("ZORDER", "BY"):
        found["sort_by"] = ", ".join(f"`{name.replace('`', '``')}`" for name in tokens.names())
    return "optimize", found


def vacuum(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows VACUUM and the table."""
    found: Arguments = {}
    if tokens.takes("RETAIN"):
        found["older_than_h"] = float(tokens.number())
        tokens.needs("HOURS")
    if tokens.takes("DRY", "RUN"):
        found["dry_run"] = True
    return "vacuum", found


def history(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows DESCRIBE HISTORY and the table."""
    return "history", {"limit": int(tokens.number())} if tokens.takes("LIMIT") else {}


def detail(_: Tokens) -> tuple[str, Arguments]:
    """Read what follows DESCRIBE DETAIL and the table."""
    return "detail", {}


def restore(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows RESTORE TABLE and the table."""
    tokens.needs("TO")
    if tokens.takes("VERSION", "AS", "OF"):
        return "rollback_to_version", {"version": int(tokens.number())}
    tokens.needs("TIMESTAMP", "AS", "OF")
    return "rollback_to_timestamp", {"timestamp": tokens.string()}


def undrop(_: Tokens) -> tuple[str, Arguments]:
    """Read what follows UNDROP TABLE and the table."""
    return "undrop", {}


def conflicts(_: Tokens) -> tuple[str, Arguments]:
    """Read SHOW CONFLICTS."""
    return "conflicts", {}


def explain(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows EXPLAIN CONFLICT."""
    return "explain_conflict", {"txn": int(tokens.number())}


def begin(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows BEGIN."""
    if not tokens.takes("ISOLATION", "LEVEL"):
        return "begin", {}
    level = "-".join(tokens.until().lower().split())
    return "begin", {"level": level}


def script(tokens: Tokens) -> tuple[str, Arguments]:
    """Read what follows BEGIN ATOMIC."""
    return "atomic", {"script": tokens.before_last("END")}


def partition_field(tokens: Tokens) -> tuple[str, Arguments] | None:
    """Read what follows ALTER TABLE and the table, None for what Spark's parser knows."""
    if tokens.takes("ADD", *FIELD):
        return "partition_field", {"add": tokens.until("AS", what="a transform")}
    if tokens.takes("DROP", *FIELD):
        return "partition_field", {"drop": tokens.until("AS", what="a transform")}
    if not tokens.takes("REPLACE", *FIELD):
        return None
    dropped = tokens.until("WITH", what="a transform")
    tokens.needs("WITH")
    return "partition_field", {"drop": dropped, "add": tokens.until("AS", what="a transform")}


def ending(procedure: str) -> Callable[[Tokens], tuple[str, Arguments]]:
    """Return the reader of a word that ends a txn."""
    return lambda _: (procedure, {})


TRANSACTION: Final = ("TRANSACTION", "WORK")
LEVELS: Final = "SERIALIZABLE | WRITE SERIALIZABLE | SNAPSHOT ISOLATION"
SHOW: Final = ("SHOW", "CONFLICTS")

FORMS: Final = (
    StatementForm(
        (("OPTIMIZE",),),
        "OPTIMIZE t [WHERE condition] [ZORDER BY (columns)]",
        optimize,
        has_table=True,
    ),
    StatementForm((("VACUUM",),), "VACUUM t [RETAIN n HOURS] [DRY RUN]", vacuum, has_table=True),
    StatementForm(
        (("DESCRIBE", "HISTORY"), ("DESC", "HISTORY")),
        "DESCRIBE HISTORY t [LIMIT n]",
        history,
        has_table=True,
    ),
    StatementForm(
        (("DESCRIBE", "DETAIL"), ("DESC", "DETAIL")), "DESCRIBE DETAIL t", detail, has_table=True
    ),
    StatementForm(
        (("RESTORE", "TABLE"), ("RESTORE",)),
        "RESTORE [TABLE] t TO VERSION AS OF n, or RESTORE [TABLE] t TO TIMESTAMP AS OF '...'",
        restore,
        has_table=True,
    ),
    StatementForm((("UNDROP", "TABLE"), ("UNDROP",)), "UNDROP [TABLE] t", undrop, has_table=True),
    StatementForm(
        ((*SHOW, "IN"), (*SHOW, "FROM")), "SHOW CONFLICTS [IN t]", conflicts, has_table=True
    ),
    StatementForm(
        (("ALTER", "TABLE"),),
        "ALTER TABLE t ADD PARTITION FIELD transform, DROP PARTITION FIELD transform, or REPLACE "
        "PARTITION FIELD transform WITH transform",
        partition_field,
        has_table=True,
        is_shared=True,
    ),
    StatementForm((SHOW,), "SHOW CONFLICTS [IN t]", conflicts),
    StatementForm((("EXPLAIN", "CONFLICT"),), "EXPLAIN CONFLICT txn", explain),
    StatementForm((("BEGIN", "ATOMIC"),), "BEGIN ATOMIC statement; statement; END", script),
    StatementForm(
        (*(("BEGIN", word) for word in TRANSACTION), ("START", "TRANSACTION")),
        f"BEGIN, or BEGIN TRANSACTION [ISOLATION LEVEL {LEVELS}]",
        begin,
    ),
    *(
        StatementForm(
            (*((word, more) for more in TRANSACTION), (word,)),
            f"{word} [TRANSACTION]",
            ending(word.lower()),
        )
        for word in ("COMMIT", "ROLLBACK")
    ),
)


def statement(attached: Iterable[str], asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Answer which procedure does a statement, None for one of Spark's parser."""
    place = place_of(asked, attached)
    tokens = Tokens(asked["text"], asked["tokens"])
    form = form_of(tokens)
    if form is None:
        return None
    try:
        call = called(form, tokens, place, str(asked.get("joined") or ""))
    except (FormError, ValueError) as error:
        raise Refusal(CONDITION, f"the statement must be {form.whole}; {error}") from None
    return None if call is None else call._asdict()


def form_of(tokens: Tokens) -> StatementForm | None:
    """Return the form that a statement begins like, and read the words of its beginning."""
    for form in FORMS:
        if any(tokens.takes(*head) for head in form.heads):
            return form
    # BEGIN alone opens a txn; with more behind it, it is a script of Spark.
    if tokens.takes("BEGIN") and tokens.is_at_end():
        return next(form for form in FORMS if form.read is begin)
    return None


def called(
    form: StatementForm, tokens: Tokens, place: SessionPlace, joined: str
) -> ProcedureCall | None:
    """Return the call for a statement whose first words are read; raises FormError."""
    named: CatalogTable | None = None
    if form.has_table:
        if tokens.is_at_end():
            return None
        try:
            named = place.table(tokens.name())
        except FormError:
            if form.is_shared:
                return None
            raise
        if named is None:
            return None
    read = form.read(tokens)
    if read is None:
        return None
    procedure, arguments = read
    tokens.ends()
    if named is not None:
        return ProcedureCall(named.catalog, procedure, {"table": named.table, **arguments})
    catalog = place.catalog(joined)
    return None if catalog is None else ProcedureCall(catalog, procedure, arguments)
