"""Small cases of suite `delta`, for tests of its runner; a side is what its operation does."""

from collections.abc import Mapping
from typing import Any

Fields = dict[str, Any]

NOTHING: Mapping[str, Any] = {
    "read_predicates": [],
    "read_files": [],
    "read_whole_table": False,
    "adds": [],
    "removes": [],
    "metadata_change": False,
    "protocol_change": False,
    "app_id": None,
}
ONE_FILE: Mapping[str, Any] = {
    "partition_columns": ["part"],
    "schema": {"part": "int", "x": "int"},
    "files": [{"path": "p1/a", "partition": {"part": "1"}}],
}
ABSENT: Mapping[str, Any] = {
    "exists": False,
    "partition_columns": ["part"],
    "schema": {"part": "int", "x": "int"},
    "files": [],
}


def case(current: Fields, *winning: Fields, expect: str = "commit", **fields: Any) -> Fields:
    """Return a case on a Serializable table of one file, unless the fields say otherwise."""
    about = {"isolation": "Serializable", "table": ONE_FILE, **fields}
    return {"current": current, "winning": list(winning), "expect": expect, **about}


def inserted(path: str, *, data_change: bool = True, **fields: Any) -> Fields:
    """Return a side that adds one file to partition 1 without having read anything."""
    added = {"path": path, "partition": {"part": "1"}, "data_change": data_change}
    return {**NOTHING, "operation": "INSERT", "blind_append": True, "adds": [added], **fields}


def created(path: str) -> Fields:
    """Return a side that creates the table with one file."""
    change = {"metadata_change": True, "metadata_kind": "create", "protocol_change": True}
    return {**inserted(path), "operation": "CREATE", **change}


def updated(**fields: Any) -> Fields:
    """Return a side that reads partition 1 and writes its file again."""
    read = {"read_predicates": ["part = 1"], "read_files": ["p1/a"]}
    removed = [{"path": "p1/a", "data_change": True}]
    return {
        **inserted("p1/n", operation="UPDATE", blind_append=False),
        **read,
        "removes": removed,
        **fields,
    }


def altered(kind: str = "schema", **fields: Any) -> Fields:
    """Return a side that changes the metadata and lists no file."""
    change = {"metadata_change": True, "metadata_kind": kind, **fields}
    return {**NOTHING, "operation": "ALTER", "blind_append": True, **change}


def upgraded(**protocol: Any) -> Fields:
    """Return a side that changes the protocol and nothing else."""
    change = {"protocol_change": True, "protocol": protocol}
    return {**NOTHING, "operation": "ALTER", "blind_append": True, **change}
