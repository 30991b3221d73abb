"""Procedures: `CALL ledger.system.history('db.sales')`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.reads.port import TableRow
from ledger.sdk.reading import known_row
from spark_sink.catalog import metadata_tables as about
from spark_sink.catalog.state import CatalogState, Question, unsupported

SYSTEM: Final = "system"
Arguments = Mapping[str, str | None]


class Procedure(NamedTuple):
    """A procedure: its parameters as (name, type, whether NULL is taken), and what it does."""

    description: str
    parameters: Sequence[tuple[str, str, bool]]
    columns: about.Columns
    run: Callable[[CatalogState, Arguments], about.Rows]


def row_of(state: CatalogState, given: Arguments) -> TableRow:
    """Return the table that a call names."""
    return known_row(state.ledger.reads(), state.ledger.table(str(given["table"])).table)


def history(state: CatalogState, given: Arguments) -> about.Rows:
    """Return the versions of a table, newest first."""
    return about.history(state.ledger.reads(), row_of(state, given))


PROCEDURES: Final[Mapping[str, Procedure]] = {
    "history": Procedure(
        "The versions of a table, newest first",
        [("table", "string", False)],
        about.HISTORY,
        history,
    ),
}


def names(*_: Any) -> Sequence[str]:
    """Answer which procedures there are."""
    return sorted(PROCEDURES)


def find(asked: Question) -> tuple[str, Procedure]:
    """Return the procedure of a question; raises Refusal for an unknown one."""
    name = str(asked["name"]).lower().removeprefix(f"{SYSTEM}.")
    found = PROCEDURES.get(name)
    if found is None:
        raise unsupported(
            f"there is no procedure {asked['name']}: the procedures are "
            f"{', '.join(f'{SYSTEM}.{each}' for each in sorted(PROCEDURES))}"
        )
    return name, found


def describe(_: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Answer what a procedure takes."""
    name, found = find(asked)
    return {
        "name": name,
        "description": found.description,
        "parameters": [
            {"name": each, "type": kind, "nullable": is_optional}
            for each, kind, is_optional in found.parameters
        ],
    }


def call(state: CatalogState, asked: Question) -> Mapping[str, Any]:
    """Run a procedure and answer its rows."""
    name, found = find(asked)
    given = dict(zip((each[0] for each in found.parameters), asked["values"], strict=True))
    return about.answer(name, found.columns, found.run(state, given))


ANSWERS: Final[Mapping[str, Any]] = {"procedures": names, "procedure": describe, "call": call}
