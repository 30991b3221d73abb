"""A naive model of files that statements mark and write anew: each file is a list of row ids.

A row keeps its id wherever it is copied to, and a changed row gets a new one. So the model knows
what became of each row without any number of a row. Beside it stands the index of winners, which
gets the same commits as records.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random

from pyroaring import BitMap

from ledger.core.commands import Footprint
from ledger.core.conflicts.attempts import Attempt, Hit
from ledger.core.conflicts.checks import first_hit
from ledger.core.conflicts.footprints import path_hash, won
from ledger.core.conflicts.index import ConflictIndex, TableWinners
from ledger.core.conflicts.settling import Settled, counted, settle
from ledger.core.events.parts import CommittedPart
from ledger.core.predicates.predicates import Predicates
from ledger.core.rows.bitmaps import bytes_of, rows_in
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges
from tests.core.parts import footprint
from tests.core.won import won_at

TABLE = 1
NEW_ROWS = [AddedRows("[]", [], [], "", "")]
# The rows that are deleted, by the paths of the live files.
Live = Mapping[str, frozenset[int]]


@dataclass
class Plan:
    """A statement as it was planned: its record, the rows that it changes, and the ones it copies.

    `changes`, `reads` and `copies` are row ids, `adds` the files that it writes, `takes` the files
    that it removes without a word about their rows.
    """

    said: Footprint
    read_at: int
    changes: set[int] = field(default_factory=set)
    reads: set[int] = field(default_factory=set)
    copies: set[int] = field(default_factory=set)
    adds: dict[str, list[int]] = field(default_factory=dict)
    takes: set[str] = field(default_factory=set)
    rearranges: bool = False


@dataclass
class Model:
    """The files of a table at each position, and what became of each row.

    `untold` are the positions of commits that removed files without a word about their rows.
    """

    chance: Random
    index: ConflictIndex = field(default_factory=ConflictIndex)
    files: dict[str, list[int]] = field(default_factory=dict)
    versions: list[Live] = field(default_factory=list)
    changed: dict[int, int] = field(default_factory=dict)
    removed: dict[int, int] = field(default_factory=dict)
    untold: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids, self.names = count(), count()
        sizes = [self.chance.randint(1, 9) for _ in range(2)]
        self.versions.append({self.file(self.new(size)): frozenset() for size in sizes})

    @classmethod
    def after(cls, seed: int, commits: int) -> "Model":
        """Return a model after some random commits."""
        model = cls(Random(seed))  # noqa: S311 - a seed, no secret
        for _ in range(commits):
            plan = model.plan()
            if model.judged(plan) is None:
                model.commit(plan)
        return model

    @property
    def position(self) -> int:
        return len(self.versions) - 1

    @property
    def live(self) -> Live:
        return self.versions[-1]

    @property
    def winners(self) -> TableWinners:
        return self.index.tables.get(TABLE) or TableWinners([(0, ())])

    def new(self, rows: int) -> list[int]:
        return [next(self.ids) for _ in range(rows)]

    def file(self, rows: list[int]) -> str:
        self.files[path := f"file-{next(self.names)}"] = rows
        return path

    def rows_of(self, live: Live) -> list[int]:
        """Return the ids of all live rows, each as often as it is there."""
        return [
            each
            for path, dead in live.items()
            for at, each in enumerate(self.files[path])
            if at not in dead
        ]

    def places(self) -> dict[int, tuple[str, int]]:
        """Return the present path and number of each live row."""
        return {
            each: (path, at)
            for path, dead in self.live.items()
            for at, each in enumerate(self.files[path])
            if at not in dead
        }

    def plan(self) -> Plan:
        """Return a random statement, planned at a random version."""
        read_at = self.chance.randint(max(0, self.position - 9), self.position)
        live = self.versions[read_at]
        if not self.rows_of(live):
            return self.appends(read_at)
        kinds = [self.marks, self.marks, self.updates, self.compacts, self.compacts, self.takes]
        return self.chance.choice([*kinds, self.appends])(read_at)

    def appends(self, read_at: int) -> Plan:
        rows = self.new(self.chance.randint(1, 9))
        path = self.file(rows)
        rest = RowChanges([], [], b"", [], NEW_ROWS)
        return Plan(footprint(adds=["[]"], rows=rest), read_at, adds={path: rows})

    def marks(self, read_at: int) -> Plan:
        """Plan a statement that marks rows of some files, and leaves others that it matched."""
        hit = {path: self.some(read_at, path) for path in self.some_files(read_at)}
        left = {path: self.some(read_at, path) - hit.get(path, set()) for path in hit}
        marks = [Marks(path, packed(rows)) for path, rows in hit.items() if rows]
        reads = [Marks(path, packed(rows)) for path, rows in left.items() if rows]
        said = footprint("DELETE", rows=RowChanges(marks, reads, b"", [], []))
        return Plan(said, read_at, self.at(hit), self.at(left))

    def updates(self, read_at: int) -> Plan:
        """Plan a statement that writes one file anew, with some of its rows changed."""
        path = self.chance.choice(sorted(self.versions[read_at]))
        hit = self.some(read_at, path)
        stayed = hit | self.versions[read_at][path]
        copied = [each for at, each in enumerate(self.files[path]) if at not in stayed]
        before, behind = self.new(self.chance.randint(0, 2)), self.new(self.chance.randint(0, 2))
        target = self.file([*before, *copied, *behind])
        moved = Moved(path, target, len(before), len(copied), packed(stayed))
        marks = [Marks(path, packed(hit))] if hit else []
        rows = RowChanges(marks, [], b"", [moved], NEW_ROWS)
        said = footprint("UPDATE", adds=["[]"], remove=[path], rows=rows)
        return Plan(said, read_at, self.at({path: hit}), set(), {*copied}, self.added(target))

    def compacts(self, read_at: int) -> Plan:
        """Plan a rewrite of groups of files that changes no row."""
        sources = self.some_files(read_at)
        cut = self.chance.randint(0, len(sources))
        moved: list[Moved] = []
        adds: dict[str, list[int]] = {}
        for group in filter(None, (sources[:cut], sources[cut:])):
            rows: list[int] = []
            target = self.file(rows)
            for path in group:
                stayed = self.versions[read_at][path]
                copied = [each for at, each in enumerate(self.files[path]) if at not in stayed]
                moved.append(Moved(path, target, len(rows), len(copied), packed(stayed)))
                rows += copied
            adds[target] = rows
        said = footprint(
            "OPTIMIZE",
            adds=["[]"],
            remove=sources,
            data_change=False,
            rows=RowChanges([], [], b"", moved, []),
        )
        return Plan(said, read_at, adds=adds, rearranges=True)

    def takes(self, read_at: int) -> Plan:
        """Plan the removal of files as a whole, as a program does that knows no rows."""
        paths = self.some_files(read_at)[:1]
        rows = RowChanges([], [], b"", [], []) if self.chance.random() < 0.5 else None
        said = footprint("TRUNCATE", remove=paths, rows=rows)
        changes = {each for path in paths for each in self.alive(read_at, path)}
        return Plan(said, read_at, changes, takes={*paths})

    def some_files(self, read_at: int) -> list[str]:
        paths = sorted(self.versions[read_at])
        return self.chance.sample(paths, self.chance.randint(1, len(paths)))

    def some(self, read_at: int, path: str) -> set[int]:
        """Return the numbers of some live rows of a file."""
        dead = self.versions[read_at][path]
        numbers = [at for at in range(len(self.files[path])) if at not in dead]
        return {*self.chance.sample(numbers, self.chance.randint(0, min(3, len(numbers))))}

    def alive(self, read_at: int, path: str) -> set[int]:
        """Return the ids of the rows of a file that were live at a version."""
        dead = self.versions[read_at][path]
        return {each for at, each in enumerate(self.files[path]) if at not in dead}

    def at(self, numbers: Mapping[str, Iterable[int]]) -> set[int]:
        return {self.files[path][at] for path, found in numbers.items() for at in found}

    def added(self, *paths: str) -> dict[str, list[int]]:
        return {path: self.files[path] for path in paths}

    def judged(self, plan: Plan) -> Hit | None:
        """Return the first conflict that the product finds, None for none."""
        attempt = Attempt(
            read_at=plan.read_at,
            level="SnapshotIsolation",
            coarse=[],
            footprint=plan.said,
            blind=False,
            rearranges=plan.rearranges,
            changes=False,
            alters=False,
            replaces=False,
            breaks=False,
        )
        return first_hit(self.winners, attempt, Predicates())

    def commit(self, plan: Plan) -> Settled:
        """Commit a plan that conflicts with nothing, and return what it means by now."""
        settled = settle(self.winners, plan.said, plan.read_at, rearranges=plan.rearranges)
        part = CommittedPart(TABLE, plan.read_at, 0, 1, 0, [], "", *(False, 0, -1), plan.said)
        part = part._replace(**settled._asdict())
        live = applied(self.live, plan, settled)
        position = self.position + 1
        before, after = {*self.rows_of(self.live)}, {*self.rows_of(live)}
        fate = self.removed if plan.takes else self.changed
        fate.update(dict.fromkeys(before - after, position))
        self.versions.append(live)
        self.untold += [position] * bool(plan.takes)
        counting = won(counted(part, plan.said))
        self.index.record(won_at(position, counting, rearranges=plan.rearranges), ())
        return settled


def applied(live: Live, plan: Plan, settled: Settled) -> dict[str, frozenset[int]]:
    """Return the live files after a commit, by what its record and its event say."""
    rows, out = plan.said.rows, set(settled.left_out)
    removed = {plan.said.removes[at : at + 8] for at in range(0, len(plan.said.removes), 8)}
    after = {
        path: dead for path, dead in live.items() if path in out or path_hash(path) not in removed
    }
    after.update((path, frozenset[int]()) for path in plan.adds if path not in out)
    marks = [marks for marks in (rows.marks if rows else ()) if marks.path not in out]
    for path, marked in (*marks, *settled.translated):
        assert path in after or path_hash(path) in removed, f"{path} is marked and not there"
        if path in after:
            numbers = set(rows_in(marked))
            assert not numbers & after[path], f"rows {numbers} of {path} are deleted twice"
            after[path] |= numbers
    return after


def packed(rows: Iterable[int]) -> bytes:
    return bytes_of(BitMap(rows))
