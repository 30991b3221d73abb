"""Hostile metadata: what an import reads of it, and how it refuses the rest."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.errors import IcebergTableError, IncompatibleError, SettingsError
from ledger.iceberg.importer import import_iceberg
from ledger.iceberg.imports import source_files
from ledger.iceberg.imports.metadata_fields import MetadataShapeError
from ledger.iceberg.limits import LIST_LIMITS, MANIFEST_LIMITS
from ledger.iceberg.table_metadata import BYTES_MAX, read_metadata
from tests.iceberg.imports.iceberg_tables import NAME, pa, rows_of
from tests.iceberg.imports.made_tables import MadeTable

Form = dict[str, Any]


def one_row() -> Any:
    return pa.table({"id": pa.array([1], pa.int64())})


@pytest.fixture
def made(tmp_path: Path) -> MadeTable:
    """Return a table of two snapshots."""
    table = MadeTable(tmp_path / "t")
    table.commit(table.data(one_row()))
    table.commit(table.data(one_row()))
    return table


def text_of(form: Form) -> bytes:
    return json.dumps(form).encode()


def without(key: str) -> Callable[[Form], Form]:
    return lambda form: {name: each for name, each in form.items() if name != key}


def with_field(key: str, value: Any) -> Callable[[Form], Form]:
    return lambda form: {**form, key: value}


def with_first(key: str, value: Any) -> Callable[[Form], Form]:
    """Return a change of one field of the first snapshot."""
    return lambda form: {
        **form,
        "snapshots": [{**form["snapshots"][0], key: value}, *form["snapshots"][1:]],
    }


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (with_field("format-version", 4), "format-version must be 1 to 3, got 4"),
        (with_field("format-version", "2"), "format-version of the metadata must be a whole"),
        (without("location"), "location of the metadata must be a text"),
        (without("table-uuid"), "table-uuid of the metadata must be a uuid"),
        (with_field("table-uuid", "../x"), "table-uuid of the metadata must be a uuid"),
        (with_field("schemas", []), "current schema 0 is not listed"),
        (with_field("schemas", {"a": 1}), "schemas of the metadata must be a list"),
        (with_field("current-schema-id", 7), "current schema 7 is not listed"),
        (with_field("default-spec-id", 7), "default spec 7 is not listed"),
        (with_field("default-sort-order-id", 7), "default sort order 7 is not listed"),
        (
            lambda form: {**form, "current-snapshot-id": 7, "refs": {}},
            "current snapshot 7 is not listed",
        ),
        (with_field("current-snapshot-id", 1e300), "must be a whole number of 64 bits"),
        (with_field("snapshots", [None]), "a snapshot must be a JSON object"),
        (with_field("properties", {"a": 1}), "properties of the metadata must be an object of"),
        (with_field("properties", {"a": "\ud800"}), "properties of the metadata must be an object"),
        (with_field("encryption-keys", [{}]), "its files are encrypted"),
        (with_first("key-id", "k"), "it is encrypted"),
        (with_field("refs", {"main": {"snapshot-id": 1}}), "branch main must be the current"),
        (with_field("refs", {"a": 1}), "ref a must be a JSON object"),
        (with_first("snapshot-id", 2), "snapshot 2 is listed twice"),
        (with_first("parent-snapshot-id", 2), "comes before itself"),
        (with_first("parent-snapshot-id", 1), "comes before itself"),
        (with_first("schema-id", 9), "schema 9 of snapshot 1 is not listed"),
        (with_first("manifest-list", None), "must have a manifest-list, or manifests"),
        (with_first("summary", "x"), "summary of a snapshot must be an object of texts"),
        (with_field("partition-specs", [{"spec-id": 0}, {"spec-id": 0}]), "got 0 twice"),
        (with_field("properties", dict.fromkeys(map(str, range(20_000)), "")), "10000 entries"),
    ],
)
def test_metadata_that_contradicts_itself(
    made: MadeTable, change: Callable[[Form], Form], what: str
) -> None:
    with pytest.raises(MetadataShapeError, match=what):
        read_metadata(text_of(change(made.metadata())))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format-version": 2',
        b"[" * 100_000,
        gzip.compress(b" " * (BYTES_MAX + 1), mtime=0),
        gzip.compress(b"{}", mtime=0)[:-9],
        b"\x1f\x8bx",
    ],
)
def test_bytes_that_are_no_metadata(data: bytes) -> None:
    with pytest.raises(MetadataShapeError):
        read_metadata(data)


def test_metadata_may_be_packed(made: MadeTable) -> None:
    found = read_metadata(gzip.compress(text_of(made.metadata())))
    assert [each.id for each in found.main_branch()] == [1, 2]


def test_half_of_a_metadata_file_is_named(ledger: Ledger, made: MadeTable) -> None:
    place = made.write()
    path = Path(place.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(IcebergTableError, match="it must be JSON") as raised:
        import_iceberg(ledger, place, NAME)
    assert raised.value.file == place


def test_a_schema_that_is_nested_too_deeply(ledger: Ledger, made: MadeTable) -> None:
    kind: Any = "int"
    for number in range(200):
        kind = {"type": "list", "element-id": number + 10, "element": kind}
    made.schema["fields"] = [{"id": 1, "name": "id", "required": False, "type": kind}]
    with pytest.raises(IncompatibleError, match="levels"):
        import_iceberg(ledger, made.write(), NAME)
    text = '{"a":' * 100_000
    with pytest.raises(IcebergTableError, match="it must be JSON"):
        import_iceberg(ledger, made.put("metadata/v9.metadata.json", text.encode()), NAME)


@pytest.mark.parametrize(
    "place",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "{inside}/../../../etc/passwd",
        "{inside}/%2e%2e/%2e%2e/secret",
        "{inside}2/data.parquet",
        "s3://bucket/data.parquet",
        "data/relative.parquet",
        "http://localhost/data.parquet",
    ],
)
def test_files_of_other_places_are_not_read(ledger: Ledger, made: MadeTable, place: str) -> None:
    named = place.replace("{inside}", made.location)
    made.commit(made.entry("data/1.parquet", 1)._replace(path=named))
    with pytest.raises(IcebergTableError, match=r"outside|must be absolute"):
        import_iceberg(ledger, made.write(), NAME)
    assert len(ledger.reads().versions(1, 10)) == 2


def test_a_link_to_another_place(ledger: Ledger, made: MadeTable, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.parquet").write_bytes((made.folder / "data/1.parquet").read_bytes())
    (made.folder / "data/9.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    made.commit(made.entry("data/9.parquet", 1))
    with pytest.raises(IcebergTableError, match="outside the permitted places by a link"):
        import_iceberg(ledger, made.write(), NAME)
    report = import_iceberg(ledger, made.write(), "other", places=[str(tmp_path)])
    assert report.versions == 3


def test_a_manifest_list_of_another_place(ledger: Ledger, made: MadeTable, tmp_path: Path) -> None:
    path = Path(made.snapshots[-1]["manifest-list"].removeprefix("file://"))
    (tmp_path / "list.avro").write_bytes(path.read_bytes())
    made.snapshots[-1]["manifest-list"] = (tmp_path / "list.avro").as_uri()
    with pytest.raises(IcebergTableError, match="outside the location"):
        import_iceberg(ledger, made.write(), NAME)


def test_metadata_that_names_another_location(
    ledger: Ledger, made: MadeTable, tmp_path: Path
) -> None:
    made.more["location"] = (tmp_path / "other").as_uri()
    with pytest.raises(IcebergTableError, match="outside the location"):
        import_iceberg(ledger, made.write(), NAME)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("metadata/snap-2.avro", LIST_LIMITS.bytes),
        ("metadata/2-data-1.avro", MANIFEST_LIMITS.bytes),
    ],
)
def test_files_of_a_gigabyte_are_not_read(
    ledger: Ledger, made: MadeTable, name: str, limit: int
) -> None:
    with (made.folder / name).open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(IcebergTableError, match=f"{limit} bytes at most, got {1 << 30}"):
        import_iceberg(ledger, made.write(), NAME)


def test_metadata_of_a_gigabyte(ledger: Ledger, made: MadeTable) -> None:
    place = made.write()
    with Path(place.removeprefix("file://")).open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(IcebergTableError, match=f"{BYTES_MAX} bytes at most"):
        import_iceberg(ledger, place, NAME)


@pytest.mark.parametrize("name", ["metadata/snap-2.avro", "metadata/2-data-1.avro"])
@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_files_that_are_cut(ledger: Ledger, made: MadeTable, name: str, keep: int) -> None:
    """The snapshots before are there, and the file is named."""
    path = made.folder / name
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(IcebergTableError) as raised:
        import_iceberg(ledger, made.write(), NAME)
    assert raised.value.file == made.place(name)
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1}]


def test_a_file_that_a_snapshot_has_twice(ledger: Ledger, made: MadeTable) -> None:
    made.commit(made.entry("data/1.parquet", 1))
    with pytest.raises(IcebergTableError, match="a snapshot has the file twice"):
        import_iceberg(ledger, made.write(), NAME)


def test_a_spec_that_is_not_listed(ledger: Ledger, made: MadeTable) -> None:
    made.more |= {"partition-specs": [{"spec-id": 5, "fields": []}], "default-spec-id": 5}
    with pytest.raises(IcebergTableError, match="spec 0 is not in the metadata"):
        import_iceberg(ledger, made.write(), NAME)


def test_a_data_file_that_is_no_parquet(ledger: Ledger, made: MadeTable) -> None:
    (made.folder / "data/2.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(IcebergTableError, match="must be a Parquet file"):
        import_iceberg(ledger, made.write(), NAME)


def test_folders_without_metadata(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is no Iceberg table"):
        import_iceberg(ledger, tmp_path, NAME)
    with pytest.raises(IcebergTableError, match="cannot be read"):
        import_iceberg(ledger, tmp_path / "v1.metadata.json", NAME)


def test_a_hint_to_the_metadata(ledger: Ledger, made: MadeTable) -> None:
    """A hint may be late: the versions after it count."""
    first = Path(made.write().removeprefix("file://"))
    (first.parent / "v1.metadata.json").write_bytes(first.read_bytes())
    hint = first.parent / "version-hint.text"
    hint.write_text("1")
    first.unlink()
    assert import_iceberg(ledger, made.folder, NAME).versions == 2
    made.commit(made.data(one_row()))
    text = json.dumps(made.metadata() | {"table-uuid": uuid_in(first.parent / "v1.metadata.json")})
    (first.parent / "v2.metadata.json").write_text(text)
    assert import_iceberg(ledger, str(made.folder / "metadata"), NAME).versions == 1

    hint.write_text("9")
    with pytest.raises(IcebergTableError, match="names version 9"):
        import_iceberg(ledger, made.folder, NAME)
    hint.write_text("../../x")
    with pytest.raises(IcebergTableError, match="must be the number of a version"):
        import_iceberg(ledger, made.folder, NAME)


def uuid_in(path: Path) -> str:
    found: str = json.loads(path.read_text())["table-uuid"]
    return found


def test_format_1_with_manifests_in_the_metadata(ledger: Ledger, made: MadeTable) -> None:
    """A snapshot may name its manifests, and a table may lack its uuid."""
    form = made.metadata()
    for at, each in enumerate(form["snapshots"]):
        del each["manifest-list"]
        each["manifests"] = [manifest.path for manifest in made.manifests[: at + 1]]
    old = {
        "format-version": 1,
        "location": made.location,
        "last-updated-ms": form["last-updated-ms"],
        "schema": made.schema,
        "partition-spec": [],
        "current-snapshot-id": 2,
        "snapshots": form["snapshots"],
    }
    place = made.put("metadata/v7.metadata.json", text_of(old))
    assert import_iceberg(ledger, place, NAME).versions == 2
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1}, {"id": 1}]


def test_places_are_compared_in_any_spelling(tmp_path: Path) -> None:
    source = source_files.SourceFiles(f"file:{tmp_path}")
    for path in (f"{tmp_path}/a", f"file:{tmp_path}/a", f"file://localhost{tmp_path}//a"):
        source.check_place(path)
    for path in (str(tmp_path), f"{tmp_path}-2/a", f"{tmp_path}/../a", "a"):
        with pytest.raises(IcebergTableError):
            source.check_place(path)
