"""Specs: where a file of any spec of a table lies under the present one.

Each file of the ledger has one value for each present partition column. A file of another spec has
them if its own partition gives them, or its bounds: then all its rows have the same value. Any
other file has no values if transforms alone divide the table, as its rows may lie in several
partitions. It is refused for a partition column, whose value readers take from the partition.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ledger.core.partitions.names import Values
from ledger.core.partitions.values import NULLS
from ledger.files.storage import Storage
from ledger.iceberg.manifests import ADDED, ManifestEntry, manifest_bytes
from ledger.iceberg.partition_tuples import log_text, tuple_of, values_of
from ledger.iceberg.partitioning import IDENTITY, PartitionField, source_of, transform_of
from ledger.iceberg.types import spark_type
from ledger.iceberg.values import value_in
from ledger.reads.port import FileRow
from projections.iceberg.commits.files.footers import numbered_in
from projections.iceberg.commits.files.snapshot_difference import NewEntry
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request
from projections.iceberg.served.own_partitions import Meaning, OwnPartition, divided_by, meanings_of

EXACT: Final = frozenset({"int", "long", "date", "timestamp", "timestamptz"})
"""The types whose bounds are values; bounds of texts are values too, up to a length."""

WHOLE_MAX: Final = 15
"""A longer text in a bound may be the beginning of a value."""

FORMAT: Final = 2
CURE: Final = "load the table again, and write the rows anew"


class SpecsOfTable:
    """The specs of a table after a commit; `present` is the one that it uses then.

    `schema` is the one after the commit, `schemas` and `specs` are those from before.
    """

    def __init__(
        self,
        present: Given,
        schema: Given,
        specs: Sequence[Given] = (),
        schemas: Sequence[Given] = (),
    ) -> None:
        self._present, self._schema = present, schema
        self._known = {each["spec-id"]: each for each in (*specs, present)}
        columns = {each["id"]: each for some in (*schemas, schema) for each in some["fields"]}
        self._columns: Given = {"type": "struct", "fields": list(columns.values())}
        self._servable = set[tuple[int, Values]]()

    def is_present(self, spec: Given) -> bool:
        """Return whether a spec is the one that the table uses."""
        return bool(spec["spec-id"] == self._present["spec-id"])

    def spec_of(self, new: NewEntry) -> Given:
        """Return the spec of a client's file.

        Its manifest must have values for all fields of the spec that the list names. Raises
        IcebergRefusal.
        """
        spec = self._known.get(new.spec_id)
        if spec is None:
            raise bad_request(
                f"a new file must be of a partition spec of the table, got spec {new.spec_id} for "
                f"{shown(new.entry.path)}: {CURE}"
            )
        # Some writers name the present spec in the header of a manifest of an earlier one.
        is_named = new.spec.get("spec-id") == new.spec_id
        is_other = is_named and meanings_of(new.spec) != meanings_of(spec)
        if is_other or not {each.number for each in divided_by(spec)} <= new.entry.partition.keys():
            raise bad_request(
                f"a new file must have the values of its partition spec {new.spec_id}, got those "
                f"of other fields for {shown(new.entry.path)}: {CURE}"
            )
        return spec

    def values(self, spec: Given, entry: ManifestEntry) -> Values:
        """Return the partition of a client's file under its own spec.

        Raises an error of TOO_ODD for values that do not fit, or that no manifest could show.
        """
        schema = self._schema if self.is_present(spec) else self._columns
        values = values_of(entry.partition, spec, schema)
        known = spec["spec-id"], values
        if known not in self._servable:
            shown_as = ManifestEntry(ADDED, 0, 0, 0, "", 0, 0, tuple_of(values, spec, schema))
            manifest_bytes([shown_as], spec, schema, "data", FORMAT)
            self._servable.add(known)
        return values

    def row_values(self, spec: Given, row: FileRow) -> dict[Meaning, str | None]:
        """Return the values of a file of the table; `spec` is that of its version."""
        values = [None if text in NULLS else text for text in row.partition]
        if not values:
            return {}
        return dict(zip(meanings_of(spec), values, strict=True))

    def placed(
        self, known: Mapping[Meaning, str | None], path: str, entry: ManifestEntry | None
    ) -> Values:
        """Return the partition of a file under the present spec, empty if it may lie in several.

        `known` are values that all its rows have, and `entry` has its bounds. Raises
        IcebergRefusal for a file that may have rows with different values of a partition column.
        """
        fields, found = divided_by(self._present), list[str | None]()
        for field in fields:
            values = self._values(field, known, entry)
            if len(values) != 1:
                if all(each.transform != IDENTITY for each in fields):
                    return ()
                raise bad_request(
                    f"all rows of a file must have one value of the partition field {field.name} "
                    f"of the table's spec {self._present['spec-id']}, and those of {shown(path)}, "
                    f"which is of another spec, may have several: {CURE}"
                )
            found += values
        return tuple(found)

    def check_holds(self, storage: Storage, key: str, own: OwnPartition) -> None:
        """Raise IcebergRefusal for a file that lacks a column whose value its partition has."""
        inside = set(meanings_of(self._present))
        columns = {each["id"]: each["name"].lower() for each in self._schema["fields"]}
        wanted = {
            source: columns[source]
            for (source, transform), text in zip(own.meanings, own.values, strict=True)
            if transform == IDENTITY and text is not None
            if source in columns and (source, transform) not in inside
        }
        if not wanted:
            return
        held = {number for number, _, _ in numbered_in(storage, key)}
        for source, name in wanted.items():
            if source not in held:
                raise bad_request(
                    f"the file {shown(key)} must have the column {name}, which is no partition "
                    f"column any more: {CURE}"
                )

    def _values(
        self,
        field: PartitionField,
        known: Mapping[Meaning, str | None],
        entry: ManifestEntry | None,
    ) -> list[str | None]:
        """Return values of a field that the rows of a file may have, none if they are unknown."""
        if field.meaning in known:
            return [known[field.meaning]]
        source = source_of(field, self._schema)
        transform = transform_of(field, source["name"])
        type_ = spark_type(source["type"], source["name"])[0]
        if (field.source, IDENTITY) in known:
            texts = [known[field.source, IDENTITY]]
        else:
            texts = [] if entry is None else between(field.source, source["type"], entry)
        if transform is None:
            return texts
        if transform.kind == "bucket" and len(texts) > 1:
            return []
        return list({transform.of_text(text, type_): None for text in texts})


def between(source: int, kind: str, entry: ManifestEntry) -> list[str | None]:
    """Return the least and the greatest text of a column in a file, one if they are equal.

    None stands for NULL in all rows. The list is empty if the file does not tell.
    """
    nulls = (entry.null_value_counts or {}).get(source)
    if nulls is not None and nulls == entry.record_count:
        return [None]
    data = [(bounds or {}).get(source) for bounds in (entry.lower_bounds, entry.upper_bounds)]
    if nulls != 0 or kind not in {*EXACT, "string"}:
        return []
    field = PartitionField(source, 0, "", IDENTITY)
    texts: dict[str | None, None] = {}
    for each in data:
        value = None if each is None else value_in(each, kind)
        if value is None or (kind == "string" and len(value) > WHOLE_MAX):
            return []
        texts[log_text(value, field, kind)] = None
    return list(texts)
