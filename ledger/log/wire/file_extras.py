"""What Delta knows about a file besides its path and size: deletion vector, tags and row ids.

Few files have any of it. The values are opaque to the ledger, and are returned as they came.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ledger.core.limits import NUMBER_MAX

BLOCK: Final = "rows:"
"""The path of rows that are in the log begins so."""

TRIMMED: Final = b"LLT1"
"""What stands for rows of the log that were removed before the log was trimmed above them."""

SEALED: Final = b"LLE1"
"""The first bytes of rows in the log that are encrypted; rows in clear begin with `ff ff ff ff`."""

STORAGES: Final = ("u", "i", "p")
ID_CHARS_MAX: Final = 64
DIGEST_BYTES: Final = 16


def is_block(path: str) -> bool:
    """Return whether the rows of a path are in the log, and no storage has a file of it."""
    return path.startswith(BLOCK)


def is_sealed(rows: bytes) -> bool:
    """Return whether rows in the log are encrypted, so that only readers with a key know them."""
    return rows[: len(SEALED)] == SEALED


class DeletionVector(NamedTuple):
    """The place of the list of deleted rows of a file, as in Delta.

    `storage` is "u" if `place` encodes the name of a file below the table's location, "p" if it is
    the path of a file, "i" if it encodes the list itself. `offset` is where the list begins in the
    file, `size` its number of bytes, `cardinality` the number of deleted rows.
    """

    storage: str
    place: str
    offset: int | None
    size: int
    cardinality: int

    @property
    def id(self) -> str:
        """The unique id, composed as Delta does it."""
        ending = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage}{self.place}{ending}"

    @property
    def name(self) -> str:
        """The id, or a short name for a long one: the vectors of marked files are known by it."""
        return short_id(self.id)


def short_id(vector: str) -> str:
    """Return the id of a vector, a digest of it if the vector stands in the id and is long."""
    if not vector.startswith("i") or len(vector) <= ID_CHARS_MAX:
        return vector
    return f"i#{blake2b(vector.encode(), digest_size=DIGEST_BYTES).hexdigest()}"


class Tags(dict[str, str | None]):
    """The tags of a file, by name; they must not change, so that a file stays hashable."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash that is the same for equal tags."""
        return hash(frozenset(self.items()))


class FileExtras(NamedTuple):
    """The last fields of a file; `row_version` is Delta's default row commit version."""

    deletion_vector: DeletionVector | None = None
    tags: Mapping[str, str | None] = Tags()
    base_row_id: int | None = None
    row_version: int | None = None


NO_EXTRAS: Final = FileExtras()


def checked_extras(path: str, vector: str, extras: FileExtras) -> tuple[str, FileExtras]:
    """Return the id of a file's deletion vector, and the extras with values of exact types.

    Raises ValueError or TypeError for values that no store could hold, and for a deletion vector
    with another id than `vector`.
    """
    described, tags, base_row_id, row_version = extras
    if described is not None:
        described = checked_vector(path, described)
        if vector not in ("", described.id, described.name):
            raise ValueError(
                f"file {path!r}: vector must be the id of its deletion vector, {described.id!r}, "
                f"got {vector!r}"
            )
        vector = vector or described.id
    for name, number in (("base_row_id", base_row_id), ("row_version", row_version)):
        if number is not None:
            check_number(path, name, number)
    return vector, FileExtras(described, checked_tags(path, tags), base_row_id, row_version)


def checked_vector(path: str, vector: Any) -> DeletionVector:
    """Return a deletion vector made of its fields; raises ValueError or TypeError."""
    if isinstance(vector, str):
        raise TypeError(f"file {path!r}: deletion_vector must be a DeletionVector, got {vector!r}")
    found = DeletionVector(*vector)
    if found.storage not in STORAGES:
        raise ValueError(
            f"file {path!r}: the storage of a deletion vector must be one of "
            f"{', '.join(STORAGES)}, got {found.storage!r}"
        )
    check_text(path, "the place of a deletion vector", found.place)
    for name in ("offset", "size", "cardinality"):
        number = getattr(found, name)
        if number is not None or name != "offset":
            check_number(path, f"the {name} of a deletion vector", number)
    return found


def checked_tags(path: str, tags: Any) -> Tags:
    """Return tags; raises ValueError or TypeError unless they are texts by name."""
    if not isinstance(tags, Mapping):
        raise TypeError(f"file {path!r}: tags must be a mapping of texts, got {tags!r}")
    for name, text in tags.items():
        check_text(path, "the name of a tag", name)
        if text is not None:
            check_text(path, f"tag {name}", text)
    return Tags(tags)


def check_text(path: str, what: str, text: object) -> None:
    """Raise ValueError or TypeError for anything but a text in UTF-8 without zero bytes."""
    if not isinstance(text, str):
        raise TypeError(f"file {path!r}: {what} must be a text, got {text!r}")
    if b"\0" in text.encode():
        raise ValueError(f"file {path!r}: {what} must have no zero byte, got {text!r}")


def check_number(path: str, what: str, number: object) -> None:
    """Raise ValueError or TypeError for anything but a whole number of 63 bits."""
    if type(number) is not int:
        raise TypeError(f"file {path!r}: {what} must be a whole number, got {number!r}")
    if not 0 <= number <= NUMBER_MAX:
        raise ValueError(f"file {path!r}: {what} must be 0 to {NUMBER_MAX}, got {number}")
