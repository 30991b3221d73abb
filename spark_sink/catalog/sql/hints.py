"""What helps where Spark's parser refuses a statement in the words of Delta or Iceberg."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from spark_sink.catalog.sql.table_names import SessionPlace, place_of
from spark_sink.catalog.sql.tokens import FormError, Tokens
from spark_sink.catalog.sql.words import form_of

IMPORT: Final = (
    "A ledger takes over a Delta table, and its history, with the command `lakeledger import delta "
    "PATH --table NAME`. For other files use CREATE TABLE ledger.db.t AS SELECT * FROM "
    "parquet.`PATH`"
)
SORTED: Final = (
    "The order of rows in files of the ledger is a property: ALTER TABLE t SET TBLPROPERTIES "
    "('lakeledger.sort' = 'a, b DESC'); OPTIMIZE t brings older files into it"
)
UNSORTED: Final = "ALTER TABLE t UNSET TBLPROPERTIES ('lakeledger.sort') ends the order of rows"
NAMED: Final = (
    "A table of the ledger has no branches and tags: read VERSION AS OF n, and remember n. CREATE "
    "TABLE ... AS SELECT makes a copy"
)
PUBLISH: Final = (
    "Other readers see a table of the ledger as a Delta or Iceberg table with TBLPROPERTIES "
    "('lakeledger.publish' = 'delta') and `lakeledger up --publish`"
)
REWRITE: Final = "OPTIMIZE t writes files anew that have deleted rows or former columns"

HINTS: Final[Mapping[tuple[str, ...], str]] = {
    ("CONVERT", "TO"): IMPORT,
    ("GENERATE",): PUBLISH,
    ("REORG",): REWRITE,
    ("FSCK",): "`lakeledger table verify NAME` compares a table with its files",
    ("SAVEPOINT",): "A transaction of the ledger has no savepoints: COMMIT, and BEGIN anew",
}
OF_ALTER: Final[Mapping[tuple[str, ...], str]] = {
    ("WRITE", "ORDERED"): SORTED,
    ("WRITE", "UNORDERED"): UNSORTED,
    ("WRITE", "DISTRIBUTED"): "Rows of one partition go to one task of Spark as it is",
    ("WRITE", "LOCALLY"): SORTED,
    ("IDENTIFIER", "FIELDS"): "A table of the ledger has no identifier fields: name keys in MERGE",
    ("BRANCH",): NAMED,
    ("TAG",): NAMED,
    ("FEATURE",): "Features of Delta belong to the published log: see the property in its page",
}
VERSIONS: Final = "An earlier version is t VERSION AS OF n, or t TIMESTAMP AS OF '...'"
CLONE: Final = "CREATE TABLE ... AS SELECT * FROM t VERSION AS OF n copies a table of the ledger"


def hint(attached: Iterable[str], asked: Mapping[str, Any]) -> str | None:
    """Answer what helps for a statement that Spark's parser refused, None if nothing is known."""
    place = place_of(asked, attached)
    if not place.attached:
        return None
    tokens = Tokens(asked["text"], asked["tokens"])
    for words, help_ in HINTS.items():
        if tokens.takes(*words):
            return help_
    if tokens.takes("ALTER", "TABLE"):
        return found_in(tokens, place, OF_ALTER)
    if tokens.takes("CREATE", "TABLE") or tokens.takes("CREATE", "OR", "REPLACE", "TABLE"):
        tokens.takes("IF", "NOT", "EXISTS")
        return found_in(tokens, place, {("CLONE",): CLONE})
    form = form_of(tokens)
    if form is None:
        return VERSIONS if any(token["text"] == "@" for token in asked["tokens"]) else None
    return f"For a ledger the statement is {form.whole}, its table with the name of its catalog"


def found_in(
    tokens: Tokens, place: SessionPlace, hints: Mapping[tuple[str, ...], str]
) -> str | None:
    """Return the hint for words somewhere behind the name of a table of a ledger."""
    try:
        if place.table(tokens.name()) is None:
            return None
    except FormError:
        return None
    while not tokens.is_at_end():
        for words, help_ in hints.items():
            if tokens.takes(*words):
                return help_
        tokens.skip()
    return None
