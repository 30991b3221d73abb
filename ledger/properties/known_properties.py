"""Properties of tables that are set: a misspelt one would do nothing, without a word.

Keys that begin with `lakeledger.` are the ledger's own, so an unknown one is a mistake. Keys of
Delta are obeyed, kept or refused, see `ledger.properties.promises`. All other keys are notes of
users.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from ledger.core.commands import Property, TableDefinition
from ledger.core.conflicts.metadata_diff import ROW_TRACKING, properties
from ledger.core.state.traits import ENFORCE_PROPERTY
from ledger.properties.column_lists import KEY, LISTS, SKIPPED, check_lists
from ledger.properties.column_mapping import PUBLISH
from ledger.properties.promises import check_promises, is_switch
from ledger.properties.upkeep import FLUSHES, MAINTAIN, UPKEEP, reason_against_upkeep

OWN: Final = "lakeledger."
APPEND_ONLY: Final = "delta.appendonly"
ROWS: Final = "lakeledger.rows"
MARKS: Final = "marks"
UNIQUE: Final = "lakeledger.unique"
INLINE: Final = "lakeledger.inline"
"""How many bytes of a commit's rows may lie in the log in place of a file: on, off or a number."""

ENCRYPTED: Final = "lakeledger.inline.encrypted"
"""Whether rows in the log are encrypted, and the log says no values of the table: true or false."""

ICEBERG_FORMAT: Final = "iceberg.format-version"
ROW_DELETES: Final = frozenset({(ROWS, MARKS), ("delta.enabledeletionvectors", "true")})
"""The properties by which files keep deleted rows, in lower case."""

SETTABLE: Final = (
    PUBLISH,
    "lakeledger.publish.folder",
    ENFORCE_PROPERTY,
    *LISTS,
    ROWS,
    UNIQUE,
    INLINE,
    ENCRYPTED,
    *UPKEEP,
)
"""What users set."""

NOTED: Final = ("lakeledger.publish.adopted", "lakeledger.packed")
"""What the ledger notes itself, besides all that it notes of a Delta table."""

NOTED_OF_DELTA: Final = "lakeledger.delta."
VIEW: Final = "lakeledger.view."
"""How the keys begin under which a view keeps its query."""

PUBLICATIONS: Final = ("delta", "none")
ROW_CHANGES: Final = (MARKS, "rewrite")
INLINE_BYTES: Final = 64 << 10
INLINE_BYTES_MAX: Final = 256 << 10
INLINE_WORDS: Final = {"on": INLINE_BYTES, "off": 0}
NEAR: Final = 0.8
MAX_DIGITS: Final = 9

NEEDS_LIST: Final = {ROWS: MARKS, UNIQUE: "true", MAINTAIN: "on"}
"""Values that do nothing in a table whose files the ledger does not list."""

KNOWN: Final = frozenset(each.lower() for each in (*SETTABLE, *NOTED))

CONSTRAINT: Final = "delta.constraints."
"""How the keys of constraints begin, in any case of letters."""


def check_properties(name: str, before: TableDefinition | None, after: TableDefinition) -> None:
    """Raise ValueError for a property that a table is given and that has no effect or no meaning.

    `name` is the table's. Properties that it had before may be kept.
    """
    for key, value in set_anew(before, after):
        if after.kind == "view" and key.startswith(VIEW):
            continue
        if reason := reason_against(key, value):
            raise ValueError(f"table {name} cannot have what it is given: {reason}")
    check_lists(name, after)
    known = {key.lower(): value for key, value in after.properties}
    if known.get(UNIQUE, "").lower() == "true" and KEY not in known:
        raise ValueError(
            f"table {name} cannot have what it is given: its property {UNIQUE} needs a key, name "
            f"its columns in {KEY}"
        )
    given = dict(set_anew(before, after))
    if reason := (
        problem_of_format(after) or problem_of_inline(after) or problem_of_rows(after, given)
    ):
        raise ValueError(f"table {name} cannot have what it is given: {reason}")
    check_promises(name, before, after)


def problem_of_format(definition: TableDefinition) -> str:
    """Return why a table cannot have the version of Iceberg's format that it names, "" if it can.

    Format 1 has no deleted rows within files.
    """
    asks = [
        each.key
        for each in definition.properties
        if (each.key.lower(), each.value.lower()) in ROW_DELETES
    ]
    if not asks or properties(definition).get(ICEBERG_FORMAT) != "1":
        return ""
    return (
        f"its property {asks[0]} asks for deleted rows within files, which format 1 of Iceberg "
        f"does not have: unset it, or set {ICEBERG_FORMAT} to 2"
    )


