"""The model of the lake: every event of the log, held against the laws of rows.

What counts in the log is applied by row ids. What the rows of a follower show must be the same.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ledger.core.commands import Footprint
from ledger.core.events.events import (
    Control,
    Event,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    WritesStaged,
)
from ledger.core.events.parts import CommittedPart
from ledger.log.wire.file_list import unpack
from tests.simulation.broken import must
from tests.simulation.lake import BY_ROW, Lake
from tests.simulation.lives import Change, RowTable, change_of
from tests.simulation.mirror import Mirror
from tests.simulation.row_laws import check_abort, check_commit

Chunks = dict[int, list[Footprint]]
LOST: Final = "LOST BY CUT"
SHOWN: Final = "followers show the rows of the model"


class LakeModel:
    """All tables with marks, as of the last event taken; `met` counts what the run met."""

    def __init__(self, lake: Lake, mirror: Mirror) -> None:
        self.tables: dict[int, RowTable] = {}
        self.met: Counter[str] = Counter()
        self._lake = lake
        self._mirror = mirror
        self._staged: dict[int, Chunks] = {}
        self._altering: dict[int, set[int]] = {}

    def take(self, event: Event) -> None:
        """Hold one event against the laws, and apply it."""
        control, body = event
        match body:
            case TableCreated() if BY_ROW in body.definition.properties:
                self.tables[body.table] = RowTable(self._lake)
            case TableAltered() | TableRenamed() | TableDropped():
                self._alter(control, body.table)
            case TxnOpened():
                for txn in range(control.txn, control.txn + body.size):
                    self._staged.pop(txn, None)
                    self._altering.pop(txn, None)
            case WritesStaged() if body.table in self.tables:
                chunks = self._staged.setdefault(control.txn, {}).setdefault(body.table, [])
                chunks.append(body.footprint)
            case TxnCommitted():
                self._commit(control, body)
            case TxnAborted() if body.evidence is not None:
                self._abort(control, body)

    def _alter(self, control: Control, table: int) -> None:
        if table not in self.tables:
            return
        # What a txn changes takes effect at its commit.
        self._altering.setdefault(control.txn, set()).add(table)
        self.tables[table].altered.append(control.position)

    def _commit(self, control: Control, body: TxnCommitted) -> None:
        for table in self._altering.pop(control.txn, ()):
            self.tables[table].altered.append(control.position)
        staged = {} if body.one_shot else self._staged.pop(control.txn, {})
        for part in body.parts:
            said = part.footprint
            # What stands for a lost commit changes nothing.
            if part.table in self.tables and said is not None and said.operation != LOST:
                chunks = [*staged.get(part.table, ()), said]
                self._commit_part(control, self.tables[part.table], part, chunks)

    def _commit_part(
        self, control: Control, table: RowTable, part: CommittedPart, chunks: Sequence[Footprint]
    ) -> None:
        lists = [unpack(each.files) for each in chunks]
        name = "".join(each.info for each in lists)
        shown = self._mirror.shown(part.table)
        # The commit may drop the table as well: then its rows are gone.
        if shown is None or not self._is_of_this_log(name):
            table.astray = True
        if table.astray:
            self.met["tables astray"] += 1
            return
        # In a txn that changes the table the part names an earlier position.
        read_at = self._lake.plans[name].position
        change = change_of(self._lake, control.position, read_at, chunks)
        change = change._replace(adds=[add for each in lists for add in each.adds])
        self._count(change, part)
        check_commit(table, change, part.level, set(part.left_out))
        table.apply(change)
        must(
            shown == table.shown[control.position],
            SHOWN,
            f"table {part.table} at {control.position} has {table.shown[control.position]}, rows "
            f"show {shown}",
        )
        odd = self._mirror.anomalies(part.table)
        must(not odd, "no commit contradicts the live files", f"{odd}")

    def _abort(self, control: Control, body: TxnAborted) -> None:
        evidence = body.evidence
        assert evidence is not None, "there is evidence of a conflict"
        table = self.tables.get(evidence.table)
        names = self._lake.asked.get((control.session, control.n), ())
        if table is None or table.astray or not all(map(self._is_of_this_log, names)):
            return
        staged = {} if body.one_shot else self._staged.pop(control.txn, {})
        altering = self._altering.pop(control.txn, ())
        for write in body.attempted:
            if write.table == evidence.table and write.footprint is not None:
                chunks = [*staged.get(write.table, ()), write.footprint]
                change = change_of(self._lake, control.position, evidence.read_at, chunks)
                self.met[f"lost by {evidence.rule}"] += 1
                check_abort(table, change, evidence, alters=evidence.table in altering)

    def _is_of_this_log(self, name: str) -> bool:
        plan = self._lake.plans[name]
        return self._mirror.chains.get(plan.position) == plan.chain

    def _count(self, change: Change, part: CommittedPart) -> None:
        self.met["commits over files with rows"] += 1
        for kind, has in (
            ("marks", bool(change.rows)),
            ("rows read and left", bool(change.read)),
            ("rows copied", bool(change.copied)),
            ("marks translated", bool(part.translated)),
            ("statements past a rewrite", bool(part.left_out) and not change.rearranges),
            ("rewrites with groups left out", bool(part.left_out) and change.rearranges),
            ("chunks", bool(change.footprint.staged)),
        ):
            self.met[kind] += has
