"""Tables over HTTP: lists, loads with their tags, pinned catalogs, renames, drops, reports."""

from pathlib import Path
from urllib.parse import quote

import pytest

from ledger.errors import ReaderBehindError
from ledger.testing import InMemoryLedger
from projections.iceberg.served.tables import ServedTables
from projections.web.iceberg.ports import ShownTable
from projections.web.iceberg.tables import after_change
from tests.iceberg.door.doors import Door, answering

NO_TABLE = (404, "NoSuchTableException")
TABLE = "namespaces/db/tables/t"


@pytest.fixture
def filled(door: Door) -> Door:
    """Return a door to a ledger with one table of one row."""
    door.ledger.create_table("db.t", [("id", "bigint")])
    door.ledger.append("db.t", [{"id": 1}])
    return door


def snapshots(door: Door, path: str = TABLE) -> int:
    return len(door.ask(path).form["metadata"]["snapshots"])


def test_tables_are_listed_and_views_and_folders_are_not(filled: Door) -> None:
    filled.ledger.create_table("db.u", [("id", "int")])
    filled.ledger.create_table("db.folder", [("id", "int")], layout="directories")
    filled.ledger.create_view("db.v", "SELECT id FROM db.t")
    filled.ledger.create_table("db.inner.t", [("id", "int")])

    found = filled.ask("namespaces/db/tables").form
    assert found == {
        "identifiers": [{"namespace": ["db"], "name": "t"}, {"namespace": ["db"], "name": "u"}]
    }
    page = filled.ask("namespaces/db/tables?pageToken=&pageSize=1").form
    assert page["next-page-token"] == "t"
    assert filled.ask("namespaces/no/tables").error == (404, "NoSuchNamespaceException")
    for name in ("v", "folder"):
        assert filled.ask(f"namespaces/db/tables/{name}").error[0] in {400, 404}


def test_a_load_has_metadata_and_a_file_with_it(filled: Door) -> None:
    found = filled.ask(TABLE)
    form = found.form
    assert form["metadata"]["format-version"] == 2
    assert form["metadata"]["properties"]["gc.enabled"] == "false"
    assert Path(form["metadata-location"].removeprefix("file://")).exists()
    assert form["config"] == {}
    assert found.headers["etag"]


@pytest.mark.parametrize("name", ["nope", "t.snapshots", "T\x00", "t%20", "ü", "t" * 3_000])
def test_a_table_that_is_not_there_is_missed_by_name(filled: Door, name: str) -> None:
    for method in ("GET", "DELETE"):
        assert filled.ask(f"namespaces/db/tables/{quote(name)}", method).error == NO_TABLE
    assert filled.ask(f"namespaces/db/tables/{quote(name)}", "HEAD").status == 404


def test_metadata_of_a_table_arrives_as_a_namespace_and_is_missed(filled: Door) -> None:
    """A client that looks for `db.t.snapshots` tries it as a table in the namespace `db.t`."""
    path = f"namespaces/{quote('db' + chr(31) + 't')}/tables/snapshots"
    assert filled.ask(path).error == NO_TABLE


def test_a_client_with_the_newest_metadata_gets_none(filled: Door) -> None:
    tag = filled.ask(TABLE).headers["etag"]
    refs = filled.ask(f"{TABLE}?snapshots=refs").headers["etag"]
    assert tag != refs

    for header in (tag, f"W/{tag}", f'"other", {tag}'):
        same = filled.ask(TABLE, headers={"If-None-Match": header})
        assert (same.status, same.data, same.headers["etag"]) == (304, b"", tag)
    assert filled.ask(TABLE, headers={"If-None-Match": refs}).status == 200
    assert filled.ask(f"{TABLE}?snapshots=refs", headers={"If-None-Match": refs}).status == 304

    filled.ledger.append("db.t", [{"id": 2}])
    assert filled.ask(TABLE, headers={"If-None-Match": tag}).status == 200
    newer = filled.ask(TABLE).headers["etag"]
    filled.ledger.alter_table("db.t", properties={"a": "1"})
    assert filled.ask(TABLE, headers={"If-None-Match": newer}).status == 200


def test_a_load_of_refs_has_one_snapshot(filled: Door) -> None:
    filled.ledger.append("db.t", [{"id": 2}])
    assert snapshots(filled) == 2
    assert snapshots(filled, f"{TABLE}?snapshots=refs") == 1
    assert filled.ask(f"{TABLE}?snapshots=some").error == (400, "BadRequestException")


