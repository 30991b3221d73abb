"""Namespaces over HTTP: facts of the ledger, and the names above its tables."""

from pathlib import Path
from urllib.parse import quote

import pytest

from ledger.testing import InMemoryLedger
from tests.iceberg.door.doors import Door, answering

NORTH = quote("sales\x1fnorth")


def names(door: Door, query: str = "") -> list[list[str]]:
    found: list[list[str]] = door.ask(f"namespaces{query}").form["namespaces"]
    return found


def test_a_namespace_is_a_fact_of_the_ledger(door: Door) -> None:
    made = door.post("namespaces", {"namespace": ["sales"], "properties": {"owner": "ada"}})

    assert made.status == 200
    assert made.form == {"namespace": ["sales"], "properties": {"owner": "ada"}}
    (row,) = door.ledger.namespaces()
    assert (row.name, dict(row.properties)) == ("sales", {"owner": "ada"})
    assert door.ask("namespaces/sales").form == made.form
    assert door.ask("namespaces/SALES").status == 200


def test_a_namespace_that_is_there_is_not_made_again(door: Door) -> None:
    door.ledger.create_table("db.t", [("id", "int")])

    for name in ("db", "DB"):
        assert door.post("namespaces", {"namespace": [name]}).error == (
            409,
            "AlreadyExistsException",
        )
    assert all(not row.changed for row in door.ledger.namespaces())


def test_namespaces_of_tables_and_their_outer_ones_are_listed(door: Door) -> None:
    door.ledger.create_table("a.b.t", [("id", "int")])
    door.ledger.create_table("bare", [("id", "int")])
    door.ledger.create_namespace("sales.north")

    assert names(door) == [["a"], ["default"], ["sales"]]
    assert names(door, "?parent=a") == [["a", "b"]]
    assert names(door, "?parent=sales") == [["sales", "north"]]
    assert names(door, f"?parent={NORTH}") == []
    assert door.ask("namespaces?parent=nope").error == (404, "NoSuchNamespaceException")


def test_a_namespace_of_several_parts_is_found_by_its_path(door: Door) -> None:
    door.ledger.create_namespace("sales.north", comment="cold")

    found = door.ask(f"namespaces/{NORTH}").form
    assert found == {"namespace": ["sales", "north"], "properties": {"comment": "cold"}}
    assert door.ask(f"namespaces/{NORTH}", "HEAD").status == 204
    assert door.ask("namespaces/sales.north").error == (404, "NoSuchNamespaceException")
    assert door.ask("namespaces/nope", "HEAD").status == 404


def test_lists_come_in_pages_where_a_client_asks_for_pages(door: Door) -> None:
    for name in ("a", "b", "c"):
        door.ledger.create_namespace(name)

    first = door.ask("namespaces?pageToken=&pageSize=2").form
    assert first["namespaces"] == [["a"], ["b"]]
    token = first["next-page-token"]
    second = door.ask(f"namespaces?pageToken={token}&pageSize=2").form
    assert second == {"namespaces": [["c"]]}
    for all_of_them in ("?pageToken=", "?pageSize=1", ""):
        assert door.ask(f"namespaces{all_of_them}").form == {"namespaces": [["a"], ["b"], ["c"]]}
    for size in ("0", "-1", "two", "1e3", "²"):
        assert door.ask(f"namespaces?pageToken=&pageSize={quote(size)}").error[0] == 400


def test_properties_are_set_removed_and_missed(door: Door) -> None:
    door.ledger.create_namespace("db", properties={"a": "1", "b": "2"})

    asked = {"updates": {"c": "3", "a": "4"}, "removals": ["b", "nope", "b"]}
    found = door.post("namespaces/db/properties", asked)
    assert found.form == {"updated": ["c", "a"], "removed": ["b"], "missing": ["nope"]}
    assert door.ask("namespaces/db").form["properties"] == {"a": "4", "c": "3"}
    both = door.post("namespaces/db/properties", {"updates": {"a": "1"}, "removals": ["a"]})
    assert both.error == (422, "UnprocessableEntityException")
    assert door.post("namespaces/no/properties", {}).error == (404, "NoSuchNamespaceException")


def test_a_namespace_of_tables_alone_gets_properties_as_a_fact(door: Door) -> None:
    door.ledger.create_table("db.t", [("id", "int")])

    found = door.post("namespaces/db/properties", {"updates": {"owner": "ada"}, "removals": ["x"]})
    assert found.form == {"updated": ["owner"], "removed": [], "missing": ["x"]}
    (row,) = door.ledger.namespaces()
    assert row.changed > 0


def test_only_an_empty_namespace_is_dropped(door: Door) -> None:
    door.ledger.create_table("db.t", [("id", "int")])
    door.ledger.create_table("bare", [("id", "int")])
    door.ledger.create_namespace("sales.north")
    door.ledger.create_namespace("sales")
    door.ledger.create_namespace("default")

    for name in ("db", "sales", "default"):
        assert door.ask(f"namespaces/{name}", "DELETE").error == (409, "NamespaceNotEmptyException")
    assert door.ask(f"namespaces/{NORTH}", "DELETE").status == 204
    assert door.ask("namespaces/sales", "DELETE").status == 204
    assert door.ask("namespaces/sales", "DELETE").error == (404, "NoSuchNamespaceException")


def test_tables_without_a_dot_are_in_the_default_namespace(door: Door) -> None:
    door.ledger.create_table("bare", [("id", "int")])
    door.ledger.create_table("default.dotted", [("id", "int")])

    found = door.ask("namespaces/default/tables").form["identifiers"]
    assert [each["name"] for each in found] == ["bare", "dotted"]
    for name in ("bare", "dotted"):
        assert door.ask(f"namespaces/default/tables/{name}", "HEAD").status == 204


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"namespace": []},
        {"namespace": [""]},
        {"namespace": ["a.b"]},
        {"namespace": ["a", ""]},
        {"namespace": "a"},
        {"namespace": [1]},
        {"namespace": None},
        {"namespace": ["a\0b"]},
        {"namespace": ["a\nb"]},
        {"namespace": ["a:b"]},
        {"namespace": ["n" * 300]},
        {"namespace": ["a"], "properties": []},
        {"namespace": ["a"], "properties": {"k": 1}},
        {"namespace": ["a"], "properties": {"k": None}},
        {"namespace": ["a"], "properties": {"k": "v" * 2_000_000}},
        {"namespace": ["a"], "properties": {str(number): "" for number in range(10_000)}},
    ],
)
def test_an_impossible_namespace_is_refused_and_nothing_is_made(door: Door, asked: object) -> None:
    refused = door.post("namespaces", asked)

    assert refused.error == (400, "BadRequestException")
    assert list(door.ledger.namespaces()) == []


def test_a_pinned_catalog_has_the_namespaces_of_its_position(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    with answering(memory, tmp_path) as door:
        first = door.ledger.create_namespace("a").position
        door.ledger.create_namespace("b")

        then = f"/v1/main@{first}/namespaces"
        assert door.ask(then).form == {"namespaces": [["a"]]}
        assert door.ask(f"{then}/b").error == (404, "NoSuchNamespaceException")
        assert door.post(then, {"namespace": ["c"]}).error == (400, "BadRequestException")
        assert door.ask(f"{then}/a", "DELETE").error == (400, "BadRequestException")
        for position in ("0", "99999999", "x", "-1", "", "9" * 40):
            found = door.ask(f"/v1/main@{position}/namespaces")
            assert found.error == (400, "BadRequestException"), position
        assert names(door) == [["a"], ["b"]]
