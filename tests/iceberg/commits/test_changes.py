"""Changes of rows depend on what their client has seen: no update is lost."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyroaring import BitMap

from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import Json, RestClient, Snapshot

SNAPSHOT_LEVELS = {
    f"write.{verb}.isolation-level": "snapshot" for verb in ("delete", "update", "merge")
}
MARKS = {"lakeledger.rows": "marks"}


def with_file(
    client: RestClient, rows: int = 5, properties: Mapping[str, str] = {}
) -> tuple[Json, str]:
    """Make a table with one file of rows 0 to n - 1; return its metadata and the file's path."""
    made = Snapshot(client.create("t", properties=dict(properties)))
    place = made.add([{"id": number, "v": "x"} for number in range(rows)])
    client.commit(client.change("t", made.updates("append"), made.requirements()))
    return client.load("t"), place


def overwritten(metadata: Json, place: str, rows: list[Json]) -> Snapshot:
    """Return a snapshot in which a file gives way to rows in another one."""
    made = Snapshot(metadata)
    made.delete_file(place)
    made.add(rows)
    return made


def send(client: RestClient, made: Snapshot, operation: str = "overwrite") -> None:
    client.commit(client.change("t", made.updates(operation), made.requirements()))


def test_an_overwrite_puts_other_rows_in_the_place_of_a_file(client: RestClient) -> None:
    metadata, place = with_file(client)
    send(client, overwritten(metadata, place, [{"id": 9, "v": "y"}]))
    row = client.ledger.reads().version_row(client.ledger.table("db.t").table)
    assert row is not None
    assert client.rows("t") == [(9, "y")]
    assert (row.operation, row.level, row.adds, row.removes) == ("UPDATE", "Serializable", 1, 1)


def test_an_overwrite_loses_to_an_append_that_came_first(client: RestClient) -> None:
    metadata, place = with_file(client)
    client.append("t", metadata, [{"id": 7, "v": "y"}])
    with pytest.raises(IcebergRefusal, match="ConcurrentAppendException") as refused:
        send(client, overwritten(metadata, place, []))
    newest = client.ledger.reads().version_row(client.ledger.table("db.t").table)
    assert newest is not None
    assert (refused.value.code, refused.value.kind) == (409, "CommitFailedException")
    assert f"position {newest.position}" in str(refused.value)
    assert len(client.rows("t")) == 6


def test_an_overwrite_at_the_level_snapshot_wins_beside_an_append(client: RestClient) -> None:
    metadata, place = with_file(client, properties=SNAPSHOT_LEVELS)
    client.append("t", metadata, [{"id": 7, "v": "y"}])
    send(client, overwritten(metadata, place, [{"id": 8, "v": "z"}]))
    assert client.rows("t") == [(7, "y"), (8, "z")]


def test_an_overwrite_at_the_level_snapshot_loses_to_the_same_file(client: RestClient) -> None:
    metadata, place = with_file(client, properties=SNAPSHOT_LEVELS)
    send(client, overwritten(metadata, place, [{"id": 8, "v": "z"}]))
    with pytest.raises(IcebergRefusal, match="Concurrent") as refused:
        send(client, overwritten(metadata, place, [{"id": 9, "v": "z"}]))
    assert refused.value.code == 409
    assert client.rows("t") == [(8, "z")]


def test_one_level_of_three_is_not_enough(client: RestClient) -> None:
    metadata, place = with_file(client, properties={"write.delete.isolation-level": "snapshot"})
    client.append("t", metadata, [{"id": 7, "v": "y"}])
    with pytest.raises(IcebergRefusal, match="ConcurrentAppendException"):
        send(client, overwritten(metadata, place, []), "delete")


def test_a_counter_ends_at_the_number_of_successes(client: RestClient) -> None:
    made = Snapshot(client.create("t"))
    made.add([{"id": 0, "v": "x"}])
    send(client, made, "append")

    def count(_: int) -> int:
        metadata = client.load("t")
        made = Snapshot(metadata)
        (entry,) = made.live()
        value = number_in(entry.path)
        made.delete_file(entry.path)
        made.add([{"id": value + 1, "v": "x"}])
        try:
            send(client, made)
        except IcebergRefusal as refused:
            assert refused.code == 409  # noqa: PT017 - any other one is an error
            return 0
        return 1

    with ThreadPoolExecutor(3) as pool:
        won = sum(pool.map(count, range(24)))
    assert won > 0
    assert client.rows("t") == [(won, "x")]


