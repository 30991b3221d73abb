"""What a client must not send is refused by name, and leaves nothing in the log."""

from collections.abc import Callable
from typing import Any

import pytest
from pyroaring import BitMap

from ledger.iceberg.manifests import ADDED, EQUALITY_DELETES, EXISTING, ManifestEntry
from projections.iceberg.commits.table_changes import TableChange
from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import Json, RestClient, Snapshot, path_in, shown

ID = {"namespace": ["db"], "name": "t"}


@pytest.fixture
def made(client: RestClient) -> Snapshot:
    """Return a new snapshot of a table with one row, not sent yet."""
    client.append("t", client.create("t"), [{"id": 1, "v": "a"}])
    return Snapshot(client.load("t"))


def refused(client: RestClient, change: Json, why: str, code: int = 400) -> None:
    """Send a change that must be refused, and look that nothing happened."""
    before = client.ledger.reads().position()
    with pytest.raises(IcebergRefusal, match=why) as found:
        client.commit(change)
    assert found.value.code == code
    assert client.ledger.reads().position() == before
    assert client.rows("t") == [(1, "a")]


Spell = Callable[[Snapshot, str], str]

ELSEWHERE: dict[str, Spell] = {
    "another folder": lambda _, __: "/etc/passwd",
    "beside": lambda made, _: f"{made.location}2/x.parquet",
    "up": lambda made, _: f"{made.location}/data/../../x.parquet",
    "up, as a URI": lambda made, _: f"{made.location}/data/../x.parquet",
    "a dot": lambda made, _: f"{made.location}/./x.parquet",
    "an empty segment": lambda made, _: f"{made.location}//x.parquet",
    "the folder itself": lambda made, _: f"{made.location}/",
    "another host": lambda made, _: made.location.replace("file://", "file://there") + "/x",
    "another scheme": lambda _, __: "s3://lake/x.parquet",
    "http": lambda _, __: "http://127.0.0.1/x",
    "relative": lambda _, __: "data/x.parquet",
    "a control sign": lambda made, _: f"{made.location}/x\n.parquet",
    "long": lambda made, _: f"{made.location}/{'x' * 3000}.parquet",
    "escaped": lambda made, _: f"{made.location}/%2e%2e/../x.parquet",
}


@pytest.mark.parametrize("spell", ELSEWHERE.values(), ids=ELSEWHERE)
def test_data_files_that_lie_elsewhere(client: RestClient, made: Snapshot, spell: Spell) -> None:
    made.add([{"id": 2, "v": "b"}])
    made.added[0] = made.added[0]._replace(path=spell(made, ""))
    refused(client, client.change("t", made.updates("append")), "the path of a new file")


@pytest.mark.parametrize("spell", ELSEWHERE.values(), ids=ELSEWHERE)
def test_lists_elsewhere_are_never_read(client: RestClient, made: Snapshot, spell: Spell) -> None:
    made.add([{"id": 2, "v": "b"}])
    updates = made.updates("append")
    updates[0]["snapshot"]["manifest-list"] = spell(made, "")
    refused(client, client.change("t", updates), "the path of manifest list")


@pytest.mark.parametrize("spell", ELSEWHERE.values(), ids=ELSEWHERE)
def test_manifests_that_lie_elsewhere(client: RestClient, made: Snapshot, spell: Spell) -> None:
    made.add([{"id": 2, "v": "b"}])
    listed = [each._replace(path=spell(made, "")) for each in made.manifests()[-1:]]
    refused(client, client.change("t", made.updates("append", listed)), "the path of a manifest")


def test_a_link_of_the_disk(client: RestClient, made: Snapshot) -> None:
    made.add([{"id": 2, "v": "b"}])
    updates = made.updates("append")
    place = updates[0]["snapshot"]["manifest-list"]
    link = path_in(f"{made.location}/metadata/link.avro")
    link.symlink_to(path_in(place))
    updates[0]["snapshot"]["manifest-list"] = f"{made.location}/metadata/link.avro"
    refused(client, client.change("t", updates), "no link of the disk")


def test_files_of_another_table(client: RestClient, made: Snapshot) -> None:
    other = Snapshot(client.create("u"))
    place = other.add([{"id": 2, "v": "b"}])
    made.add([{"id": 2, "v": "b"}], path=place)
    refused(client, client.change("t", made.updates("append")), "must lie below the location")


