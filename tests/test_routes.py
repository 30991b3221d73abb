"""The table of reads over HTTP fits the declarations of the reads, and lacks none of them."""

import re
from inspect import isfunction
from typing import get_args

import pytest

from ledger.reads.port import Reads
from ledger.reads.remote.http import HttpReads
from ledger.reads.remote.routes import ROUTES, WHERE, Route
from ledger.reads.whole_numbers import LIMIT

# These have forms of their own over HTTP, or none.
BESIDE = {"position", "wait", "reach", "metadata", "close"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_what_a_route_names_is_a_parameter_of_its_read_or_a_field_of_its_rows(route: Route) -> None:
    in_path = re.findall(r"{(\w+)}", route.path)
    bodies = [route.body] if route.body else []
    assert {*in_path, *route.behind, *route.names.values(), *bodies} <= route.parameters.keys()
    if route.behind:
        (row,) = get_args(route.kind)
        assert LIMIT in route.parameters
        assert set(route.behind.values()) <= set(row._fields)


def test_every_read_has_a_route() -> None:
    declared = {name for name, each in vars(Reads).items() if isfunction(each) and name[0] != "_"}
    assert {route.name for route in ROUTES} == declared - BESIDE
    assert {name for name in declared - BESIDE if name not in vars(HttpReads)} == set()


def test_pages_go_on_behind_the_last_row() -> None:
    files = next(route for route in ROUTES if route.name == "files")
    row = type("Row", (), {"path": "a", "vector": "b"})()
    assert files.next_page(None) == {}
    assert files.next_page(row) == {"path": "a", "vector": "b"}
    assert files.body == WHERE