def number_in(place: str) -> int:
    """Return the one number in a data file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - of this test alone

    return int(pq.read_table(place.removeprefix("file://"))["id"][0].as_py())


def test_a_change_of_metadata_alone_does_not_stand_between(client: RestClient) -> None:
    metadata, place = with_file(client)
    client.ledger.alter_table("db.t", properties={"note": "1"})
    client.ledger.alter_table("db.t", columns=[("id", "bigint"), ("v", "string"), ("w", "int")])
    send(client, overwritten(metadata, place, [{"id": 9, "v": "y"}]))
    assert client.rows("t") == [(9, "y", None)]


def test_deletes_and_inserts_in_two_snapshots_are_one_version(client: RestClient) -> None:
    metadata, place = with_file(client)
    first = Snapshot(metadata)
    first.delete_file(place)
    updates = first.updates("delete")
    forms = [*metadata["snapshots"], updates[0]["snapshot"]]
    second = Snapshot({**metadata, "snapshots": forms, "current-snapshot-id": first.id})
    second.add([{"id": 9, "v": "y"}])
    client.commit(client.change("t", [*updates, *second.updates("append")], first.requirements()))
    row = client.ledger.reads().version_row(client.ledger.table("db.t").table)
    assert row is not None
    assert client.rows("t") == [(9, "y")]
    assert (row.version, row.operation) == (2, "UPDATE")


@pytest.mark.parametrize("properties", [{}, MARKS])
def test_position_deletes_take_rows_away_again_and_again(
    client: RestClient, properties: dict[str, str]
) -> None:
    metadata, place = with_file(client, properties=properties)
    for number in (1, 3):
        made = Snapshot(metadata)
        made.delete_rows(place, BitMap([number]))
        send(client, made, "delete")
        metadata = client.load("t")
    (file,) = client.ledger.read("db.t").files
    assert [row[0] for row in client.rows("t")] == [0, 2, 4]
    assert file.deletion_vector is not None
    assert file.deletion_vector.cardinality == 2


@pytest.mark.parametrize("properties", [{}, MARKS])
def test_vectors_replace_those_before_them(client: RestClient, properties: dict[str, str]) -> None:
    metadata, place = with_file(client, properties={**properties, "format-version": "3"})
    assert metadata["format-version"] == 3
    rows = BitMap()
    for number in (1, 3):
        made = Snapshot(metadata)
        rows.add(number)
        old = [entry.path for entry in made.live("deletes")]
        made.delete_by_vector(place, rows, old="".join(old))
        send(client, made, "delete")
        metadata = client.load("t")
    assert [row[0] for row in client.rows("t")] == [0, 2, 4]


def test_marks_of_other_rows_of_one_file_both_win(client: RestClient) -> None:
    metadata, place = with_file(client, properties={**MARKS, **SNAPSHOT_LEVELS})
    for number in (1, 3):
        made = Snapshot(metadata)
        made.delete_rows(place, BitMap([number]))
        send(client, made, "delete")
    assert [row[0] for row in client.rows("t")] == [0, 2, 4]


def test_marks_of_the_same_row_conflict(client: RestClient) -> None:
    metadata, place = with_file(client, properties={**MARKS, **SNAPSHOT_LEVELS})
    for number, code in ((1, 0), (1, 409)):
        made = Snapshot(metadata)
        made.delete_rows(place, BitMap([number]))
        if not code:
            send(client, made, "delete")
            continue
        with pytest.raises(IcebergRefusal, match="ConcurrentDeleteDelete") as refused:
            send(client, made, "delete")
        assert refused.value.code == code
    assert len(client.rows("t")) == 4


def test_vectors_of_one_file_conflict_without_marks(client: RestClient) -> None:
    metadata, place = with_file(client, properties=SNAPSHOT_LEVELS)
    first, second = Snapshot(metadata), Snapshot(metadata)
    first.delete_rows(place, BitMap([1]))
    second.delete_rows(place, BitMap([3]))
    send(client, first, "delete")
    with pytest.raises(IcebergRefusal, match="Concurrent") as refused:
        send(client, second, "delete")
    assert refused.value.code == 409


def test_rows_of_a_file_that_the_same_commit_adds_are_deleted(client: RestClient) -> None:
    metadata, _ = with_file(client)
    made = Snapshot(metadata)
    place = made.add([{"id": 10 + number, "v": "y"} for number in range(3)])
    made.delete_rows(place, BitMap([0, 2]))
    send(client, made)
    assert [row[0] for row in client.rows("t")] == [0, 1, 2, 3, 4, 11]


def test_a_long_vector_lies_in_a_file_of_its_own(client: RestClient) -> None:
    rows = 600_000
    metadata, place = with_file(client, rows)
    made = Snapshot(metadata)
    made.delete_rows(place, BitMap(range(0, rows, 7)))
    send(client, made, "delete")
    (file,) = client.ledger.read("db.t").files
    assert file.deletion_vector is not None
    assert file.deletion_vector.storage == "u"
    assert len(client.rows("t")) == rows - len(range(0, rows, 7))


def test_deleted_rows_do_not_come_back(client: RestClient) -> None:
    metadata, place = with_file(client, properties={"format-version": "3"})
    made = Snapshot(metadata)
    made.delete_by_vector(place, BitMap([1, 2]))
    send(client, made, "delete")
    again = Snapshot(client.load("t"))
    (old,) = again.live("deletes")
    again.delete_by_vector(place, BitMap([1]), old=old.path)
    with pytest.raises(IcebergRefusal, match=r"1 rows of .* would come back") as refused:
        send(client, again, "delete")
    assert refused.value.code == 400


def test_a_replacement_keeps_rows_and_wins_beside_appends(client: RestClient) -> None:
    metadata, place = with_file(client)
    client.append("t", metadata, [{"id": 7, "v": "y"}])
    rows = [{"id": number, "v": "x"} for number in range(5)]
    send(client, overwritten(metadata, place, rows), "replace")
    row = client.ledger.reads().version_row(client.ledger.table("db.t").table)
    assert row is not None
    assert row.operation == "OPTIMIZE"
    assert len(client.rows("t")) == 6


def test_an_append_wins_beside_a_replacement(client: RestClient) -> None:
    metadata, place = with_file(client)
    rows = [{"id": number, "v": "x"} for number in range(5)]
    send(client, overwritten(metadata, place, rows), "replace")
    client.append("t", metadata, [{"id": 7, "v": "y"}])
    assert len(client.rows("t")) == 6


def test_a_replacement_loses_to_a_change_of_its_files(client: RestClient) -> None:
    metadata, place = with_file(client)
    made = Snapshot(metadata)
    made.delete_rows(place, BitMap([1]))
    send(client, made, "delete")
    rows = [{"id": number, "v": "x"} for number in range(5)]
    with pytest.raises(IcebergRefusal) as refused:
        send(client, overwritten(metadata, place, rows), "replace")
    assert refused.value.code == 409
    assert len(client.rows("t")) == 4


def test_a_replacement_with_other_rows_is_refused(client: RestClient) -> None:
    metadata, place = with_file(client)
    with pytest.raises(IcebergRefusal, match="must keep all rows, and 5 rows become 1") as refused:
        send(client, overwritten(metadata, place, [{"id": 9, "v": "y"}]), "replace")
    assert refused.value.code == 400
    assert len(client.rows("t")) == 5


def test_an_overwrite_of_a_table_that_was_empty_loses_to_rows(client: RestClient) -> None:
    metadata = client.create("t")
    client.append("t", metadata, [{"id": 1, "v": "a"}])
    made = Snapshot(metadata)
    made.add([{"id": 2, "v": "b"}])
    with pytest.raises(IcebergRefusal, match="ConcurrentAppendException"):
        send(client, made, "overwrite")
    assert client.rows("t") == [(1, "a")]