@pytest.mark.parametrize("spelled", ["file:{0}", "file:///{1}", "{0}", "file://localhost{0}"])
def test_other_spellings_of_a_path_mean_one_file(
    client: RestClient, made: Snapshot, spelled: str
) -> None:
    made.add([{"id": 2, "v": "b"}])
    inner = made.added[0].path.removeprefix("file://")
    path = spelled.format(inner, inner.removeprefix("/"))
    made.added[0] = made.added[0]._replace(path=path)
    client.commit(client.change("t", made.updates("append")))
    again = Snapshot(client.load("t"))
    again.add([{"id": 3, "v": "c"}])
    again.added[0] = again.added[0]._replace(path=f"file:{inner}")
    with pytest.raises(IcebergRefusal, match="in the table already"):
        client.commit(client.change("t", again.updates("append")))
    assert client.rows("t") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"file_format": "ORC"}, "must be of format PARQUET, got ORC"),
        ({"key_metadata": b"k"}, "must not be encrypted"),
        ({"record_count": 1 << 41}, "rows at most"),
        ({"status": EXISTING, "sequence_number": 1}, "must be new"),
        ({"partition": {1000: 1}}, None),
    ],
)
def test_entries_of_another_kind(
    client: RestClient, made: Snapshot, what: dict[str, Any], why: str | None
) -> None:
    made.add([{"id": 2, "v": "b"}], **what)
    change = client.change("t", made.updates("append"))
    if why is not None:
        refused(client, change, why)
        return
    client.commit(change)  # Values of fields that the spec does not have are no values.
    assert client.ledger.read("db.t").files[1].partition == ()


def test_equality_deletes_are_not_read(client: RestClient, made: Snapshot) -> None:
    place = f"{made.location}/data/equal.parquet"
    made.deletes.append(
        ManifestEntry(ADDED, None, None, None, place, 1, 10, {}, EQUALITY_DELETES)._replace(
            equality_ids=[1]
        )
    )
    refused(client, client.change("t", made.updates("delete")), "got equality deletes")


def test_deletes_of_files_that_are_not_there(client: RestClient, made: Snapshot) -> None:
    made.delete_rows(f"{made.location}/data/nowhere.parquet", BitMap([0]))
    refused(client, client.change("t", made.updates("delete")), "must be of a file of the table")


def test_deletes_of_rows_that_are_not_there(client: RestClient, made: Snapshot) -> None:
    (entry,) = made.live()
    made.delete_rows(entry.path, BitMap([0, 1]))
    refused(client, client.change("t", made.updates("delete")), "must be below its 1 rows, got 1")


def test_deletes_of_rows_that_a_new_file_does_not_have(client: RestClient, made: Snapshot) -> None:
    place = made.add([{"id": 2, "v": "b"}])
    made.delete_rows(place, BitMap([7]))
    refused(client, client.change("t", made.updates("overwrite")), "below its 1 rows, got 7")


def test_a_vector_beyond_its_file(client: RestClient, made: Snapshot) -> None:
    client.ledger.alter_table("db.t", properties={"iceberg.format-version": "3"})
    made.metadata = client.load("t")
    (entry,) = made.live()
    made.delete_by_vector(entry.path, BitMap([0]))
    made.deletes[0] = made.deletes[0]._replace(content_offset=1 << 40)
    refused(client, client.change("t", made.updates("delete")), "must lie within its file")


def test_a_vector_with_another_count(client: RestClient, made: Snapshot) -> None:
    client.ledger.alter_table("db.t", properties={"iceberg.format-version": "3"})
    made.metadata = client.load("t")
    (entry,) = made.live()
    made.delete_by_vector(entry.path, BitMap([0]))
    made.deletes[0] = made.deletes[0]._replace(record_count=2)
    refused(client, client.change("t", made.updates("delete")), "must have 2 rows, got 1")


def test_files_to_remove_that_are_not_there(client: RestClient, made: Snapshot) -> None:
    (entry,) = made.live()
    gone = entry._replace(status=2, snapshot_id=made.id, path=f"{made.location}/data/no.parquet")
    listed = [*made.listed(), made.written("data", [gone])]
    change = client.change("t", made.updates("delete", listed))
    refused(client, change, "not in the snapshot on which the commit builds", 409)


@pytest.mark.parametrize("data", [b"", b"Obj\1", b"half of a file", b"\0" * 10_000])
def test_bytes_that_are_no_list(client: RestClient, made: Snapshot, data: bytes) -> None:
    made.add([{"id": 2, "v": "b"}])
    updates = made.updates("append")
    path_in(updates[0]["snapshot"]["manifest-list"]).write_bytes(data)
    refused(client, client.change("t", updates), "manifest list .* cannot be read")


def test_a_list_that_is_not_there(client: RestClient, made: Snapshot) -> None:
    updates = made.updates("append")
    path_in(updates[0]["snapshot"]["manifest-list"]).unlink()
    refused(client, client.change("t", updates), "is not there")


def test_a_list_of_a_gigabyte(client: RestClient, made: Snapshot) -> None:
    updates = made.updates("append")
    with path_in(updates[0]["snapshot"]["manifest-list"]).open("r+b") as stream:
        stream.truncate(1 << 30)
    refused(client, client.change("t", updates), "bytes at most, got 1073741824")


def test_a_list_cut_short(client: RestClient, made: Snapshot) -> None:
    made.add([{"id": 2, "v": "b"}])
    updates = made.updates("append")
    place = path_in(updates[0]["snapshot"]["manifest-list"])
    place.write_bytes(place.read_bytes()[:-20])
    refused(client, client.change("t", updates), "cannot be read")


