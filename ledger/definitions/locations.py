"""Locations: what the text of one means, by its form and never by what a disk holds.

- A text that begins with `file:` is a URI: its escapes are decoded once.
- A text with another scheme is a place in a storage: what follows the host is a key as it stands.
- Any other text is a path on a disk as it stands: `%20`, `#` and `?` are letters of a name.

A folder has one spelling: a path without empty segments, `.`, `..` and a slash at its end. A folder
whose name is not UTF-8 is no text, so it stays a URI.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from ledger.core.partitions.file_paths import (
    FILE,
    LOCAL,
    SCHEME,
    decoded,
    is_name,
    normal,
    parts_of,
)

ROOTLESS: Final = re.compile(r"file:(?!/)", re.IGNORECASE)
BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}|%00", re.DOTALL)
# What Java leaves as it is in the path of a URI.
UNQUOTED: Final = "/:=@!$&'()*+,;~-._"
PLAIN_INSTEAD: Final = "or give the folder as a plain path, in which nothing is escaped"

FAMILIES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}
"""Schemes that are other names of one."""


@lru_cache(maxsize=1024)
def in_one_spelling(location: str) -> str:
    """Return a location in the one spelling of its folder; raises ValueError for a wrong URI.

    A relative path stays as it is.
    """
    if "\0" in location:
        raise ValueError(f"a location must have no zero byte, got {location!r}")
    if not is_of_a_disk(location):
        return location.rstrip("/")
    path = path_of_uri(location) if is_file_uri(location) else location
    found = normal(path) if path.startswith("/") else path
    return found if is_name(found) else f"{FILE}://{quote(found, UNQUOTED, errors=ESCAPED)}"


def as_stored(location: str) -> str:
    """Return a location from the log in its one spelling; a wrong URI stays as it is."""
    try:
        return in_one_spelling(location)
    except ValueError:
        return location


def as_uri(location: str) -> str:
    """Return a location as the URI that other programs take; its names are escaped.

    A relative path stays as it is.
    """
    found = as_stored(location)
    scheme, _, path = parts_of(found)
    if scheme == FILE or not (scheme or path.startswith("/")):
        return found
    if not scheme:
        return f"{FILE}://{quote(found, UNQUOTED)}"
    return f"{found[: len(found) - len(path)]}{quote(path, UNQUOTED)}"


def is_one_place(one: str, other: str) -> bool:
    """Return whether two locations are one by their form."""
    return place_of(one) == place_of(other)


def place_of(location: str) -> tuple[str, str, str]:
    """Return the family of a scheme, the host and the path or key of a location."""
    scheme, authority, path = parts_of(as_stored(location))
    return FAMILIES.get(scheme, scheme), authority, path


def is_of_a_disk(location: str) -> bool:
    """Return whether a location is a path, or a URI of `file:`."""
    found = SCHEME.match(location)
    return found is None or found[1].lower() == FILE


def is_file_uri(location: str) -> bool:
    """Return whether a location begins with `file:`, whatever follows."""
    return location[: len(FILE) + 1].lower() == f"{FILE}:"


def path_of_uri(uri: str) -> str:
    """Return the path that a URI of `file:` names; bytes that are not UTF-8 stay distinct.

    Raises ValueError for a host, a query, a fragment, a broken escape, and a relative path.
    """
    _, authority, path = parts_of(uri)
    if ROOTLESS.match(uri) or (authority in LOCAL and not path):
        raise ValueError(f"a file: location must be file:/ and an absolute path, got {uri!r}")
    if authority not in LOCAL:
        raise ValueError(f"a file: location must be of this host, got host {authority!r} in {uri}")
    for sign, what in ("?", "query"), ("#", "fragment"):
        if sign in path:
            raise ValueError(
                f"a file: location must have no {what}, got {uri!r}: write {sign} as "
                f"{quote(sign)}, {PLAIN_INSTEAD}"
            )
    if broken := BROKEN.search(path):
        raise ValueError(
            f"an escape in a file: location must be % and two hexadecimal digits, not %00, got "
            f"{broken[0]!r} in {uri!r}: write % as %25, {PLAIN_INSTEAD}"
        )
    return decoded(path)


ESCAPED: Final = "surrogateescape"
"""How `decoded` keeps bytes that are not UTF-8."""
