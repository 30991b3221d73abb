"""Metadata of tables as one reader sees it: what is asked, what is answered, and from where.

A reader brings its list of valid write ids and gets exactly what that says. What a table consists
of are objects, each read alone: the table itself, its definition; partitions, statistics and
whatever else is looked up alone are properties whose key begins with `object.`, such as
`object.partition:day=1` or `object.stats:delay`. Who answers is not of this module: rows, a cache,
or either of them behind a URL.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from ledger.core.commands import Property, TableDefinition
from ledger.core.lists.valid_lists import ValidWriteIdList

OBJECT_PREFIX: Final = "object."
TABLE: Final = "table"
NAME: Final = "name"
MAX_WAIT_MS: Final = 500

Name = tuple[str, str]
"""Catalog and name of a table, as its maker spelled them."""

Value = TableDefinition | str
Objects = Mapping[str, Value]

Source = Literal["cache", "store"]
Policy = Literal["list", "latest"]
"""`list`: what the list says. `latest`: that, and at least all that the store has by now."""

POLICIES: Final[Mapping[str, Policy]] = {"list": "list", "latest": "latest"}

Reason = Literal[
    "hit",
    "hit_old_version",
    "absent",
    "loading",
    "ahead_of_cache",
    "before_floor",
    "pending",
    "id_mismatch",
    "null_list",
    "token",
    "incomparable",
]


class TableMetadata(NamedTuple):
    """A table as one reader sees it; objects of their own are left out of the properties."""

    table: int
    catalog: str
    name: str
    definition: TableDefinition


Metadata = TableMetadata | str
"""What a read answers: the table, or the value of another object."""


class Read(NamedTuple):
    """One read: a table by name or id, with a list or None, and an object of it.

    Bring `table_id` with a name: names are reused. `own_txn` sees its own changes too, 0 = none.
    `catalog` is that of the name, "" = the one that is read.
    """

    table: str | int
    write_ids: ValidWriteIdList | None
    table_id: int | None = None
    what: str = TABLE
    own_txn: int = 0
    catalog: str = ""


class ReadAt(NamedTuple):
    """A read that brings no list: as of a position, or of now.

    `table` is a name, or with `table_id` also None.
    """

    table: str | None
    catalog: str = ""
    table_id: int | None = None
    position: int | None = None
    what: str = TABLE


class Bounds(NamedTuple):
    """What an answer must have seen, and how long to wait for that.

    `token` is the least position, 0 = any; `max_lag_ms` how old a cache may be where its store
    knows more. After `max_wait_ms` a cache hands on to its store.
    """

    token: int = 0
    max_wait_ms: int = MAX_WAIT_MS
    max_lag_ms: int | None = None
    policy: Policy = "list"


AT_HAND: Final = Bounds()
"""What is there, or what a list needs, waited for as long as usual."""


class MetadataQuestion(NamedTuple):
    """Reads to be answered as of one position, as they are asked of another process."""

    reads: Sequence[Read]
    bounds: Bounds = AT_HAND


class Answer(NamedTuple):
    """What a read found, where, as of which position, and why there.

    The cache answers with a value only; `store` without one = it does not exist for this reader, or
    the store was not asked yet.
    """

    value: Metadata | None
    source: Source
    position: int
    reason: Reason


class MetadataReads(Protocol):
    """What answers reads of metadata; threads may share it."""

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[Answer]:
        """Return what readers see, in their order, all as of one position.

        A read without a list answers the state that holds for every reader by then. Raises
        ReaderBehindError if the position that a list or the token needs was not reached in time.
        """
        ...


def objects_of(definition: TableDefinition) -> Objects:
    """Return the objects that a definition holds."""
    own = [each for each in definition.properties if not is_object(each.key)]
    objects: dict[str, Value] = {TABLE: plain(definition, own)}
    for key, value in definition.properties:
        if is_object(key):
            objects[key.removeprefix(OBJECT_PREFIX)] = value
    return objects


def is_object(key: str) -> bool:
    """Tell whether a property is an object of its own; a key of rows can hold no zero byte."""
    name = key.removeprefix(OBJECT_PREFIX)
    return key.startswith(OBJECT_PREFIX) and name not in ("", TABLE, NAME) and "\0" not in name


def object_named(what: str) -> str:
    """Return the name of an object; raises ValueError for what can be none, such as the table."""
    if not is_object(OBJECT_PREFIX + what):
        raise ValueError(f"{what!r} is no object of a table; one is named like partition:day=1")
    return what


def plain(definition: TableDefinition, properties: Sequence[Property]) -> TableDefinition:
    """Return a definition with these properties that is equal however its lists were kept."""
    return definition._replace(
        columns=tuple(definition.columns),
        partition_columns=tuple(definition.partition_columns),
        properties=tuple(properties),
    )


def settled(answer: Answer) -> Answer:
    """Return an answer that is equal however its lists were kept."""
    if not isinstance(answer.value, TableMetadata):
        return answer
    definition = answer.value.definition
    definition = plain(definition, definition.properties)
    return answer._replace(value=answer.value._replace(definition=definition))


def described(table: int, name: Name, objects: Objects, what: str) -> Metadata:
    """Return one of the objects, the table together with its name."""
    value = objects[what]
    return value if isinstance(value, str) else TableMetadata(table, *name, value)
