"""Metadata of tables as one reader sees it: the questions, the answers, and their sources.

A reader brings its list of valid write ids and gets exactly the state of that list. A table
consists of objects, each read alone. The table itself is its definition. Partitions, statistics and
other objects are properties whose keys begin with `object.`, such as `object.partition:day=1` or
`object.stats:delay`. Rows, a cache, or either of them behind a URL may answer.
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
"""Catalog and name of a table, in the spelling of its creation."""

Value = TableDefinition | str
Objects = Mapping[str, Value]

Source = Literal["cache", "store"]
Policy = Literal["list", "latest"]
"""`list`: the state of the list. `latest`: also at least the state that the store has by now."""

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
    """A table as one reader sees it; properties that are objects are left out."""

    table: int
    catalog: str
    name: str
    definition: TableDefinition


Metadata = TableMetadata | str
"""The value of a read: the table, or the value of another object."""


class Read(NamedTuple):
    """One read: a table by name or id, with a list or None, and an object of it.

    Give `table_id` with a name: names are reused. `own_txn` also sees its own changes, 0 = no txn.
    `catalog` is the catalog of the name, "" = the reader's catalog.
    """

    table: str | int
    write_ids: ValidWriteIdList | None
    table_id: int | None = None
    what: str = TABLE
    own_txn: int = 0
    catalog: str = ""


class ReadAt(NamedTuple):
    """A read without a list: as of a position, or of now.

    `table` is a name, or None with `table_id`.
    """

    table: str | None
    catalog: str = ""
    table_id: int | None = None
    position: int | None = None
    what: str = TABLE


class Bounds(NamedTuple):
    """The position that an answer must have reached, and how long to wait for it.

    `token` is the least position, 0 = any position. `max_lag_ms` is the oldest age of a cache whose
    store knows more. After `max_wait_ms` a cache passes the read on to its store.
    """

    token: int = 0
    max_wait_ms: int = MAX_WAIT_MS
    max_lag_ms: int | None = None
    policy: Policy = "list"


AT_HAND: Final = Bounds()
"""The present state, or the position that a list needs, with the usual wait."""


class MetadataQuestion(NamedTuple):
    """Reads for another process, to be answered as of one position."""

    reads: Sequence[Read]
    bounds: Bounds = AT_HAND


class MetadataAnswer(NamedTuple):
    """The result of a read, its source, its position, and the reason for that source.

    The cache answers only with a value. `store` without a value = the object does not exist for
    this reader, or the store was not asked yet.
    """

    value: Metadata | None
    source: Source
    position: int
    reason: Reason


class MetadataReads(Protocol):
    """Answers reads of metadata; threads may share it."""

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        """Return the answers for readers, in their order, all as of one position.

        A read without a list answers the state that holds for every reader by then. Raises
        ReaderBehindError if the position that a list or the token needs was not reached in time.
        """
        ...


def objects_of(definition: TableDefinition) -> Objects:
    """Return the objects of a definition by name; the table itself is the one named `table`."""
    own = [each for each in definition.properties if not is_object(each.key)]
    objects: dict[str, Value] = {TABLE: make_tuples(definition, own)}
    for key, value in definition.properties:
        if is_object(key):
            objects[key.removeprefix(OBJECT_PREFIX)] = value
    return objects


def is_object(key: str) -> bool:
    """Return whether a property is an object; a key of rows cannot hold a zero byte."""
    name = key.removeprefix(OBJECT_PREFIX)
    return key.startswith(OBJECT_PREFIX) and name not in ("", TABLE, NAME) and "\0" not in name


def object_named(what: str) -> str:
    """Return the name of an object; raises ValueError for an impossible name, such as "table"."""
    if not is_object(OBJECT_PREFIX + what):
        raise ValueError(f"an object of a table must look like partition:day=1, got {what!r}")
    return what


def make_tuples(definition: TableDefinition, properties: Sequence[Property]) -> TableDefinition:
    """Return a definition with these properties, its lists as tuples, so that equal ones match."""
    return definition._replace(
        columns=tuple(definition.columns),
        partition_columns=tuple(definition.partition_columns),
        properties=tuple(properties),
    )


def settled(answer: MetadataAnswer) -> MetadataAnswer:
    """Return an answer whose lists are tuples, so that equal ones match."""
    if not isinstance(answer.value, TableMetadata):
        return answer
    definition = answer.value.definition
    definition = make_tuples(definition, definition.properties)
    return answer._replace(value=answer.value._replace(definition=definition))


def described(table: int, name: Name, objects: Objects, what: str) -> Metadata:
    """Return one of the objects; the table gets its name."""
    value = objects[what]
    return value if isinstance(value, str) else TableMetadata(table, *name, value)