def problem_of_inline(definition: TableDefinition) -> str:
    """Return why a table cannot have rows in the log as it asks for, "" if it can."""
    is_encrypted = asks_for_encryption(definition)
    if not inline_bytes(definition):
        return f"its property {ENCRYPTED} needs {INLINE}: set {INLINE} to on" * is_encrypted
    if is_encrypted and definition.partition_columns:
        return (
            f"its property {ENCRYPTED} keeps values out of the log, and the log has the values of "
            f"the partition columns {', '.join(definition.partition_columns)}: leave them out"
        )
    if definition.kind != "managed" or definition.layout == "directories":
        return (
            f"its property {INLINE} needs a table whose files the ledger lists: unset it, or give "
            "the table the layout files"
        )
    is_skipping = any(each.key.lower() == SKIPPED.lower() for each in definition.properties)
    if is_skipping and not is_encrypted:
        return (
            f"its property {INLINE} puts values into the log, and {SKIPPED} keeps values of "
            "columns out of it: unset one of them"
        )
    return ""


def problem_of_rows(definition: TableDefinition, given: Mapping[str, str]) -> str:
    """Return why a property that a table is given would do nothing there, "" if none is such.

    The ledger changes, compares and flushes rows of files that it lists, and of the log.
    """
    is_listed = definition.kind == "managed" and definition.layout != "directories"
    for key, value in given.items():
        small = key.lower()
        if not is_listed and (small in FLUSHES or NEEDS_LIST.get(small) == value.lower()):
            return (
                f"its property {key} needs a table whose files the ledger lists: unset it, or give "
                "the table the layout files"
            )
        if small in FLUSHES and not inline_bytes(definition):
            return f"its property {key} needs {INLINE}, whose rows it is about: set {INLINE} to on"
    return ""


def set_anew(before: TableDefinition | None, after: TableDefinition) -> Iterator[Property]:
    """Yield the properties that the table had not, or had with another value."""
    known = properties(before) if before is not None else {}
    return (each for each in after.properties if known.get(each.key) != each.value)


def reason_against(key: str, value: str) -> str:
    """Return why a table cannot be given a property, "" if it can."""
    small = key.lower()
    if small in (APPEND_ONLY, UNIQUE, ENCRYPTED) and not is_switch(value):
        return f"its property {key} must be true or false, got {value!r}"
    if small == PUBLISH and value.lower() not in PUBLICATIONS:
        return f"its property {key} must be {' or '.join(PUBLICATIONS)}, got {value!r}"
    if small == ROWS and value.lower() not in ROW_CHANGES:
        return f"its property {key} must be {' or '.join(ROW_CHANGES)}, got {value!r}"
    if small == INLINE and inline_in(value) is None:
        return (
            f"its property {key} must be on, off or a number of bytes from 1 to "
            f"{INLINE_BYTES_MAX}, got {value!r}"
        )
    reason = reason_against_upkeep(key, value)
    is_known = small in KNOWN or small.startswith(NOTED_OF_DELTA)
    if reason or is_known or not small.startswith(OWN):
        return reason
    names = [each.lower().removeprefix(OWN) for each in SETTABLE]
    near = get_close_matches(small.removeprefix(OWN), names, n=1, cutoff=NEAR)
    meant = f", did you mean {OWN}{near[0]}?" if near else ": give it a name of your own"
    return f"a property of {OWN} must be one of {', '.join(SETTABLE)}, got {key}{meant}"


def asks_for_marks(definition: TableDefinition) -> bool:
    """Return whether rows are the grain; a new vector would give tracked rows other ids."""
    if not definition.properties:
        return False
    known = {each.key.lower(): each.value.lower() for each in definition.properties}
    return known.get(ROWS) == MARKS and known.get(ROW_TRACKING.lower()) != "true"


def inline_in(value: str) -> int | None:
    """Return the bytes that a value of `lakeledger.inline` allows, None for another value."""
    known = INLINE_WORDS.get(value.strip().lower())
    if known is not None or not value.strip().isdecimal() or len(value) > MAX_DIGITS:
        return known
    number = int(value)
    return number if 0 < number <= INLINE_BYTES_MAX else None


def inline_bytes(definition: TableDefinition) -> int:
    """Return how many bytes of a commit's rows may lie in the log, 0 for none."""
    if not definition.properties:
        return 0
    known = {each.key.lower(): each.value for each in definition.properties}
    return inline_in(known.get(INLINE, "off")) or 0


def asks_for_encryption(definition: TableDefinition) -> bool:
    """Return whether rows of a table are encrypted in the log, which says no values of them."""
    if not definition.properties:
        return False
    known = {each.key.lower(): each.value.lower() for each in definition.properties}
    return known.get(ENCRYPTED) == "true"


def asks_for_unique(definition: TableDefinition) -> bool:
    """Return whether a table asks for one row for each key."""
    if not definition.properties:
        return False
    known = {each.key.lower(): each.value.lower() for each in definition.properties}
    return known.get(UNIQUE) == "true" and KEY in known


def constraints_of(definition: TableDefinition | None) -> Mapping[str, str]:
    """Return the conditions of a definition's constraints by their names, in small letters."""
    known = definition.properties if definition is not None else ()
    return {
        each.key[len(CONSTRAINT) :].lower(): each.value
        for each in known
        if each.key.lower().startswith(CONSTRAINT)
    }


def adds_constraints(before: TableDefinition | None, after: TableDefinition) -> bool:
    """Return whether a definition has constraints that the former one lacks."""
    return bool(constraints_of(after).items() - constraints_of(before).items())
