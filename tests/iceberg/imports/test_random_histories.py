"""Random histories of Iceberg tables: whenever an import runs, its snapshots are pyiceberg's."""

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ledger.client import Ledger
from tests.iceberg.imports.iceberg_tables import (
    NAME,
    main_branch,
    new_table,
    pa,
    rows_of,
    take,
    version_by_snapshot,
)

from pyiceberg.partitioning import PartitionField, PartitionSpec  # isort: skip
from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.table import Table  # isort: skip
from pyiceberg.transforms import (  # isort: skip
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
)
from pyiceberg.types import LongType, NestedField, StringType  # isort: skip

STEPS = 14
TRANSFORMS: Any = (BucketTransform(3), TruncateTransform(5), IdentityTransform())


class RandomHistory:
    """An Iceberg table that changes at random."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.random = random
        schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
        spec = random.choice(
            [PartitionSpec(), PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))]
        )
        self.table: Table = new_table(folder, schema, spec, format_version=random.choice("12"))
        self._steps: list[Callable[[], None]] = [
            *[self.append] * 4,
            *[self.delete] * 2,
            *(self.overwrite, self.rename, self.add, self.drop, self.divide, self.expire),
        ]

    def step(self) -> None:
        """Change the table in one way."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.random.choice(self._steps)()

    def append(self) -> None:
        self.table.append(self._rows())

    def delete(self) -> None:
        self.table.delete(f"id = {self.random.randrange(8)}")

    def overwrite(self) -> None:
        number = self.random.randrange(8)
        self.table.overwrite(self._rows(), overwrite_filter=f"id = {number}")

    def rename(self) -> None:
        name = self.random.choice(self._others() or ["id"])
        if name != "id":
            with self.table.update_schema() as update:
                update.rename_column(name, f"c{self.random.randrange(10**6)}")

    def add(self) -> None:
        free = sorted({"name", "a", "b"} - set(self._others()))
        if free:
            with self.table.update_schema() as update:
                update.add_column(self.random.choice(free), StringType())

    def drop(self) -> None:
        """Drop a column that divides nothing."""
        used = {field.source_id for spec in self.table.specs().values() for field in spec.fields}
        schema = self.table.schema()
        free = [name for name in self._others() if schema.find_field(name).field_id not in used]
        if free:
            with self.table.update_schema(allow_incompatible_changes=True) as update:
                update.delete_column(self.random.choice(free))

    def divide(self) -> None:
        """Add or remove a partition field."""
        fields = [each.name for each in self.table.spec().fields if "Void" not in repr(each)]
        with self.table.update_spec() as update:
            if fields and self.random.random() < 0.5:
                update.remove_field(self.random.choice(fields))
            else:
                name = f"f{self.random.randrange(10**6)}"
                update.add_field("id", self.random.choice(TRANSFORMS), name)

    def expire(self) -> None:
        branch = main_branch(self.table)
        if len(branch) > 3:
            self.table.maintenance.expire_snapshots().by_ids(branch[:2]).commit()

    def _others(self) -> list[str]:
        return [field.name for field in self.table.schema().fields if field.name != "id"]

    def _rows(self) -> Any:
        count = self.random.randrange(1, 6)
        values = ["x", "y", None]
        columns: dict[str, Any] = {"id": [self.random.randrange(8) for _ in range(count)]}
        for name in self._others():
            columns[name] = [self.random.choice(values) for _ in range(count)]
        return pa.table(columns, schema=self.table.schema().as_arrow())


@pytest.mark.parametrize("seed", range(12))
def test_an_import_shows_what_pyiceberg_shows(ledger: Ledger, tmp_path: Path, seed: int) -> None:
    """Each snapshot is compared when it is imported, and once more at the end."""
    random = Random(seed)  # noqa: S311 - repeatable
    history = RandomHistory(tmp_path, random)
    seen: dict[int, Any] = {}
    for _ in range(STEPS):
        try:
            history.step()
        except ValueError:
            continue  # pyiceberg refuses it, such as a field that is there.
        if random.random() < 0.4:
            take(ledger, history.table)
            table, shown = history.table, version_by_snapshot(ledger)
            for snapshot in main_branch(table):
                if snapshot in shown:
                    seen[snapshot] = rows_of(table.scan(snapshot_id=snapshot).to_arrow())
            if table.current_snapshot() is not None:
                assert rows_of(ledger.scan(NAME).to_arrow()) == rows_of(table.scan().to_arrow())
    take(ledger, history.table)
    shown = version_by_snapshot(ledger)
    for snapshot in main_branch(history.table):
        seen[snapshot] = rows_of(history.table.scan(snapshot_id=snapshot).to_arrow())
    for snapshot, rows in seen.items():
        assert rows_of(ledger.scan(NAME, version=shown[snapshot]).to_arrow()) == rows, snapshot
