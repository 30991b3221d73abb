"""The lake: what every table was at every position, replayed from the commits alone.

Nothing is pruned and nothing indexed. A table has a definition, features, progress of applications
and files with their rows, all of them by position; and the list of those who won.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from tests.isolation.plain import (
    Attempt,
    Cells,
    Change,
    Changed,
    Definition,
    Ended,
    File,
    Hidden,
    Made,
    Opened,
    Part,
    Schema,
    Told,
)
from tests.isolation.rules import (
    BACKFILL,
    BEYOND,
    ENFORCE,
    HARMLESS,
    JUDGED_TYPE,
    REPLACE,
    changes_of,
    coarse_cells,
    is_blind_part,
    kind_of_change,
    rearranges,
)

DEFAULT_FEATURES: Final = frozenset({"appendOnly", "invariants"})
Thing = TypeVar("Thing")
Files = Mapping[str, File]


class Win(NamedTuple):
    """A committed part as later attempts may meet it; `metadata` is a kind of change or "".

    `protocol` is "adds" or "breaks" for a protocol action; `schema` were the partition columns.
    """

    position: int
    part: Part
    blind: bool
    rearranges: bool
    metadata: str
    replaces: bool
    protocol: str
    schema: Schema

    def adds(self) -> list[Cells | None]:
        """Return the partitions that got rows; a backfill adds the files that were there."""
        footprint = self.part.footprint
        if footprint is not None and footprint.operation == BACKFILL:
            return []
        found: list[Cells | None] = list(footprint.adds) if footprint is not None else []
        return found + [coarse_cells(each, self.schema) for each in self.part.coarse]


@dataclass
class Table:
    """A table by position, for ever; `changed` is its last metadata change, `dropped` 0 = never."""

    definitions: list[tuple[int, Definition]]
    contents: list[tuple[int, Files]]
    features: frozenset[str] = DEFAULT_FEATURES
    apps: dict[str, tuple[int, int]] = field(default_factory=dict)
    wins: list[Win] = field(default_factory=list)
    changed: int = 0
    dropped: int = 0

    @property
    def is_dropped(self) -> bool:
        return 0 < self.dropped == self.changed

    @property
    def definition(self) -> Definition:
        return self.definitions[-1][1]

    def definition_at(self, position: int) -> Definition:
        """Return the definition as of a position, the first one before its time."""
        return at(self.definitions, position)

    def files_at(self, position: int) -> Files:
        return at(self.contents, position) if position >= self.contents[0][0] else {}

    def wins_after(self, position: int) -> Iterable[Win]:
        """Yield who won after a position, in commit order."""
        return (win for win in self.wins if win.position > position)


def at(history: Sequence[tuple[int, Thing]], position: int) -> Thing:
    """Return what was valid at a position, the first if nothing was yet."""
    return next((each for since, each in reversed(history) if since <= position), history[0][1])


class Lake:
    """All tables of a domain, the hidden ones by their txn, and the open txns."""

    def __init__(self) -> None:
        self.tables: dict[int, Table] = {}
        self.hidden: dict[int, dict[int, Definition]] = {}
        self.open: dict[int, Opened] = {}

    def take(self, told: Told) -> None:
        """Take in one thing that happened."""
        match told:
            case Made(position, table, definition):
                self.tables[table] = Table([(position, definition)], [(position, {})])
                self.tables[table].changed = position
            case Hidden(_, txn, table, definition):
                self.hidden.setdefault(txn, {})[table] = definition
            case Opened(_, txn, size, _):
                self.open.update(dict.fromkeys(range(txn, txn + size), told))
            case Changed(position, change, commits):
                self.change_at_once(position, change, commits=commits)
            case Ended(position, txn):
                self.end(txn, position)
            case Attempt():
                self.attempt(told)

    def attempt(self, attempt: Attempt) -> None:
        """Take in a commit, or the end of a txn that lost."""
        if attempt.verdict.outcome == "committed":
            for table in sorted(self.touched(attempt)):
                self.commit(attempt, table)
        if attempt.verdict.outcome in ("committed", "conflict", "applied"):
            self.end(attempt.txn, attempt.position)

    def touched(self, attempt: Attempt) -> set[int]:
        """Return the tables a commit writes, holds a write id in, or changes."""
        held = {table for table in attempt.held if self.is_there(attempt.txn, table)}
        changed = {change.table for change in attempt.changes}
        return {*held, *changed, *written(attempt)}

    def is_there(self, txn: int, table: int) -> bool:
        """Tell whether a txn can see a table."""
        return table in self.hidden.get(txn, ()) or (
            table in self.tables and not self.tables[table].dropped
        )

    def end(self, txn: int, position: int) -> None:
        """Forget an open txn; what only it saw and did not commit is dropped."""
        self.open.pop(txn, None)
        for number, made in self.hidden.pop(txn, {}).items():
            gone = Table([(position, made)], [(position, {})], dropped=position)
            self.tables.setdefault(number, gone)

    def commit(self, attempt: Attempt, number: int) -> None:
        """Make one table of a commit visible to all."""
        position, changes = attempt.position, changes_of(attempt, number)
        made = self.hidden.get(attempt.txn, {}).get(number)
        if made is not None:
            self.tables[number] = Table([(position, made)], [(position, {})])
        table = self.tables[number]
        part = attempt.parts.get(number, Part(number, 0, (), None))
        blind = is_blind_part(part)
        if attempt.type != JUDGED_TYPE:
            part = part._replace(coarse=())
        self.win(table, position, part, changes, blind=blind)
        self.note(table, position, part)
        for change in changes:
            table.changed = position
            if change.definition is not None:
                table.definitions.append((position, change.definition))
            if change.kind == "drop":
                table.dropped = position

    @staticmethod
    def win(
        table: Table, position: int, part: Part, changes: Sequence[Change], *, blind: bool
    ) -> None:
        """Note who has won, if there is anything a later commit can meet it by."""
        footprint = part.footprint
        altered = [each for each in changes if each.definition is not None]
        if not (part.coarse or footprint is not None or altered):
            return
        features = footprint.features if footprint is not None else None
        metadata = ""
        if altered:
            new = altered[-1].definition
            assert new is not None
            known = table.features if features is None else features
            metadata = kind_of_change(table.definition, new, known)
        win = Win(
            position,
            part,
            blind,
            rearranges(part, changes),
            metadata,
            any(change.operation == REPLACE for change in altered),
            "" if features is None else protocol_kind(table, features),
            table.definition.schema,
        )
        table.wins.append(win)

    @staticmethod
    def note(table: Table, position: int, part: Part) -> None:
        """Take in the files, rows, features and applications of a part."""
        files = {**table.contents[-1][1]}
        schema = table.definition.schema
        for number, write in enumerate(part.coarse):
            name = f"coarse {position} {number}"
            rows = frozenset({-position * 8 - number})
            files[name] = File(name, coarse_cells(write, schema), rows)
        footprint = part.footprint
        if footprint is not None:
            for name in footprint.removed:
                files.pop(name, None)
            is_again = footprint.operation == BACKFILL
            added = (file for file in footprint.added if file.name in files or not is_again)
            files.update({file.name: file for file in added})
            table.apps.update({app: (v, position) for app, v in footprint.apps.items()})
            table.features = table.features if footprint.features is None else footprint.features
        table.contents.append((position, files))

    def change_at_once(self, position: int, change: Change, *, commits: bool) -> None:
        """Take in a change outside a txn."""
        table = self.tables[change.table]
        if commits:
            self.win(table, position, Part(change.table, 0, (), None), [change], blind=True)
        if change.definition is not None:
            table.definitions.append((position, change.definition))
        table.changed = position
        if change.kind == "drop":
            table.dropped = position


def written(attempt: Attempt) -> set[int]:
    """Return the tables that an attempt declares to have written."""
    parts = attempt.parts.values()
    return {
        part.table
        for part in parts
        if part.coarse or part.footprint is None or part.footprint.operation
    }


def protocol_kind(table: Table, after: frozenset[str]) -> str:
    """Return "beyond" or "breaks" for a protocol action that no commit in flight survives."""
    if BEYOND in after - table.features:
        return "beyond"
    enforced = table.definition.properties.get(ENFORCE, "").lower() == "true"
    harmful = after - table.features - HARMLESS
    return "breaks" if table.features - after or (enforced and harmful) else "adds"