def test_a_pinned_catalog_shows_every_table_as_of_its_position(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    with answering(memory, tmp_path) as door:
        door.ledger.create_table("db.t", [("id", "bigint")])
        first = door.ledger.append("db.t", [{"id": 1}])
        assert first is not None
        pin = f"/v1/main@{door.ledger.reads().position()}"
        door.ledger.append("db.t", [{"id": 2}])
        door.ledger.create_table("db.later", [("id", "bigint")])

        assert snapshots(door, f"{pin}/{TABLE}") == 1
        assert door.ask(f"{pin}/namespaces/db/tables/later").error == NO_TABLE
        assert len(door.ask(f"{pin}/namespaces/db/tables").form["identifiers"]) == 1
        tag = door.ask(f"{pin}/{TABLE}").headers["etag"]
        assert door.ask(f"{pin}/{TABLE}", headers={"If-None-Match": tag}).status == 304

        door.ledger.rename_table("db.t", "db.renamed")
        door.ledger.drop_table("db.renamed")
        assert door.ask(f"{pin}/{TABLE}").error == NO_TABLE
        assert snapshots(door, f"{pin}/namespaces/db/tables/renamed") == 1


def test_a_pinned_catalog_takes_no_change(filled: Door) -> None:
    pin = f"/v1/main@{filled.ledger.reads().position()}"
    before = filled.ledger.reads().position()
    change = {"identifier": {"namespace": ["db"], "name": "t"}, "requirements": [], "updates": []}
    asked = {
        f"{pin}/{TABLE}": change,
        f"{pin}/namespaces/db/tables": {"name": "u", "schema": {"type": "struct", "fields": []}},
        f"{pin}/transactions/commit": {"table-changes": [change]},
        f"{pin}/tables/rename": {"source": change["identifier"], "destination": {}},
    }
    for path, form in asked.items():
        refused = filled.post(path, form)
        assert refused.error == (400, "BadRequestException")
        assert "as of a position can only be read" in refused.form["error"]["message"]
    assert filled.ask(f"{pin}/{TABLE}", "DELETE").error == (400, "BadRequestException")
    assert filled.ledger.reads().position() == before


def rename(door: Door, source: list[str], destination: list[str]) -> tuple[int, str]:
    named = [{"namespace": each[:-1], "name": each[-1]} for each in (source, destination)]
    found = door.post("tables/rename", {"source": named[0], "destination": named[1]})
    return (204, "") if found.status == 204 else found.error


def test_a_table_is_renamed_into_a_namespace_that_is_there(filled: Door) -> None:
    filled.ledger.create_namespace("other")
    filled.ledger.create_table("db.taken", [("id", "int")])

    assert rename(filled, ["db", "no"], ["db", "x"]) == NO_TABLE
    assert rename(filled, ["db", "t"], ["nowhere", "t"]) == (404, "NoSuchNamespaceException")
    assert rename(filled, ["db", "t"], ["db", "taken"]) == (409, "AlreadyExistsException")
    for wrong in (["db", "a.b"], ["db", ""], ["db", "a\nb"], ["t"], ["db", "a:b", "c"]):
        assert rename(filled, ["db", "t"], wrong)[0] in {400, 404}, wrong
    assert filled.ask(TABLE, "HEAD").status == 204
    assert rename(filled, ["db", "t"], ["other", "u"]) == (204, "")
    assert filled.ask("namespaces/other/tables/u", "HEAD").status == 204
    assert filled.ask(TABLE, "HEAD").status == 404


def test_a_table_is_renamed_to_a_name_without_a_dot(filled: Door) -> None:
    filled.ledger.create_namespace("default")
    assert rename(filled, ["db", "t"], ["default", "t"]) == (204, "")
    assert filled.ledger.table("t").name == "t"


def test_a_drop_keeps_the_files_also_with_a_purge(filled: Door, tmp_path: Path) -> None:
    files = sorted(tmp_path.rglob("*.parquet"))
    assert files
    assert filled.ask(f"{TABLE}?purgeRequested=true", "DELETE").status == 204
    assert sorted(tmp_path.rglob("*.parquet")) == files
    assert filled.ask(TABLE).error == NO_TABLE
    assert filled.ask(TABLE, "DELETE").error == NO_TABLE


def test_a_report_is_taken_and_not_kept(filled: Door) -> None:
    before = filled.ledger.reads().position()
    for kind in ("scan-report", "commit-report"):
        assert filled.post(f"{TABLE}/metrics", {"report-type": kind, "more": 1}).status == 204
    assert filled.post(f"{TABLE}/metrics", {"report-type": "x"}).error[0] == 400
    assert filled.post("namespaces/db/tables/no/metrics", {"report-type": "scan-report"}).error == (
        NO_TABLE
    )
    assert filled.ledger.reads().position() == before


def test_a_scan_is_planned(filled: Door) -> None:
    found = filled.post(f"{TABLE}/plan", {}).form
    assert found["status"] == "completed"
    assert len(found["file-scan-tasks"]) == 1
    assert filled.post(f"{TABLE}/plan", {"snapshot-id": "x"}).error[0] == 400


def test_a_table_of_another_catalog_is_registered_below_permitted_places_alone(
    filled: Door,
) -> None:
    asked = {"name": "x", "metadata-location": "/etc/passwd"}
    assert filled.post("namespaces/db/register", asked).error == (
        406,
        "UnsupportedOperationException",
    )
    assert filled.post("namespaces/no/register", asked).error[0] == 404


def test_a_change_is_answered_once_the_rows_show_it(filled: Door) -> None:
    """Rows that are behind for long make the outcome of a change unknown only in the end."""
    row = filled.ledger.table("db.t")
    late = iter([ReaderBehindError(1, 2, 0), ReaderBehindError(1, 2, 0)])
    tables = ServedTables(filled.ledger.reads, "x")

    def table() -> ShownTable:
        if (error := next(late, None)) is not None:
            raise error
        return tables.table(row)

    assert after_change(table).form is not None
    assert next(late, None) is None
