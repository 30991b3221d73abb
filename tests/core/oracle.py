"""The oracle: what a domain's txns, write ids, names and watermark are, worked out the slow way.

It reads the events and keeps everything for ever; each question walks through all of it. It shares
no rule with `ledger.core`: no decide, evolve, txns, tables or conflicts. `observe` raises
AssertionError for an event that cannot follow, `compare` for a state that says something else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ledger.core.commands import CoarseWrite
from ledger.core.events.events import Control, Event, TxnOpened
from ledger.core.events.parts import AbortedPart, AllocatedId, Evidence
from ledger.core.lists.visibility import held_txn_list, valid_write_ids
from ledger.core.state.domain import DomainState

Name = tuple[str, str]


class Wrote(NamedTuple):
    """A coarse write of an ordinary commit: when it committed, from which position it was made."""

    position: int
    txn: int
    table: int
    read_at: int
    write: CoarseWrite


class Waiting(NamedTuple):
    """A metadata change that waits for its txn; `name` "" = the table is dropped."""

    table: int
    name: str


@dataclass
class KnownTxn:
    """A txn from its open on, for ever; `left` are the tables that may hold data of its abort."""

    txn: int
    type: str
    session: int
    min_open: int
    control: Control
    snapshot: TxnOpened | None
    state: str = "open"
    ended: int = 0
    ids: dict[int, int] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    changes: list[Waiting] = field(default_factory=list)

    def is_exception(self) -> bool:
        """Tell whether others list it as open or aborted."""
        return self.type != "read_only" and self.state in ("open", "aborted")


@dataclass
class KnownTable:
    """A table from its creation on, for ever; `given[i]` is the txn of write id i + 1."""

    table: int
    catalog: str
    name: str
    creator: int
    version: int
    live: bool = True
    changed: int = 0
    given: list[int] = field(default_factory=list)

    def key(self) -> Name:
        """Return what no other table of the domain may be called."""
        return self.catalog, self.name.lower()


class Oracle:
    """Everything that happened to a domain, and what follows from it."""

    def __init__(self, outcomes_max: int) -> None:
        self.txns: dict[int, KnownTxn] = {}
        self.tables: dict[int, KnownTable] = {}
        self.wrote: list[Wrote] = []
        self.ended: list[int] = []
        self._outcomes_max = outcomes_max

    def observe(self, event: Event) -> None:
        """Take in one event; raises AssertionError if it cannot follow on those before."""
        observe = getattr(self, f"on_{type(event.body).__name__}", None)
        if observe is not None:
            observe(event.control, event.body)
        assert len(set(self.names())) == len(self.public()), "two tables have one name"

    def compare(self, state: DomainState) -> None:
        """Raise AssertionError where the state says something else."""
        self.compare_txns(state)
        self.compare_tables(state)
        self.compare_mappings(state)
        self.compare_snapshots(state)
        assert state.txns.watermark == self.watermark(), "the watermark is another"

    def watermark(self) -> int:
        """Return the least id that anything alive may still ask about (HIVE-18747)."""
        history = [txn.min_open for txn in self.open()]
        pins = [txn.txn for txn in self.txns.values() if txn.state == "aborted" and txn.left]
        return min([*history, *pins, self.next_txn()])

    def next_txn(self) -> int:
        """Return the id the next txn gets."""
        return len(self.txns) + 1

    def open(self) -> list[KnownTxn]:
        """Return the txns that have neither committed nor aborted."""
        return [txn for txn in self.txns.values() if txn.state == "open"]

    def exceptions(self, state: str) -> list[int]:
        """Return what a snapshot taken now lists as open or as aborted."""
        return [t.txn for t in self.txns.values() if t.is_exception() and t.state == state]

    def public(self) -> list[KnownTable]:
        return [table for table in self.tables.values() if table.live and not table.creator]

    def names(self) -> dict[Name, int]:
        return {table.key(): table.table for table in self.public()}

    def give(self, table: int, txn: int, write_id: int) -> None:
        """Take in one write id: the one the txn has there, or the next of the table."""
        known = self.txns[txn].ids.get(table)
        if known is None:
            self.tables[table].given.append(txn)
            known = self.txns[txn].ids[table] = len(self.tables[table].given)
        assert write_id == known, f"txn {txn} got write id {write_id} of {table}, not {known}"

    def end(self, position: int, txn: int, state: str) -> KnownTxn:
        """Take in the end of an open txn."""
        ended = self.txns[txn]
        assert ended.state == "open", f"txn {txn} ended twice"
        ended.state, ended.ended = state, position
        self.ended.append(txn)
        return ended

    def abort(self, position: int, txn: int, parts: Sequence[AbortedPart]) -> None:
        """Take in an abort: what it created is gone, what it wrote stays."""
        aborted = self.end(position, txn, "aborted")
        counts = [change.table for change in aborted.changes]
        named = {part.table: part for part in parts}
        assert aborted.ids.keys() | set(counts) <= named.keys(), "an abort leaves out a table"
        for part in parts:
            assert part.write_id == aborted.ids.get(part.table, 0), "an abort names a wrong id"
            assert part.metadata_events == counts.count(part.table), "metadata is miscounted"
        for table in self.tables.values():
            if table.creator == txn:
                self.drop(table)
        aborted.left = {p.table for p in parts if p.wrote and self.tables[p.table].live}
        if aborted.type == "read_only":
            aborted.state, aborted.left = "forgotten", set()

    def drop(self, table: KnownTable) -> None:
        """Take in that a table is gone, and what aborted txns left in it."""
        table.live = False
        for txn in self.txns.values():
            txn.left.discard(table.table)

    def rename(self, table: KnownTable, position: int, name: str) -> None:
        """Take in a table's name of now; "" = it is gone."""
        table.creator, table.changed = 0, position
        if name:
            table.name = name
        else:
            self.drop(table)

    def change(self, control: Control, table: int, write_id: int, name: str) -> None:
        """Take in a change of a table, at once or waiting."""
        if not control.txn:
            self.rename(self.tables[table], control.position, name)
            return
        if write_id:
            self.give(table, control.txn, write_id)
        self.txns[control.txn].changes.append(Waiting(table, name))

    def on_TxnOpened(self, control: Control, body: Any) -> None:  # noqa: N802
        """Check the snapshot of the txns, and their ids."""
        min_open = min((txn.txn for txn in self.open()), default=self.next_txn())
        assert control.txn == self.next_txn(), "the ids are not the next ones"
        assert body.min_open == min_open, "the min history is another"
        assert not body.inline or [body.open, body.aborted] == [
            self.exceptions("open"),
            self.exceptions("aborted"),
        ], "the snapshot is another"
        for txn in range(control.txn, control.txn + body.size):
            self.txns[txn] = KnownTxn(txn, body.type, control.session, min_open, control, body)
        self.on_WriteIdsAllocated(control, body)

    def on_WriteIdsAllocated(self, _control: Control, body: Any) -> None:  # noqa: N802
        """Take in each write id."""
        for table, txn, write_id in body.ids:
            assert self.txns[txn].state == "open", f"txn {txn} is not open"
            self.give(table, txn, write_id)

    def on_CommandRepeated(self, _control: Control, body: Any) -> None:  # noqa: N802
        """Check that a repeat says what is."""
        for table, txn, write_id in body.ids:
            assert self.txns[txn].ids[table] == write_id, "a repeat names another write id"

    def on_TableCreated(self, control: Control, body: Any) -> None:  # noqa: N802
        assert body.table == len(self.tables) + 1, "the table id is not the next one"
        version = -1 if control.txn else 0
        table = KnownTable(body.table, body.catalog, body.name, control.txn, version)
        self.tables[body.table] = table
        self.change(control, body.table, body.write_id, body.name)

    def on_TableRenamed(self, control: Control, body: Any) -> None:  # noqa: N802
        """Take in a name."""
        self.change(control, body.table, body.write_id, body.name)

    def on_TableDropped(self, control: Control, body: Any) -> None:  # noqa: N802
        """Take in that a table goes."""
        self.change(control, body.table, body.write_id, "")

    def on_TxnCommitted(self, control: Control, body: Any) -> None:  # noqa: N802
        """Take in a commit: versions, write ids, changes; no earlier one may stand against it."""
        if body.one_shot:
            txn, session = self.next_txn(), control.session
            self.txns[txn] = KnownTxn(txn, "default", session, txn, control, None)
        committed = self.end(control.position, control.txn, "committed")
        assert committed.txn == control.txn, "the id is not the next one"
        named = {part.table for part in body.parts}
        live = {table for table in committed.ids if self.tables[table].live}
        assert live <= named, "a commit leaves out a table"
        for part in body.parts:
            self.commit_part(control, committed, part)
        for change in committed.changes:
            self.rename(self.tables[change.table], control.position, change.name)

    def commit_part(self, control: Control, committed: KnownTxn, part: Any) -> None:
        """Take in one table of a commit."""
        table = self.tables[part.table]
        assert table.live, f"table {part.table} is gone"
        assert table.creator in (0, committed.txn), f"table {part.table} is hidden"
        table.version += 1
        assert part.version == table.version, "the version is not the next one"
        assert part.write_id or not committed.ids.get(part.table), "a commit hides its write id"
        if part.write_id:
            self.give(part.table, committed.txn, part.write_id)
        if committed.type != "default":
            return
        for write in part.writes:
            own = Wrote(control.position, committed.txn, part.table, part.read_at, write)
            assert not list(self.rivals(own)), f"txn {own.txn} wins against an earlier commit"
        self.wrote.extend(
            Wrote(control.position, committed.txn, part.table, part.read_at, write)
            for write in part.writes
        )

    def rivals(self, own: Wrote) -> Iterator[Wrote]:
        """Yield the commits that a write cannot follow: same unit, after it was planned."""
        for other in self.wrote:
            if (
                other.table == own.table
                and own.read_at < other.position < own.position
                and overlap(other.write, own.write)
            ):
                yield other

    def on_TxnAborted(self, control: Control, body: Any) -> None:  # noqa: N802
        """Take in an abort; evidence must be true."""
        if body.evidence is not None:
            self.check_evidence(control, body.evidence)
        if not body.one_shot:
            self.abort(control.position, control.txn, body.parts)

    def check_evidence(self, control: Control, evidence: Evidence) -> None:
        """Raise unless what the evidence says is so."""
        table, winner = self.tables[evidence.table], evidence.winner
        match evidence.rule:
            case "table_dropped":
                assert not table.live, f"table {table.table} is still there"
            case "metadata_twice":
                assert evidence.read_at < table.changed == winner.position, "nothing changed"
            case "name_claimed":
                holder = self.tables[self.names()[table.catalog, evidence.unit.lower()]]
                assert winner.position == holder.changed, "another change gave the name away"
            case "coarse_write_write":
                assert any(
                    (wrote.position, wrote.txn, wrote.table)
                    == (winner.position, winner.txn, table.table)
                    for wrote in self.wrote
                ), "the winner never wrote"
                assert evidence.read_at < winner.position < control.position, "no overlap in time"
            case rule:
                raise AssertionError(f"evidence of an unknown rule {rule}")

    def on_SessionClosed(self, control: Control, body: Any) -> None:  # noqa: N802
        """Take in the ends; every txn of the session must be among them."""
        mine = [txn.txn for txn in self.open() if txn.session == control.session]
        assert [end.txn for end in body.ends] == mine, "a session's end leaves out a txn"
        self.on_TxnsExpired(control, body)

    def on_TxnsExpired(self, control: Control, body: Any) -> None:  # noqa: N802
        """Take in the ends; nobody spoke for them, so all they could write counts as written."""
        for end in body.ends:
            ids = self.txns[end.txn].ids
            live = {table for table in ids if self.tables[table].live}
            assert {part.table for part in end.parts if part.wrote} == live, "data is overlooked"
            self.abort(control.position, end.txn, end.parts)

    def on_AbortedForgotten(self, _control: Control, body: Any) -> None:  # noqa: N802
        """Take in that data is gone."""
        for txn, table in body.parts:
            assert table in self.txns[txn].left, f"txn {txn} left nothing in {table}"
            self.txns[txn].left.discard(table)
        for txn in body.txns:
            assert self.txns[txn].state == "aborted", f"txn {txn} is not aborted"
            assert not self.txns[txn].left, f"txn {txn} left data"
            self.txns[txn].state = "forgotten"

    def compare_txns(self, state: DomainState) -> None:
        """Raise unless every id ever given out has the status it should."""
        remembered = set(self.ended[-self._outcomes_max :])
        assert state.txns.next_txn == self.next_txn(), "another next id"
        for txn in self.txns.values():
            expected = txn.state
            if txn.txn in remembered:
                expected = {"forgotten": "aborted"}.get(txn.state, txn.state)
            elif txn.state == "committed":
                expected = "forgotten"
            status, position = state.txns.status(txn.txn)
            assert status == expected, f"txn {txn.txn} is {status}, not {expected}"
            assert position in (txn.ended, 0), f"txn {txn.txn} ended at {txn.ended}"
        assert {t.txn: t.ids for t in self.open()} == {
            t.txn: t.write_ids for t in state.txns.open.values()
        }, "the open txns hold other write ids"

    def compare_tables(self, state: DomainState) -> None:
        """Raise unless tables, names, versions and sequences are the same."""
        assert {t.table: (t.version, len(t.given)) for t in self.tables.values() if t.live} == {
            t.table: (t.version, t.last_write_id) for t in state.tables.by_id.values()
        }, "other tables, versions or write ids"
        assert state.tables.names == self.names(), "other names"

    def compare_mappings(self, state: DomainState) -> None:
        """Raise unless every mapping is there but some below the watermark."""
        rows = set(mappings(state))
        every = {(table, w, txn.txn) for txn in self.txns.values() for table, w in txn.ids.items()}
        assert rows <= every, "a mapping nobody was given"
        assert all(txn < self.watermark() for _, _, txn in every - rows), "a mapping is missing"

    def compare_snapshots(self, state: DomainState) -> None:
        """Raise if cleaning has changed what an open txn sees under the list it holds."""
        rows = sorted(mappings(state))
        for txn in self.open():
            if txn.snapshot is None or not txn.snapshot.inline:
                continue
            held = held_txn_list(txn.control, txn.snapshot, txn.txn)
            for table in self.public():
                mapped = [(write_id, owner) for t, write_id, owner in rows if t == table.table]
                ids = valid_write_ids("t", held, mapped, len(table.given))
                for write_id, owner in enumerate(table.given, 1):
                    expected = self.sees(txn, self.txns[owner], table.table)
                    assert expected in (None, ids.is_valid(write_id)), (
                        f"txn {txn.txn} sees write id {write_id} of {table.table} otherwise"
                    )

    @staticmethod
    def sees(reader: KnownTxn, owner: KnownTxn, table: int) -> bool | None:
        """Tell whether a txn sees what another wrote to a table; None if there is nothing."""
        if owner.state in ("aborted", "forgotten") and table not in owner.left:
            return None
        committed = owner.state == "committed" and owner.ended <= reader.control.position
        return owner is reader or (committed and owner.txn < reader.txn)


def mappings(state: DomainState) -> Iterable[AllocatedId | tuple[int, int, int]]:
    """Yield the mappings a state holds as (table, write id, txn)."""
    for txn, ids in state.txns.mappings.items():
        yield from ((table, write_id, txn) for table, write_id in ids.items())
    for each in state.txns.open.values():
        yield from ((table, write_id, each.txn) for table, write_id in each.write_ids.items())


def overlap(a: CoarseWrite, b: CoarseWrite) -> bool:
    """Tell whether two coarse writes changed rows of one unit (rule c1)."""
    if "insert" in (a.operation, b.operation):
        return False
    same = a.scope == b.scope and (a.scope != "partition" or a.partition == b.partition)
    return same or "table" in (a.scope, b.scope)
