"""Requirements: what a client's commit takes for granted of a table.

Clients look for the words `Requirement failed:`. A requirement that is not known is refused, since
a commit without it would be another one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from projections.iceberg.commits.given_json import (
    Given,
    number_in,
    number_or_none,
    object_of,
    shown,
    text_in,
)
from projections.iceberg.errors import bad_request, commit_failed, no_table

MAIN: Final = "main"
"""The one branch of a table."""

CREATE: Final = "assert-create"
UUID: Final = "assert-table-uuid"
REF: Final = "assert-ref-snapshot-id"


class Compared(NamedTuple):
    """A number of the metadata that a requirement compares, and what it is in a message."""

    member: str
    metadata: str
    what: str


NUMBERS: Final[Mapping[str, Compared]] = {
    "assert-last-assigned-field-id": Compared(
        "last-assigned-field-id", "last-column-id", "last assigned field id"
    ),
    "assert-current-schema-id": Compared(
        "current-schema-id", "current-schema-id", "current schema"
    ),
    "assert-last-assigned-partition-id": Compared(
        "last-assigned-partition-id", "last-partition-id", "last assigned partition id"
    ),
    "assert-default-spec-id": Compared(
        "default-spec-id", "default-spec-id", "default partition spec"
    ),
    "assert-default-sort-order-id": Compared(
        "default-sort-order-id", "default-sort-order-id", "default sort order"
    ),
}


class Requirement(NamedTuple):
    """One requirement: `value` is the id or the text that it names, None for none."""

    kind: str
    value: int | str | None = None
    ref: str = ""


def requirement_of(given: Any) -> Requirement:
    """Return a requirement of a request; raises IcebergRefusal for one that is not known."""
    asked = object_of("a requirement", given)
    kind = text_in(asked, "type", "a requirement")
    if kind == CREATE:
        return Requirement(kind)
    if kind == UUID:
        return Requirement(kind, text_in(asked, "uuid", kind).lower())
    if kind == REF:
        value = number_or_none(asked, "snapshot-id", kind)
        return Requirement(kind, value, text_in(asked, "ref", kind))
    if kind not in NUMBERS:
        raise bad_request(
            f"a requirement must be one of {', '.join((CREATE, UUID, REF, *NUMBERS))}, got "
            f"{shown(kind)}"
        )
    return Requirement(kind, number_in(asked, NUMBERS[kind].member, kind))


def asks_to_create(requirements: Iterable[Requirement]) -> bool:
    """Return whether the commit creates its table."""
    return any(each.kind == CREATE for each in requirements)


def asserted_base(requirements: Iterable[Requirement]) -> Requirement | None:
    """Return the requirement that names the snapshot on which a commit builds, None without one."""
    return next((each for each in requirements if each.kind == REF and each.ref == MAIN), None)


def check_requirements(
    name: str, requirements: Sequence[Requirement], metadata: Given | None, *, has_snapshots: bool
) -> None:
    """Raise IcebergRefusal for a requirement that a table does not fulfil.

    `metadata` is None for a table that is not there. The snapshot of the main branch is compared
    only for a commit without snapshots: the ledger judges the others by what they read.
    """
    if asks_to_create(requirements):
        if metadata is not None:
            raise failed(f"table already exists: {name}")
        return
    if metadata is None:
        raise no_table(name)
    for each in requirements:
        if each.kind == UUID and each.value != str(metadata["table-uuid"]).lower():
            raise failed(
                f"UUID does not match: expected {metadata['table-uuid']} != {each.value}: the "
                f"table {name} is another one than the client has loaded"
            )
        if each.kind == REF:
            check_ref(each, metadata.get("current-snapshot-id"), is_compared=not has_snapshots)
        if each.kind in NUMBERS:
            _, key, what = NUMBERS[each.kind]
            if each.value != metadata[key]:
                raise failed(f"{what} changed: expected id {each.value} != {metadata[key]}")


def check_ref(asked: Requirement, current: int | None, *, is_compared: bool) -> None:
    """Raise IcebergRefusal if a branch is not where a requirement says."""
    if asked.ref != MAIN:
        if asked.value is not None:
            raise failed(f"branch or tag {asked.ref} is missing, expected {asked.value}")
        return
    if is_compared and asked.value != current:
        raise failed(f"branch {MAIN} has changed: expected id {asked.value} != {current}")


def failed(why: str) -> Exception:
    """Return the refusal of a requirement; the client loads the table again, and may retry."""
    return commit_failed(f"Requirement failed: {why}")
