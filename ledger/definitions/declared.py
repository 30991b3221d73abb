"""Declarations of columns: a Spark SQL type, and what may follow it in CREATE TABLE.

A declaration is `INT`, `INT NOT NULL`, `INT DEFAULT 5`, `INT NOT NULL DEFAULT 5`, or
`DATE GENERATED ALWAYS AS (CAST(at AS DATE))`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ledger.properties.column_values import DEFAULT, GENERATED

CLAUSE: Final = re.compile(
    r"\b(?:NOT\s+NULL|DEFAULT|GENERATED|COMMENT|PRIMARY|CHECK)\b", re.IGNORECASE
)
NOT_NULL: Final = re.compile(r"NOT\s+NULL\s*", re.IGNORECASE)
DEFAULT_CLAUSE: Final = re.compile(r"DEFAULT\s+(\S.*)", re.IGNORECASE | re.DOTALL)

GENERATED_CLAUSE: Final = re.compile(
    r"GENERATED\s+ALWAYS\s+AS\s*\((.*\S.*)\)", re.IGNORECASE | re.DOTALL
)


class Declaration(NamedTuple):
    """A declared column: its type, whether it may be NULL, and entries of its metadata.

    An entry that is None takes the one away that the column had.
    """

    type: str
    nullable: bool = True
    values: Mapping[str, Any] = {}


def declaration_of(column: str, text: str) -> Declaration:
    """Return what a declaration says; raises ValueError for a clause that is not obeyed."""
    for found in CLAUSE.finditer(text):
        before = text[: found.start()]
        # Within brackets and quotes a word is of the type, such as the name of a field.
        if before.count("<") == before.count(">") and before.count("`") % 2 == 0:
            kind, clauses = before.strip(), text[found.start() :].strip()
            nulls = NOT_NULL.match(clauses)
            rest = clauses[nulls.end() :] if nulls else clauses
            return Declaration(kind, nulls is None, values_of(column, rest) if rest else {})
    return Declaration(text)


def values_of(column: str, clause: str) -> Mapping[str, Any]:
    """Return the entries of metadata that a clause asks for; raises ValueError for another one."""
    if found := DEFAULT_CLAUSE.fullmatch(clause):
        sql = found[1].strip()
        return {DEFAULT: None if sql.upper() == "NULL" else sql}
    if found := GENERATED_CLAUSE.fullmatch(clause):
        return {GENERATED: found[1].strip()}
    raise ValueError(
        f"column {column!r} must be declared by a type, NOT NULL, and DEFAULT <value> or GENERATED "
        f"ALWAYS AS (<expression>), as in 'int NOT NULL DEFAULT 5', got {clause!r}"
    )