def test_a_base_that_is_not_known(client: RestClient, made: Snapshot) -> None:
    (entry,) = made.live()
    made.delete_file(entry.path)
    updates = made.updates("delete")
    updates[0]["snapshot"]["parent-snapshot-id"] = 12345
    refused(client, client.change("t", updates), "Requirement failed: branch main has changed", 409)


def test_a_parent_other_than_the_asserted_one(client: RestClient, made: Snapshot) -> None:
    updates = made.updates("append")
    updates[0]["snapshot"]["parent-snapshot-id"] = 12345
    refused(client, client.change("t", updates, made.requirements()), "the parent of snapshot")


def test_the_branch_does_not_go_back(client: RestClient, made: Snapshot) -> None:
    old = made.base
    assert old is not None
    client.append("t", made.metadata, [{"id": 2, "v": "b"}])
    with pytest.raises(IcebergRefusal, match="must go on to a new snapshot") as found:
        client.commit(client.change("t", [shown(old)]))
    assert found.value.code == 400
    assert len(client.rows("t")) == 2


def test_a_snapshot_that_no_branch_shows(client: RestClient, made: Snapshot) -> None:
    made.add([{"id": 2, "v": "b"}])
    refused(client, client.change("t", made.updates("append")[:1]), "must be shown by the branch")


FORMS: dict[str, Any] = {
    "no object": [],
    "null": None,
    "no identifier": {"requirements": [], "updates": []},
    "a namespace that is a text": {"identifier": {"namespace": "db", "name": "t"}},
    "a name that is a number": {"identifier": {"namespace": ["db"], "name": 7}},
    "updates that are no list": {"identifier": ID, "updates": {}},
    "an update that is a text": {"identifier": ID, "updates": ["x"]},
    "an update without an action": {"identifier": ID, "updates": [{}]},
    "an unknown update": {"identifier": ID, "updates": [{"action": "shred"}]},
    "an update not obeyed": {"identifier": ID, "updates": [{"action": "remove-snapshots"}]},
    "an unknown requirement": {"identifier": ID, "requirements": [{"type": "assert-luck"}]},
    "a requirement without a value": {
        "identifier": ID,
        "requirements": [{"type": "assert-table-uuid"}],
    },
    "an id that is a text": {
        "identifier": ID,
        "requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": "1"}],
    },
    "an id that is true": {
        "identifier": ID,
        "requirements": [{"type": "assert-current-schema-id", "current-schema-id": True}],
    },
    "an id of 65 bits": {"identifier": ID, "updates": [shown(1 << 64)]},
    "another branch": {"identifier": ID, "updates": [{**shown(1), "ref-name": "test"}]},
    "a tag": {"identifier": ID, "updates": [{**shown(1), "type": "tag"}]},
    "a retention": {"identifier": ID, "updates": [{**shown(1), "max-ref-age-ms": 1}]},
    "half a snapshot": {
        "identifier": ID,
        "updates": [{"action": "add-snapshot", "snapshot": {"snapshot-id": 1}}],
    },
    "a property that is a number": {
        "identifier": ID,
        "updates": [{"action": "set-properties", "updates": {"a": 1}}],
    },
    "half of a letter": {
        "identifier": ID,
        "updates": [{"action": "set-properties", "updates": {"a": "\ud800"}}],
    },
    "a zero byte": {
        "identifier": ID,
        "updates": [{"action": "set-properties", "updates": {"a\0": "b"}}],
    },
    "assert-create among others": {
        "identifier": ID,
        "requirements": [{"type": "assert-create"}, {"type": "assert-table-uuid", "uuid": "x"}],
    },
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_requests_of_another_form(form: Any) -> None:
    with pytest.raises(IcebergRefusal) as found:
        TableChange.parse(form)
    assert (found.value.code, found.value.kind) == (400, "BadRequestException")


def test_more_updates_than_a_table_takes() -> None:
    updates = [{"action": "set-properties", "updates": {}}] * 10_001
    with pytest.raises(IcebergRefusal, match="10000 items at most"):
        TableChange.parse({"identifier": ID, "updates": updates})


@pytest.mark.parametrize("namespace", [["d.b"], [""], []])
def test_names_with_dots(client: RestClient, namespace: list[str]) -> None:
    form = {"identifier": {"namespace": namespace, "name": "t"}}
    with pytest.raises(IcebergRefusal) as found:
        client.commit(form)
    assert found.value.code in (400, 404)


def test_no_table_at_all(client: RestClient) -> None:
    with pytest.raises(IcebergRefusal, match="1 to 1000 tables, got 0"):
        client.commit()


def test_an_unknown_table(client: RestClient) -> None:
    with pytest.raises(IcebergRefusal) as found:
        client.commit(client.change("nothing", []))
    assert (found.value.code, found.value.kind) == (404, "NoSuchTableException")
