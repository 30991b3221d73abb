"""Declarations of columns: a Spark SQL type, and what may follow it in CREATE TABLE.

A declaration is `INT`, `INT NOT NULL`, `INT DEFAULT 5`, `INT NOT NULL DEFAULT 5`,
`DATE GENERATED ALWAYS AS (CAST(at AS DATE))`, or `BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 1
INCREMENT BY 1)`. Each may end with `COMMENT 'words'`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ledger.properties.column_values import COMMENT, DEFAULT, GENERATED, Numbering

CLAUSE: Final = re.compile(
    r"\b(?:NOT\s+NULL|DEFAULT|GENERATED|COMMENT|PRIMARY|CHECK)\b", re.IGNORECASE
)
NOT_NULL: Final = re.compile(r"NOT\s+NULL\s*", re.IGNORECASE)
DEFAULT_CLAUSE: Final = re.compile(r"DEFAULT\s+(\S.*)", re.IGNORECASE | re.DOTALL)

GENERATED_CLAUSE: Final = re.compile(
    r"GENERATED\s+ALWAYS\s+AS\s*\((.*\S.*)\)", re.IGNORECASE | re.DOTALL
)

IDENTITY_CLAUSE: Final = re.compile(
    r"GENERATED\s+(?P<form>ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY\s*(?:\((?P<options>[^()]*)\))?",
    re.IGNORECASE,
)
IDENTITY_OPTION: Final = re.compile(
    r"\s*(?P<word>START\s+WITH|INCREMENT\s+BY)\s+(?P<number>-?[0-9]{1,19})\s*", re.IGNORECASE
)


COMMENT_CLAUSE: Final = re.compile(
    r"(?:^|\s)COMMENT\s+'(?P<words>(?:[^']|'')*)'\s*$", re.IGNORECASE
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
            words = COMMENT_CLAUSE.search(rest)
            if words is None:
                return Declaration(kind, nulls is None, values_of(column, rest) if rest else {})
            said = {COMMENT: words["words"].replace("''", "'")}
            rest = rest[: words.start()].strip()
            return Declaration(
                kind, nulls is None, {**(values_of(column, rest) if rest else {}), **said}
            )
    return Declaration(text)


def values_of(column: str, clause: str) -> Mapping[str, Any]:
    """Return the entries of metadata that a clause asks for; raises ValueError for another one."""
    if found := DEFAULT_CLAUSE.fullmatch(clause):
        sql = found[1].strip()
        return {DEFAULT: None if sql.upper() == "NULL" else sql}
    if found := GENERATED_CLAUSE.fullmatch(clause):
        return {GENERATED: found[1].strip()}
    if found := IDENTITY_CLAUSE.fullmatch(clause):
        return identity_in(column, found).entries()
    raise ValueError(
        f"column {column!r} must be declared by a type, NOT NULL, and DEFAULT <value>, GENERATED "
        "ALWAYS AS (<expression>) or GENERATED ALWAYS AS IDENTITY, with COMMENT '<words>' at the "
        f"end, as in 'int NOT NULL DEFAULT 5', got {clause!r}"
    )


def identity_in(column: str, clause: re.Match[str]) -> Numbering:
    """Return the numbers that a clause asks for; raises ValueError for an unknown option."""
    options, known = clause["options"] or "", {"start": 1, "increment": 1}
    while options.strip(" \t\n,"):
        found = IDENTITY_OPTION.match(options)
        if found is None:
            raise ValueError(
                f"column {column!r} must be an identity column by START WITH <number> and "
                f"INCREMENT BY <number>, got {options.strip()!r}"
            )
        known[found["word"].split()[0].lower()] = int(found["number"])
        options = options[found.end() :].removeprefix(",")
    is_explicit = clause["form"].lower() != "always"
    return Numbering(known["start"], known["increment"], is_explicit=is_explicit)
