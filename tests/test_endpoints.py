"""Kept ports: a role answers where it did at its last start, unless it is told otherwise."""

import json
from pathlib import Path

import pytest

from ledger.errors import SettingsError
from ledger.machine.endpoints import Endpoint, KeptPorts


def test_a_role_has_the_same_port_at_every_start(tmp_path: Path) -> None:
    said = list[str]()
    first = {role: KeptPorts(tmp_path, said.append).endpoint_of(role, None) for role in "abc"}
    again = {role: KeptPorts(tmp_path, said.append).endpoint_of(role, None) for role in "cab"}

    assert first == again
    assert len(set(first.values())) == len(first)
    assert said == []


def test_what_is_kept_is_kept_in_the_folder_of_the_ledger(tmp_path: Path) -> None:
    kept = KeptPorts(tmp_path, print).endpoint_of("follower", None)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/ports.json").write_bytes((tmp_path / "ports.json").read_bytes())

    assert KeptPorts(tmp_path / "copy", print).endpoint_of("follower", None) == kept


def test_a_role_answers_elsewhere_while_its_port_is_taken(tmp_path: Path) -> None:
    said = list[str]()
    ports = KeptPorts(tmp_path, said.append)
    kept = ports.endpoint_of("follower", None)
    with Endpoint.parse(kept).listen():
        other = ports.endpoint_of("follower", None)
    (line,) = said

    assert other != kept
    assert other in line
    assert kept.rpartition(":")[2] in line
    assert ports.endpoint_of("follower", None) == kept


def test_what_somebody_says_goes_first_and_is_not_kept(tmp_path: Path) -> None:
    ports = KeptPorts(tmp_path, print)
    with Endpoint.parse("127.0.0.1:0").listen() as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"listen at {where}"):
            ports.endpoint_of("follower", where)

    assert ports.endpoint_of("follower", where) == where
    assert ports.endpoint_of("follower", "off") == "off"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "7", '{"follower": "x"}', '{"follower": 0}', '{"follower": 70000}', "\xff"]
)
def test_a_file_that_names_no_port_is_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "ports.json").write_text(text, "latin-1")
    found = KeptPorts(tmp_path, print).endpoint_of("follower", None)

    kept = json.loads((tmp_path / "ports.json").read_text())
    assert found == f"127.0.0.1:{kept['follower']}"
