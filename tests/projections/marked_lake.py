"""Random histories of marks and rewrites in a domain, beside a model that holds rows by their ids.

The domain decides; the model says which rows of which files are deleted at each position.
"""

import struct
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from pyroaring import BitMap64

from ledger.core.commands import TableWrite
from ledger.core.conflicts.settling import Settled
from ledger.core.events.events import TxnCommitted
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, pack
from ledger.log.wire.inline_vectors import decoded
from projections.delta.published_log import DeltaVersion
from tests.core.parts import footprint, table_of
from tests.core.rewritten_files import Model, Plan, applied
from tests.projections.followed import Followed
from tests.projections.published import actions, published

AT_SNAPSHOTS = published(
    table_of(("id", "bigint"), delta__isolationLevel="SnapshotIsolation")
)._replace(location="/lake/t")
MAGIC = 1681511377
Dead = dict[str, frozenset[int]]
WROTE = footprint(adds=["[]"])


class MarkedLake:
    """A published table, and the model of its files; `positions` are where its versions came."""

    def __init__(self, seed: int) -> None:
        self.model = Model(Random(seed))  # noqa: S311 - a seed, no secret
        self.domain = Followed()
        self.session = self.domain.open_session("ada")
        self.table = self.domain.create_table(self.session, "t", made=AT_SNAPSHOTS)
        first = Plan(WROTE, 0, adds={path: self.model.files[path] for path in self.model.live})
        self.positions: list[int] = []
        self.commit(first)

    @classmethod
    def after(cls, seed: int, commits: int) -> "MarkedLake":
        """Return a lake after some random statements, a few of which lost."""
        lake = cls(seed)
        for _ in range(commits):
            lake.commit(lake.model.plan())
        return lake

    def commit(self, plan: Plan) -> None:
        """Commit a plan in the domain, and then in the model as the event says it."""
        read_at = self.positions[plan.read_at] if self.positions else self.domain.head.position
        said = plan.said._replace(files=pack(self.listed(plan, read_at)))
        event = self.domain.commit(self.session, 0, TableWrite(self.table, read_at, [], said))
        if not isinstance(event.body, TxnCommitted):
            return
        (part,) = event.body.parts
        if self.positions:
            settled = Settled(part.translated, part.left_out)
            self.model.versions.append(applied(self.model.live, plan, settled))
        self.positions.append(event.control.position)

    def listed(self, plan: Plan, read_at: int) -> FileList:
        """Return the files of a plan; a removal names the vector that the file had at its read."""
        vectors = {
            row.path: row.vector for row in self.domain.reads.files(self.table, position=read_at)
        }
        moved = plan.said.rows.moved if plan.said.rows is not None else ()
        gone = dict.fromkeys([*plan.takes, *(each.source for each in moved)])
        changes = plan.said.data_change
        return FileList(
            [
                AddFile(path, (), 10, 7, changes, stats=f'{{"numRecords":{len(rows)}}}')
                for path, rows in plan.adds.items()
            ],
            [RemoveFile(path, (), changes, vectors[path]) for path in gone],
        )

    def shown(self, position: int | None = None) -> Dead:
        """Return the deleted rows of each live file, as the rows of the host show it."""
        rows = self.domain.reads.files(self.table, position=position)
        found = {row.path: rows_of(row.deletion_vector) for row in rows}
        assert len(found) == len(rows), "a path is live under two vectors"
        return found


def rows_of(vector: DeletionVector | None) -> frozenset[int]:
    """Return the rows of an inline vector, by the library and Delta's format alone."""
    if vector is None:
        return frozenset()
    data = decoded(vector.place)[: vector.size]
    rows = BitMap64.deserialize(data[4:])
    assert (vector.storage, struct.unpack("<i", data[:4])[0]) == ("i", MAGIC)
    assert vector.cardinality == len(rows)
    return frozenset(rows)


def replayed(versions: Iterable[DeltaVersion]) -> list[Dead]:
    """Return the deleted rows of each live file at each version of a published log."""
    live: dict[tuple[str, str], frozenset[int]] = {}
    found = []
    for version in versions:
        for action in actions(version):
            if "remove" in action:
                del live[key_of(action["remove"])]
        for action in actions(version):
            if "add" in action:
                fields = action["add"]
                assert key_of(fields) not in live
                live[key_of(fields)] = rows_of(vector_of(fields))
        found.append({path: dead for (path, _), dead in live.items()})
        assert len(found[-1]) == len(live), "a path is live under two vectors"
    return found


def key_of(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return what Delta knows a file by: its path, and its vector."""
    vector = vector_of(fields)
    return fields["path"], "" if vector is None else vector.id


def vector_of(fields: Mapping[str, Any]) -> DeletionVector | None:
    match fields.get("deletionVector"):
        case None:
            return None
        case said:
            return DeletionVector(
                said["storageType"],
                said["pathOrInlineDv"],
                said.get("offset"),
                said["sizeInBytes"],
                said["cardinality"],
            )
