"""A case of suite `cache` under way: its txns and tables, its events, its caches of both kinds.

A word of a case for what a table is (`metadata`) becomes the location of its definition, that of
another object the value of its property. A rename has no definition, so what the case calls a table
after it is remembered under the table's name.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ledger.core.commands import Property, TableDefinition
from ledger.core.events.events import Event
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Pending, Table
from ledger.log import checkpoints
from ledger.reads.metadata import OBJECT_PREFIX, TABLE, Metadata, TableMetadata
from projections.cache.entries.bootstrap import entries_of
from projections.cache.entries.ids import ReaderIds
from projections.cache.fold import AppliedPositions, CacheState
from tests.conformance.cache_ledger import CATALOG, LiteralLedger
from tests.demo.metastores.one_version import OneVersionCache

Step = Mapping[str, Any]


class CasePair:
    """One cache of a case in both modes; `cursor` is the index of the next event to apply."""

    def __init__(self, position: int) -> None:
        self.one = OneVersionCache(position)
        self.multi = CacheState(AppliedPositions(position))
        self.cursor = 0

    def apply(self, event: Event) -> None:
        self.one.apply(event)
        self.multi.apply(event)

    def load(self, state: DomainState, table: int) -> None:
        self.one.adopt(entries_of(state)[table])
        self.multi.adopt(entries_of(state)[table])


class CacheCase:
    """What a case has done so far."""

    def __init__(self, ledger: LiteralLedger) -> None:
        self.ledger = ledger
        self.txns: dict[str | None, int] = {None: 0}
        self.caches: dict[str, CasePair] = {}
        self.events: list[Event] = []
        self.start = 0
        self._checkpoints: list[bytes] = []
        self._words: dict[tuple[int, str, str], set[str]] = defaultdict(set)
        self._called: dict[str, int] = {}

    def begin(self) -> None:
        """Take what is there now for the start state: the next event has index 0."""
        self.start = self.ledger.state.position
        self._checkpoints = [self.ledger.checkpoint()]

    def write(self, step: Step, body: Any, txn: int = 0) -> None:
        """Append an event of the case; `via_cache` applies it there at once, in one-version mode.

        The cache with several versions has one way in, which is the log.
        """
        event = self.ledger.write(body, txn)
        self.events.append(event)
        self._checkpoints.append(self.ledger.checkpoint())
        if "via_cache" in step:
            self.cache(step["via_cache"]).one.apply(event)

    def position(self, index: int | str) -> int:
        """Return the position of an event by its index; `end` is the last one."""
        last = len(self.events) - 1
        return self.start + 1 + (last if index == "end" else int(index))

    def state_after(self, index: int | str) -> DomainState:
        """Return the state after an event, from a checkpoints."""
        return checkpoints.load(self._checkpoints[self.position(index) - self.start]).state

    def cache(self, name: str) -> CasePair:
        return self.caches.setdefault(name, CasePair(self.start))

    def catch_up(self, pair: CasePair, upto: int | str) -> None:
        """Apply all events up to an index that were not applied yet."""
        end = self.position(upto) - self.start
        for event in self.events[pair.cursor : end]:
            pair.apply(event)
        pair.cursor = max(pair.cursor, end)

    def pending(self, txn: int) -> list[Pending]:
        """Return the changes that wait with a txn."""
        return self.ledger.state.tables.pending.get(txn, []) if txn else []

    def table(self, name: str, txn: int) -> Table:
        """Return the table that has a name for a txn: by its own change, or for all."""
        tables = self.ledger.state.tables
        for change in reversed(self.pending(txn)):
            if change.name.lower() == name.lower():
                return tables.by_id[change.table]
        found = tables.named(CATALOG, name)
        if found is None:
            raise LookupError(f"no table is called {name}")
        return found

    def table_id(self, name: str, state: DomainState | None = None) -> int:
        """Return the table that has a name in a state, by default now, or else had it last."""
        found = (state or self.ledger.state).tables.named(CATALOG, name)
        number = self._called.get(name.lower()) if found is None else found.table
        if number is None:
            raise LookupError(f"no table was ever called {name}")
        return number

    def definition(self, table: Table, txn: int) -> TableDefinition:
        own = (change.definition for change in self.pending(txn) if change.table == table.table)
        return [table.definition, *filter(None, own)][-1]

    def call(self, table: int, name: str, definition: TableDefinition, word: str) -> None:
        self._words[table, name.lower(), definition.location].add(word)
        self._called[name.lower()] = table

    def words(self, value: Metadata | None) -> set[str | None]:
        """Return what the case calls an answer; None = there is none."""
        if isinstance(value, TableMetadata):
            return {*self._words[value.table, value.name.lower(), value.definition.location]}
        return {value}


def made(kind: str, metadata: str, objects: Mapping[str, str]) -> TableDefinition:
    given: Any = kind
    properties = [Property(OBJECT_PREFIX + name, value) for name, value in sorted(objects.items())]
    return TableDefinition(given, "listed", metadata, (), (), properties)


def altered(definition: TableDefinition, step: Step) -> TableDefinition:
    """Return a definition as a step alters it: the table itself, or one of its other objects."""
    definition = definition._replace(kind=step.get("kind", definition.kind))
    what = step.get("object", TABLE)
    if what == TABLE:
        return definition._replace(location=step["metadata"])
    properties = {each.key: each.value for each in definition.properties}
    properties[OBJECT_PREFIX + what] = step["metadata"]
    return definition._replace(properties=[Property(*item) for item in sorted(properties.items())])


def listed(text: str) -> ValidWriteIdList:
    """Return the list of a case, `hwm:exceptions` in any order."""
    hwm, _, exceptions = text.partition(":")
    ids = tuple(sorted({int(each) for each in exceptions.split(",") if each}))
    return ValidWriteIdList(None, int(hwm), ids, (), ids[0] if ids else None)


def reader_ids(text: str | None) -> ReaderIds | None:
    return None if text is None else ReaderIds.of(listed(text))
