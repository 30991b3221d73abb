"""Updates: what a client's commit asks of one table, before it becomes part of a txn.

An update that the ledger does not obey is refused by its name. So is one that asks for something
that would be lost, such as a second branch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from projections.iceberg.commits.given_json import (
    Given,
    names_in,
    number_in,
    number_or_none,
    object_in,
    object_of,
    shown,
    text_in,
    texts_in,
)
from projections.iceberg.commits.requirements import MAIN
from projections.iceberg.errors import bad_request

LAST: Final = -1
"""The id of the schema, spec or order that the same commit has added last."""

OPERATIONS: Final = ("append", "overwrite", "delete", "replace")
NAMES_MAX: Final = 10_000
SNAPSHOTS_MAX: Final = 1_000


class AskedSnapshot(NamedTuple):
    """A snapshot that a client has made: `parent` is the one before it, None for the first.

    `schema` is the id of the schema of its rows, None if the client does not say it.
    """

    id: int
    parent: int | None
    manifest_list: str
    operation: str
    summary: Mapping[str, str]
    schema: int | None = None


@dataclass(slots=True)
class AskedChanges:
    """All updates of one table; None = not asked.

    Attributes:
        uuid: the uuid of a new table.
        format_version: the version of Iceberg's format.
        location: the folder of the table.
        properties: properties to set.
        unset: properties to remove.
        schemas: new schemas.
        current_schema: the id of the schema to use.
        specs: new partition specs.
        default_spec: the id of the spec to use.
        orders: new sort orders.
        default_order: the id of the order to use.
        snapshots: new snapshots, by id.
        head: the id of the snapshot that the main branch shows.
        is_replaced: whether the rows of before are gone, as in CREATE OR REPLACE.
    """

    uuid: str | None = None
    format_version: int | None = None
    location: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    unset: dict[str, None] = field(default_factory=dict)
    schemas: list[Given] = field(default_factory=list)
    current_schema: int | None = None
    specs: list[Given] = field(default_factory=list)
    default_spec: int | None = None
    orders: list[Given] = field(default_factory=list)
    default_order: int | None = None
    snapshots: dict[int, AskedSnapshot] = field(default_factory=dict)
    head: int | None = None
    is_replaced: bool = False

    def chain(self) -> Sequence[AskedSnapshot]:
        """Return the new snapshots from the first to the one that is shown.

        Raises IcebergRefusal for a new snapshot that the main branch does not lead to.
        """
        found: list[AskedSnapshot] = []
        at = self.head
        while at in self.snapshots and len(found) < len(self.snapshots):
            found.append(self.snapshots[at])
            at = found[-1].parent
        left = self.snapshots.keys() - {each.id for each in found}
        if left:
            raise bad_request(
                f"each new snapshot must be shown by the branch {MAIN}, or come before one that "
                f"is, got {min(left)} beside it: the ledger keeps no other branches, and no "
                "snapshots that wait for a later commit"
            )
        return found[::-1]


def set_properties(asked: AskedChanges, given: Given) -> None:
    """Take properties to set."""
    key = "updates" if "updates" in given else "updated"
    for name, value in texts_in(given, key, "set-properties").items():
        asked.unset.pop(name, None)
        asked.properties[name] = value


def remove_properties(asked: AskedChanges, given: Given) -> None:
    """Take properties to remove."""
    key = "removals" if "removals" in given else "removed"
    for name in names_in(given, key, "remove-properties", NAMES_MAX):
        asked.properties.pop(name, None)
        asked.unset[name] = None


def assign_uuid(asked: AskedChanges, given: Given) -> None:
    """Take the uuid of the table."""
    asked.uuid = text_in(given, "uuid", "assign-uuid").lower()


def upgrade(asked: AskedChanges, given: Given) -> None:
    """Take a version of the format."""
    asked.format_version = number_in(given, "format-version", "upgrade-format-version")


def set_location(asked: AskedChanges, given: Given) -> None:
    """Take a folder."""
    asked.location = text_in(given, "location", "set-location")


def add_schema(asked: AskedChanges, given: Given) -> None:
    """Take a schema."""
    asked.schemas.append(object_in(given, "schema", "add-schema"))


def set_schema(asked: AskedChanges, given: Given) -> None:
    """Take the schema to use."""
    asked.current_schema = number_in(given, "schema-id", "set-current-schema")


def add_spec(asked: AskedChanges, given: Given) -> None:
    """Take a partition spec."""
    asked.specs.append(object_in(given, "spec", "add-spec"))


def set_spec(asked: AskedChanges, given: Given) -> None:
    """Take the spec to use."""
    asked.default_spec = number_in(given, "spec-id", "set-default-spec")


def add_order(asked: AskedChanges, given: Given) -> None:
    """Take a sort order."""
    asked.orders.append(object_in(given, "sort-order", "add-sort-order"))


def set_order(asked: AskedChanges, given: Given) -> None:
    """Take the order to use."""
    asked.default_order = number_in(given, "sort-order-id", "set-default-sort-order")


def add_snapshot(asked: AskedChanges, given: Given) -> None:
    """Take a snapshot; raises IcebergRefusal for one of another form, and for too many."""
    made = snapshot_of(object_in(given, "snapshot", "add-snapshot"))
    if made.id in asked.snapshots:
        raise bad_request(f"each new snapshot must have an id of its own, got {made.id} twice")
    if len(asked.snapshots) >= SNAPSHOTS_MAX:
        raise bad_request(f"a commit must have {SNAPSHOTS_MAX} new snapshots at most")
    asked.snapshots[made.id] = made


def snapshot_of(given: Given) -> AskedSnapshot:
    """Return a new snapshot; raises IcebergRefusal for one of another form."""
    number = number_in(given, "snapshot-id", "a snapshot")
    if number < 1:
        raise bad_request(f"snapshot-id of a snapshot must be above 0, got {number}")
    if "manifest-list" not in given:
        raise bad_request(
            f"the snapshot {number} must have a manifest-list: the ledger reads no list of "
            "manifests in the snapshot itself, as format 1 has it"
        )
    summary = dict(texts_in(given, "summary", f"snapshot {number}"))
    operation = summary.pop("operation", "")
    if operation not in OPERATIONS:
        raise bad_request(
            f"the operation of snapshot {number} must be one of {', '.join(OPERATIONS)}, got "
            f"{shown(operation)}"
        )
    parent = number_or_none(given, "parent-snapshot-id", f"snapshot {number}")
    place = text_in(given, "manifest-list", f"snapshot {number}")
    schema = number_or_none(given, "schema-id", f"snapshot {number}")
    return AskedSnapshot(number, parent, place, operation, summary, schema)


# How long a branch keeps snapshots. The ledger keeps versions as its vacuum is told.
KEPT: Final = ("max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep")


def set_ref(asked: AskedChanges, given: Given) -> None:
    """Take the snapshot that the main branch shows; raises IcebergRefusal for another ref."""
    check_main(given, "set-snapshot-ref")
    if text_in(given, "type", "set-snapshot-ref") != "branch":
        raise bad_request(f"{MAIN} must be a branch, got {shown(given.get('type'))}")
    for key in KEPT:
        if given.get(key) is not None:
            raise bad_request(
                f"a branch must have no {key}, got {shown(given[key])}: how long versions stay is "
                "said to `lakeledger table vacuum`"
            )
    asked.head = number_in(given, "snapshot-id", "set-snapshot-ref")


def remove_ref(asked: AskedChanges, given: Given) -> None:
    """Take it that all rows of before are gone; raises IcebergRefusal for another ref."""
    check_main(given, "remove-snapshot-ref")
    asked.is_replaced, asked.head = True, None


def check_main(given: Given, what: str) -> None:
    """Raise IcebergRefusal for any ref but the main branch."""
    name = text_in(given, "ref-name", what)
    if name != MAIN:
        raise bad_request(
            f"a table must have the branch {MAIN} alone, got {shown(name)}: read an earlier state "
            "by its position, as name@POSITION"
        )


Take = Callable[[AskedChanges, Given], None]
TAKEN: Final[Mapping[str, Take]] = {
    "assign-uuid": assign_uuid,
    "upgrade-format-version": upgrade,
    "add-schema": add_schema,
    "set-current-schema": set_schema,
    "add-spec": add_spec,
    "set-default-spec": set_spec,
    "add-sort-order": add_order,
    "set-default-sort-order": set_order,
    "add-snapshot": add_snapshot,
    "set-snapshot-ref": set_ref,
    "remove-snapshot-ref": remove_ref,
    "set-location": set_location,
    "set-properties": set_properties,
    "remove-properties": remove_properties,
}

VACUUM: Final = "which versions stay is said to `lakeledger table vacuum`"
UNUSED: Final = "the ledger keeps every schema and spec of a table's history"
REFUSED: Final[Mapping[str, str]] = {
    "remove-snapshots": VACUUM,
    "remove-schemas": UNUSED,
    "remove-partition-specs": UNUSED,
    "set-statistics": "the ledger keeps statistics of files alone",
    "remove-statistics": "the ledger keeps statistics of files alone",
    "set-partition-statistics": "the ledger keeps statistics of files alone",
    "remove-partition-statistics": "the ledger keeps statistics of files alone",
    "add-encryption-key": "the ledger reads no encrypted files",
    "remove-encryption-key": "the ledger reads no encrypted files",
}
"""Updates that are known and not obeyed, each with its reason."""


def changes_of(updates: Iterable[Any]) -> AskedChanges:
    """Return what updates ask together.

    Raises IcebergRefusal for an update that is not known, not obeyed, or of another form.
    """
    asked = AskedChanges()
    for each in updates:
        given = object_of("an update", each)
        action = text_in(given, "action", "an update")
        take = TAKEN.get(action)
        if take is None:
            why = REFUSED.get(action, f"it must be one of {', '.join(TAKEN)}")
            raise bad_request(f"the update {shown(action)} is not obeyed: {why}")
        take(asked, given)
    return asked
