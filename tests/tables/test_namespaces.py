"""Namespaces: facts of the log, beside those that tables alone make."""

from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.errors import (
    CommandInvalidError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    UnknownNamespaceError,
    UnknownTableError,
)

COLUMNS: Final = [("id", "bigint")]


def table(ledger: Ledger, name: str, folder: Path) -> None:
    ledger.create_table(name, COLUMNS, location=str(folder / name))


def shown(ledger: Ledger, within: str = "") -> list[tuple[str, dict[str, str], bool]]:
    return [
        (row.name, {each.key: each.value for each in row.properties}, row.changed > 0)
        for row in ledger.namespaces(within)
    ]


def test_namespaces_are_those_created_and_those_of_tables(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_namespace("sales", comment="what was sold", properties={"owner": "ada"})
    ledger.create_namespace("empty.inner")
    table(ledger, "ops.logs.lines", tmp_path)

    assert shown(ledger) == [
        ("empty", {}, False),
        ("empty.inner", {}, True),
        ("ops", {}, False),
        ("ops.logs", {}, False),
        ("sales", {"comment": "what was sold", "owner": "ada"}, True),
    ]
    assert shown(ledger, "OPS") == [("ops.logs", {}, False)]


def test_properties_are_added_and_removed(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_namespace("sales", properties={"a": "1", "b": "2"})
    ledger.alter_namespace("Sales", properties={"c": "3", "a": "4"}, unset=["b"])
    table(ledger, "ops.t", tmp_path)
    ledger.alter_namespace("ops", properties={"x": "y"})

    assert shown(ledger) == [("ops", {"x": "y"}, True), ("sales", {"a": "4", "c": "3"}, True)]


def test_earlier_namespaces_can_be_read(ledger: Ledger) -> None:
    created = ledger.create_namespace("sales", comment="one")
    ledger.alter_namespace("sales", properties={"comment": "two"})
    dropped = ledger.drop_namespace("sales")
    assert dropped is not None
    reads = ledger.reads()

    assert [row.properties[0].value for row in reads.namespaces(created.position)] == ["one"]
    assert [row.properties[0].value for row in reads.namespaces(dropped.position - 1)] == ["two"]
    assert reads.namespaces() == []


def test_a_namespace_is_dropped_when_it_is_empty(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_namespace("sales")
    table(ledger, "sales.orders", tmp_path)
    ledger.create_namespace("sales.north")

    with pytest.raises(NamespaceNotEmptyError, match="is in it"):
        ledger.drop_namespace("sales")
    ledger.drop_namespace("sales", cascade=True)

    assert shown(ledger) == []
    with pytest.raises(UnknownTableError):
        ledger.table("sales.orders")


def test_a_namespace_of_tables_alone_ends_with_them(ledger: Ledger, tmp_path: Path) -> None:
    table(ledger, "sales.orders", tmp_path)

    assert ledger.drop_namespace("sales", cascade=True) is None
    assert shown(ledger) == []


def test_what_cannot_be_done_is_refused_by_name(ledger: Ledger) -> None:
    ledger.create_namespace("sales")

    with pytest.raises(NamespaceExistsError, match="already"):
        ledger.create_namespace("SALES")
    with pytest.raises(UnknownNamespaceError, match="no namespace ops"):
        ledger.drop_namespace("ops")
    with pytest.raises(UnknownNamespaceError, match="no namespace ops"):
        ledger.drop_namespace("ops", cascade=True)
    with pytest.raises(UnknownNamespaceError):
        ledger.alter_namespace("ops", properties={"a": "b"})
    with pytest.raises(CommandInvalidError, match="a letter at least"):
        ledger.create_namespace("a..b")
    with pytest.raises(TypeError, match="texts"):
        ledger.create_namespace("ops", properties={"a": 1})  # type: ignore[dict-item]
