"""A finished history in plain records: what was asked, what came of it, and nothing of the core.

Files are known by the hex digits of their path hash. A partition is a tuple of texts, None for
NULL; ANYWHERE stands for a partition that nobody can tell. Positions are those of the log.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

Cells = tuple[str | None, ...]
Schema = tuple[tuple[str, str], ...]
ANYWHERE: Final = None


class File(NamedTuple):
    """A file: its partition and the ids of its rows."""

    name: str
    cells: Cells | None
    rows: frozenset[int]


class Column(NamedTuple):
    """A column of a table; `metadata` is a JSON object or ""."""

    name: str
    type: str
    nullable: bool
    id: int
    metadata: str


class Definition(NamedTuple):
    """What a table is; `place` is all that is neither columns nor properties."""

    place: tuple[str, ...]
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def schema(self) -> Schema:
        """The partition columns with their types."""
        types = {column.name: column.type for column in self.columns}
        return tuple((name, types[name]) for name in self.partitioned_by)


class Coarse(NamedTuple):
    """Rows of a unit changed: one partition in Hive's text, the unpartitioned rows, or all."""

    scope: str
    partition: str
    operation: str


class Footprint(NamedTuple):
    """What a part read and wrote, all chunks of it; `features` None = no protocol action.

    `adds` are partitions and `removes` names, as declared; `added` and `removed` the files as the
    opaque list has them.
    """

    operation: str
    scans: tuple[str, ...]
    whole: bool
    read_files: frozenset[str]
    read_apps: frozenset[str]
    adds: frozenset[Cells]
    removes: frozenset[str]
    removes_in: frozenset[Cells]
    data_change: bool
    not_blind: bool
    features: frozenset[str] | None
    domains: frozenset[str]
    apps: Mapping[str, int]
    added: tuple[File, ...]
    removed: frozenset[str]


class Change(NamedTuple):
    """A metadata change of a table: create, alter, rename or drop; planned at `read_at`."""

    table: int
    kind: str
    read_at: int
    definition: Definition | None
    operation: str


class Part(NamedTuple):
    """One declared table of a commit; `read_at` 0 = that of the snapshot the txn holds."""

    table: int
    read_at: int
    coarse: tuple[Coarse, ...]
    footprint: Footprint | None


class Verdict(NamedTuple):
    """What came of an attempt: committed, conflict, too_old, applied or disagree.

    A conflict has its exception, table, winner's position and rule; a commit the level and the
    blind flag of each part; `applied` the position of the first application.
    """

    outcome: str
    exception: str = ""
    table: int = 0
    winner: int = 0
    rule: str = ""
    levels: Mapping[int, tuple[str, bool]] = {}


class Attempt(NamedTuple):
    """A commit that was asked: all that may count, and the verdict of the ledger.

    `position` is that of the answer, `opened` of the snapshot (0 = one-shot), `held` the tables in
    which the txn has write ids, `floor` the one the ledger had when it judged.
    """

    position: int
    txn: int
    type: str
    opened: int
    level: str
    parts: Mapping[int, Part]
    held: frozenset[int]
    changes: Sequence[Change]
    floor: int
    verdict: Verdict


class Made(NamedTuple):
    """A table was created at once."""

    position: int
    table: int
    definition: Definition


class Changed(NamedTuple):
    """A table was altered, renamed or dropped at once; `commits` = by a commit of its own."""

    position: int
    change: Change
    commits: bool


class Hidden(NamedTuple):
    """A table is created in a txn: nobody else sees it before the commit."""

    position: int
    txn: int
    table: int
    definition: Definition


class Opened(NamedTuple):
    """Txns from `txn` on are open."""

    position: int
    txn: int
    size: int
    type: str


class Ended(NamedTuple):
    """A txn ended without a commit of its own being judged."""

    position: int
    txn: int


Told = Made | Changed | Hidden | Opened | Ended | Attempt
