"""Paths of data files: one key for every spelling of one file.

A path in a Delta log is a URI, relative to the table or absolute. Writers spell one file in several
ways: `a%20b` and `a b`, `x//a` and `x/./a`, `file:/t/a` and `file:///t/a`, and `/t/a` for the file
`a` of the table at `/t`. The key is for comparing only. A path is kept as it was written.
"""

import re
from collections.abc import Sequence
from typing import Final

# A slash must follow a scheme: the partition folder `at=12:00` is no scheme.
SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
LOCAL: Final = frozenset({"", "localhost"})
FILE: Final = "file"


def file_key(path: str, table: str = "") -> str:
    """Return the key of a file whose path is a URI; equal keys mean the same file.

    `table` is the folder of the table as a plain path, from which relative paths start. The key of
    a file inside it is relative.
    """
    if is_plain(path) and "%" not in path:
        return path
    scheme, authority, rest = parts_of(path)
    return placed(scheme, authority, decoded(rest), table)


def path_key(path: str, location: str = "") -> str:
    """Return the key of a file whose path is plain text, in which `%` is no escape.

    `location` is the location of its table.
    """
    if is_plain(path):
        return path
    return placed(*parts_of(path), parts_of(location)[2])


def is_absolute(path: str) -> bool:
    """Tell whether a path does not start at the location of its table."""
    return path.startswith("/") or SCHEME.match(path) is not None


def is_plain(path: str) -> bool:
    """Tell whether a path without escapes is its own key."""
    return not (
        "//" in path or "/." in path or ":/" in path or path[:1] in ("/", ".") or path[-1:] == "/"
    )


def placed(scheme: str, authority: str, path: str, table: str) -> str:
    """Return the key of a path in a file system, relative if it lies in the table's folder."""
    key = normal(path)
    if scheme not in ("", FILE) or authority not in LOCAL:
        return f"{scheme}://{authority}{key}"
    folder = normal(table).rstrip("/") + "/"
    is_inside = bool(table) and key.startswith(folder) and len(key) > len(folder)
    return key[len(folder) :] if is_inside else key


def parts_of(path: str) -> tuple[str, str, str]:
    """Return scheme, authority and path of a URI; scheme and authority may be empty."""
    found = SCHEME.match(path)
    if found is None:
        return "", "", path
    scheme, rest = found[1].lower(), path[found.end() :]
    if not rest.startswith("//"):
        return scheme, "", rest
    authority, slash, inner = rest[2:].partition("/")
    return scheme, authority.lower(), slash + inner


def decoded(path: str) -> str:
    """Return a path with its escapes decoded once; bytes that are not UTF-8 stay distinct."""
    if "%" not in path:
        return path
    found = ESCAPE.sub(lambda each: bytes.fromhex(each[1].decode()), path.encode())
    return found.decode(errors="surrogateescape")


def normal(path: str) -> str:
    """Return a path without empty segments, `.` and `..`, except `..` at the start."""
    root = "/" if path.startswith("/") else ""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment in ("", "."):
            continue
        if segment == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif segment != ".." or not root:
            kept.append(segment)
    return root + "/".join(kept)


def spellings(location: str, path: str) -> Sequence[str]:
    """Return the paths of a file: a path from a Delta log is a URI, other paths are plain text.

    `location` is that of the table in its one spelling, and "" for an absolute path.
    """
    folder = f"{location}/" if location else ""
    found = [f"{folder}{path}"]
    if "%" in path:
        found.append(f"{folder}{decoded(path)}")
    return [each for each in dict.fromkeys(found) if is_name(each)]


def is_name(path: str) -> bool:
    """Tell whether a file can have a path: no zero byte, and nothing that is not UTF-8."""
    return "\0" not in path and path.encode(errors="replace").decode() == path
