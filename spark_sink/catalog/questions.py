"""The protocol between Spark's side of the catalog and Python's.

A question is a word and a JSON object; the answer is {"answer": ...} or {"error": kind, "message":
text}. Every question has `catalog`, `txn` (the key of the statement's txn, "" = none), `session`
and, within `transaction`, `snapshot` or BEGIN, `joined` (the key of that txn). Questions come from
several threads at once.

| Word | Asks | Answer |
| --- | --- | --- |
| namespaces | `name` of the schema around them | names |
| namespace_exists, create_namespace, drop_namespace | `name`, `properties`, `cascade` | truth |
| namespace, alter_namespace | `name`, `properties`, `unset` | its properties |
| tables, views | `name` of a schema | the names of its tables, of its views |
| table | `table`, or also `version` or `micros` | a table, or rows |
| exists | `table` | truth |
| create_view, replace_view | `table`, `columns`, `properties`, `view` | a view |
| create | `table`, `columns`, `partition`, `properties`, `constraints` | a table |
| alter | `table`, `columns`, `changes`, `position`, `zone` | a table |
| can_widen | `before`, `after`, types as SQL | truth |
| drop, rename | `table`, `to`, `view` | truth |
| partitions | `id`, `position` | lists of values |
| begin | | the key of a new txn, or of the joined one |
| commit, abort, close | | nothing; a joined txn continues |
| files | `id`, `position`, `where`, `zone`, `by_row`, `as_few` | files, see below |
| changed | `id`, `position`, `options` | files with `unit_of` and `removed_of` |
| stream_begin | `id`, `position`, `changes`, `options` | an offset |
| stream_newest | the same | a version |
| stream_latest | the same, `start`, `until` | an offset |
| stream_batch | the same, `start`, `end` | files, or those of changes |
| can_delete, can_overwrite | `id`, `position`, `where` | truth |
| delete | `id`, `position`, `where` | nothing |
| check_options | `use`, `options` | nothing |
| stage | `id`, `position`, `mode`, `execution`, `options`, `zone`, `streamed` | see below |
| numbers | `write`, `column` (its id), `count` | `first`, `step` |
| wrote, unstage | the same, `write`, `files`, `removed` | nothing |
| procedures, procedure, call | `name`, `values` | names, parameters, rows |
| statement | `text`, `tokens`, `current`, `space`, `catalogs` | a call, or null |
| hint | the same | a text, or null |
| functions | the same | the statement with queries for functions |
| named | `parts`, `current`, `space`, `catalogs` | the catalog and the table |

A column is {name, type, nullable, metadata}; its type is SQL, its metadata the text of JSON.

A table is {name, id, position, seen, pinned, columns, partition, divided, constraints, properties,
order, computed_partition}: `partition` are the columns whose values no data file has. `divided` is
all that divides its files, each {name, column, kind, width} with the kind of a transform or "". In
the question for a new table `partition` is all that, a transform as {function, said, columns,
widths}. `order` is the order of rows for a writer, and `computed_partition` says that a writer
computes their partition. `position` is where it is read, equal texts in `seen` mean equal rows,
`pinned` says that no later version is meant. A constraint is {name, condition}; a new one has a
`type` too, such as Check.
A question for a new table also has `replaces`, the options of a write whose table takes the place
of the one that is there, and `path`, that of a write which makes it.
A view is {name, columns, properties, view}, where `view` is {text, catalog, namespace, configs,
mode, names}.
Rows are {name, columns, rows}; each value is a text that is cast to its column, or null.

Files are {paths, sizes, values, value_of, groups, group_of}. `values` lists the partitions,
`value_of` has for each file its place there. `groups` lists the names that the data columns of the
table have in files, null for a column that files of the group lack; `group_of` is as `value_of`.
`deleted` has by the places of files the numbers of their deleted rows, as a roaring bitmap in base
64, and `marked` says for each group whether its files have such rows. `blocks` has rows in the log
by the places of files, as Parquet in base 64. With `as_few` many blocks come as one file, under the
path of the first of them.

The changes of a table are a table with `constants`: columns whose values follow those of the
partition columns in `values`. `unit_of` has for each file the rewrite that it is a part of, -1 for
a file whose rows are all changed; `removed_of` says on which side of the rewrite it is. The
names of `options` are in small letters, and their times in microseconds.

A statement is what Spark's parser is asked for, before the parser sees it: see `sql.words`. A call
is {catalog, procedure, arguments}. A null leaves the statement to the parser of Spark. A hint is
asked for what that parser refused. These questions are of no catalog. `txn` of a procedure says
that a call begins the txn of the session, ends it, or runs its script in one; `key` of the rows
names the new txn.

A value that its column cannot hold fails the reads of its files. A table with an answer for its
files as `files` needs no catalog: nothing is asked about it.

`where` is a list of conditions that all hold, each a tree in the wire form; of files it is meant in
the time zone `zone`. `stage` says where files go: `folder` is the table's location, `below` a
folder within each partition, `writer` begins their names, and `stored` has for each column its name
and id in files, and whether it may be NULL. `computed` has the expression or the id of each column
that is computed, `divided` is as that of a table, and `filtered` has the names in files of columns
with Bloom filters. `wrote` ends the write: `files` are paths below the location, `results` has for
each of them the results of the transforms that divide the table, in their order, `removed` are
those that the rows were read from, `constraints` what Spark has checked.

A write of a stream is `streamed`, and its `wrote` has `stream` too: {query, name, batch,
checkpoint, application, from_batch, sources}. A source is {source, end, latest}, with offsets as
Spark writes them.

A kind of error is a condition of Spark, such as LEDGER_CONFLICT.CONCURRENT_APPEND, or NoSuchTable,
NoSuchNamespace or TableExists with the name as the message.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Final

from ledger.client import Ledger
from ledger.errors import (
    ConflictError,
    LedgerError,
    OutcomeUnknownError,
    TableExistsError,
    UnknownTableError,
)
from spark_sink.catalog import alter, names, options, procedures, tables, views
from spark_sink.catalog.read import changes, files, stream_source
from spark_sink.catalog.session import statement_txns
from spark_sink.catalog.session.open_statements import CatalogState, Question, Refusal
from spark_sink.catalog.sql import functions, hints, table_names, words
from spark_sink.catalog.write import writing

Answer = Callable[[CatalogState, Question], Any]

ANSWERS: Final[Mapping[str, Answer]] = {
    "namespaces": names.spaces,
    "namespace_exists": names.exists,
    "create_namespace": names.create,
    "namespace": names.properties,
    "alter_namespace": names.alter,
    "drop_namespace": names.drop,
    "tables": names.tables,
    "views": names.views,
    "create_view": views.create,
    "replace_view": views.replace,
    "table": tables.table,
    "exists": tables.exists,
    "create": tables.create,
    "drop": tables.drop,
    "rename": tables.rename,
    "alter": alter.alter,
    "can_widen": alter.can_widen,
    "begin": statement_txns.begin,
    "commit": statement_txns.commit,
    "abort": statement_txns.abort,
    "close": statement_txns.close,
    "files": files.files,
    "partitions": files.partitions,
    "check_options": options.check_read,
    "changed": changes.changed_files,
    "stream_begin": stream_source.begin,
    "stream_newest": stream_source.newest,
    "stream_latest": stream_source.latest,
    "stream_batch": stream_source.batch,
    "stage": writing.stage,
    "numbers": writing.numbers,
    "wrote": writing.wrote,
    "unstage": writing.unstage,
    "can_delete": writing.can_delete,
    "can_overwrite": writing.can_overwrite,
    "delete": writing.delete_files,
    "procedures": procedures.names,
    "procedure": procedures.describe,
    "call": procedures.call,
}

# Questions of no catalog: they get the names of those that are attached.
OF_NO_CATALOG: Final[Mapping[str, Callable[[Sequence[str], Question], Any]]] = {
    "statement": words.statement,
    "hint": hints.hint,
    "named": table_names.named,
    "functions": functions.without_functions,
}

WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Catalogs:
    """The catalogs of this process, by their names in Spark; the JVM calls `apply`."""

    class Java:
        """The Java interface of this object, for Py4J."""

        implements: Final = ["java.util.function.BiFunction"]

    def __init__(self) -> None:
        self._states: dict[str, CatalogState] = {}
        self._turn = Lock()

    def attach(self, name: str, ledger: Ledger) -> CatalogState:
        """Answer for a catalog from a ledger from now on; its open txns end with their session."""
        with self._turn:
            known = self._states.get(name)
            if known is None or known.ledger is not ledger:
                known = self._states[name] = CatalogState(name, ledger)
            return known

    def find(self, name: str) -> CatalogState | None:
        """Return the state of a catalog, None for a name that was not attached."""
        return self._states.get(name)

    def state(self, name: str) -> CatalogState:
        """Return the state of a catalog; raises Refusal for a name that was not attached."""
        found = self._states.get(name)
        if found is None:
            raise Refusal(
                "LEDGER_NOT_ATTACHED",
                f"no ledger is attached as catalog {name}: call spark_sink.attach(spark, "
                f"name={name!r}) first",
            )
        return found

    def apply(self, word: str, text: str) -> str:
        """Answer a question; whatever fails becomes the error of the statement."""
        try:
            asked = json.loads(text)
            if word in OF_NO_CATALOG:
                return json.dumps({"answer": OF_NO_CATALOG[word](list(self._states), asked)})
            state = self.state(asked["catalog"])
            return json.dumps({"answer": answered(state, word, asked)})
        except Exception as error:  # noqa: BLE001 - an error must not end in Py4J
            return json.dumps(as_answer(error))


CATALOGS: Final = Catalogs()


def answered(state: CatalogState, word: str, asked: Question) -> Any:
    """Answer a question; an error of the ledger is kept for the txn that it came from."""
    try:
        return ANSWERS[word](state, asked)
    except LedgerError as error:
        txn = state.of_key(state.joined(asked) or str(asked.get("txn") or ""))
        if txn is not None:
            txn.error = error
        raise


def as_answer(error: Exception) -> Mapping[str, str]:  # noqa: PLR0911 - a case for each
    """Return an error as the answer to a question."""
    match error:
        case Refusal():
            return {"error": error.kind, "message": str(error)}
        case ConflictError():
            return {"error": f"LEDGER_CONFLICT.{condition(error)}", "message": error_text(error)}
        case TableExistsError():
            return {"error": "LEDGER_TABLE_EXISTS", "message": error_text(error)}
        case UnknownTableError():
            return {"error": "LEDGER_UNKNOWN_TABLE", "message": error_text(error)}
        case OutcomeUnknownError() | LedgerError():
            return {"error": f"LEDGER_{condition(error)}", "message": error_text(error)}
        case ValueError():
            return {"error": "LEDGER_UNSUPPORTED", "message": str(error)}
    return {"error": "LEDGER_INTERNAL", "message": f"{type(error).__name__}: {error}"}


def condition(error: Exception) -> str:
    """Return the name of an error in Spark's spelling, such as CONCURRENT_APPEND."""
    name = type(error).__name__
    return WORDS.sub("_", name.removesuffix("Exception").removesuffix("Error")).upper()


def error_text(error: LedgerError) -> str:
    """Return the text of an error; a conflict is explained."""
    explanation = getattr(error, "explanation", None)
    return f"{error}\n{explanation}" if explanation is not None else str(error)
