"""Fields within columns have identities: random changes of their types over real files.

The model keeps the values of a row by the identity that it gives each field, and knows no names.
"""

import random
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.arrow.schema import TableSchema
from ledger.arrow.type_fields import FIELD_ID
from ledger.core.commands import Column, TableDefinition
from ledger.definitions.definitions import table_definition
from ledger.files.data_files import write_rows
from ledger.files.data_reading import read_file
from ledger.files.file_writers import FileWriter
from ledger.files.storage import Storage, storage_at
from ledger.log.wire.file_list import AddFile
from ledger.properties.field_ids import fields_of, ids_in
from spark_sink.catalog.alter import altered
from tests.tables.files import file_row

NAMES = "abcd"
DEPTH = 2


class Field:
    """A field of the model: `kind` is int, struct, array or map; the last three have fields."""

    def __init__(self, kind: str, fields: Mapping[str, "Field"]) -> None:
        self.kind, self.fields = kind, dict(fields)

    def sql(self) -> str:
        if self.kind == "int":
            return "int"
        inside = ", ".join(f"{name}: {each.sql()}" for name, each in self.fields.items())
        struct = f"struct<{inside}>"
        return {"array": f"array<{struct}>", "map": f"map<int, {struct}>"}.get(self.kind, struct)

    def value(self, numbers: Any) -> Any:
        """Return a value by fields: it is the model's own form of a row."""
        if self.kind == "int":
            return next(numbers)
        return {field: field.value(numbers) for field in self.fields.values()}

    def shown(self, value: Any) -> Any:
        """Return a value as the present names show it; a field that it lacks is NULL."""
        if self.kind == "int" or value is None:
            return value
        found = {name: each.shown(value.get(each)) for name, each in self.fields.items()}
        return {"array": [found], "map": [(1, found)]}.get(self.kind, found)


def drawn(of: random.Random, depth: int = 0, kind: str = "") -> Field:
    kind = kind or of.choice(["int", "int", "struct", "array", "map"])
    if kind == "int" or depth > DEPTH:
        return Field("int", {})
    names = of.sample(NAMES, k=of.randint(1, 2))
    return Field(kind, {name: drawn(of, depth + 1) for name in names})


def structs(field: Field, path: Sequence[str]) -> list[tuple[Field, Sequence[str]]]:
    """Return the fields with fields, with the paths of their structs as Spark gives them."""
    if field.kind == "int":
        return []
    path = [*path, *{"array": ["element"], "map": ["value"]}.get(field.kind, [])]
    inner = [structs(each, [*path, name]) for name, each in field.fields.items()]
    return [(field, path), *(found for each in inner for found in each)]


class Model:
    """A table with one column, its files, and what is in them."""

    def __init__(self, seed: int, folder: Path, definition: TableDefinition, root: Field) -> None:
        self.random, self.root, self.definition = random.Random(seed), root, definition  # noqa: S311
        self.storage: Storage = storage_at(str(folder))
        self.numbers = count(1)
        self.files: list[tuple[AddFile, TableDefinition, Any]] = []
        self.used: dict[int, str] = {}

    def write(self) -> None:
        value = self.root.value(self.numbers)
        schema = TableSchema.of(self.definition, "t", 1)
        rows = pa.Table.from_pylist([{"s": self.root.shown(value)}], schema=schema.arrow)
        (file,) = write_rows(
            self.storage, schema, rows.to_batches(), writer=FileWriter.of("ledger")
        )
        self.files.append((file, self.definition, value))

    def change(self) -> None:
        """Add, drop or rename a field of a struct."""
        field, path = self.random.choice(structs(self.root, ["s"]))
        free = [name for name in NAMES if name not in field.fields]
        doing = self.random.choice(["add", "drop", "rename", "drop and add"])
        held = self.random.choice(list(field.fields))
        if doing == "add" and free:
            field.fields[self.random.choice(free)] = drawn(self.random, DEPTH)
            self.alter({"kind": "AddColumn", "path": [*path, held]})
        elif doing == "rename" and free:
            name = self.random.choice(free)
            field.fields = {name if each == held else each: of for each, of in field.fields.items()}
            self.alter({"kind": "RenameColumn", "path": [*path, held], "to": name})
        elif doing != "add" and len(field.fields) > 1:
            kind = field.fields.pop(held).kind
            self.alter({"kind": "DeleteColumn", "path": [*path, held]})
            if doing == "drop and add":
                field.fields[held] = drawn(self.random, DEPTH, kind)
                self.alter({"kind": "AddColumn", "path": [*path, held]})

    def alter(self, change: Mapping[str, Any]) -> None:
        told = {**change, "column": ".".join(change["path"])}
        column = {"name": "s", "type": self.root.sql(), "nullable": True, "metadata": "{}"}
        asked = {"table": "t", "columns": [column], "changes": [told]}
        self.definition = altered(self.definition, asked)

    def check(self) -> None:
        """Compare all files with the model, and the ids with all that were ever given."""
        schema = TableSchema.of(self.definition, "t", 1)
        for file, definition, value in self.files:
            written = TableSchema.of(definition, "t", 1)
            rows = read_file(self.storage, file_row(file.path), schema, written=written)
            assert rows.to_pylist() == [{"s": self.root.shown(value)}], self.definition
        (column,) = self.definition.columns
        found = [column.id, *(number for number, _ in ids_in(fields_of(column)))]
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("form", ["", "without ids", "published"])
def test_random_changes_of_fields(tmp_path: Path, form: str) -> None:
    """A file shows in each field what was written into that field, and NULL in later fields."""
    for seed in range(12):
        root = drawn(random.Random(seed), 0, ["struct", "array", "map"][seed % 3])  # noqa: S311
        properties = {"lakeledger.publish": "delta"} if form == "published" else {}
        definition = table_definition([("s", root.sql())], properties=properties)
        if form == "without ids":
            (column,) = definition.columns
            definition = definition._replace(columns=[column._replace(metadata="")])
        model = Model(seed, tmp_path / f"{seed}", definition, root)
        (tmp_path / f"{seed}").mkdir()
        for _ in range(12):
            model.write()
            model.change()
            model.check()


def field_ids(type_: pa.DataType) -> list[int]:
    """Return the ids of all fields within a type of a file, in order."""
    found = []
    for at in range(type_.num_fields):
        each = type_.field(at)
        found += [int((each.metadata or {}).get(FIELD_ID, b"0")), *field_ids(each.type)]
    return found


def test_files_have_all_ids(tmp_path: Path) -> None:
    definition = table_definition(
        [("s", "struct<`a b`: array<int>, m: map<int, struct<x: int>>>"), ("i", "int")]
    )
    schema = TableSchema.of(definition, "t", 1)
    rows = pa.Table.from_pylist(
        [{"s": {"a b": [1], "m": [(1, {"x": 1})]}, "i": 2}], schema=schema.arrow
    )
    storage = storage_at(str(tmp_path))
    (file,) = write_rows(storage, schema, rows.to_batches(), writer=FileWriter.of("ledger"))
    there = pq.read_schema(tmp_path / file.path)
    assert field_ids(pa.struct(list(there))) == [1, 3, 4, 5, 0, 6, 7, 8, 2]


def test_definitions_without_fields_keep_their_bytes() -> None:
    made = table_definition([("i", "int"), ("d", "decimal(3,1)"), ("v", "variant"), ("b", "array")])
    assert [column.metadata for column in made.columns] == [""] * 4
    assert made.columns[0] == Column("i", "int", nullable=True, id=1)
