"""A scene for tables of commands: one domain in which everything a command can meet is there.

Every row of a table starts from a scene of its own. The names are attributes, so that a row reads
as a sentence; numbers are what the domain gave them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import pytest

from ledger.core.commands import Command
from ledger.core.events.events import Body, Event, TableAltered, TxnCommitted
from ledger.core.events.parts import Limits
from ledger.core.evolve.evolve import fold
from ledger.core.refusals import Reason
from ledger.core.state.domain import DomainState
from tests.driver import Driver, write

LIMITS = Limits(
    open_txns_max=5,
    txns_per_open_max=3,
    sessions_max=2,
    tables_per_command_max=3,
    lease_ms=10_000,
    txn_deadline_ms=60_000,
    replicated_deadline_ms=600_000,
    outcomes_max=4,
    conflict_entries_min=0,
    conflict_entries_max=100,
    snapshot_inline_max=100,
)
MISSING = 404


class Scene(Driver):
    """A domain with two sessions, tables of each kind, and a txn in every state.

    Its bounds are reached: no further session opens. Txns of one end stand in the order they ended.
    """

    def __init__(self) -> None:
        super().__init__(limits=LIMITS)
        self.ended = self.open_session("old")
        self.close_session(self.ended)
        self.ada = self.open_session("ada")
        self.bob = self.open_session("bob")
        self.flights = self.create_table(self.ada, "flights")
        self.planes = self.create_table(self.ada, "planes", layout="directories")
        self.weather = self.create_table(self.ada, "weather", kind="external")
        self.gone = self.create_table(self.ada, "gone")
        self.drop_table(self.ada, self.gone)
        # Nobody who could meet this winner is open, so the floor rises to it at once.
        update = write(self.flights, operation="update", read_at=self.position())
        self.floor = self.commit(self.ada, 0, update).control.position
        self.forgotten = self.open_txn(self.ada)
        self.forgotten_at = self.commit(self.ada, self.forgotten).control.position
        self.forgotten_failed = self.fails(self.planes)
        self.forget(self.ada, [self.forgotten_failed])
        self.committed = self.open_txn(self.ada)
        self.committed_at = self.commit(self.ada, self.committed).control.position
        self.failed = self.fails(self.planes)
        self.empty_failed = self.fails()
        self.mine = self.open_txn(self.ada)
        self.snapshot = self.position()
        self.reading = self.open_txn(self.ada, "read_only")
        self.others = self.open_txn(self.bob)
        self.seen = self.position()
        self.draft = self.create_table(self.bob, "draft", txn=self.others)
        self.digest = self.state.txns.digest

    def fails(self, *tables: int) -> int:
        """Return a txn of ada's that aborted with data in these tables."""
        txn = self.open_txn(self.ada)
        if tables:
            self.allocate(self.ada, [txn], tables)
        self.abort(self.ada, txn)
        return txn

    def position(self) -> int:
        """Return the position of the last event."""
        return self.state.position


Asks = Callable[[Scene], Command]


class Refusal(NamedTuple):
    """A row: in a scene, the command is refused with a reason, in words that hold `says`."""

    reason: Reason
    says: str
    command: Asks
    subject: Callable[[Scene], int] = lambda _: 0


class Accepted(NamedTuple):
    """A row: in a scene, `given` is answered by an event with this body."""

    name: str
    given: Callable[[Scene], Event]
    body: Callable[[Scene], Body]


Last = TypeVar("Last")


def last(*several: Any | Last) -> Last:
    """Return the last of several things that are done one after another."""
    found: Last = several[-1]
    return found


def row_name(row: Any) -> str:
    """Return what pytest calls a row."""
    return row.name if hasattr(row, "name") else f"{row.reason}: {row.says}"


def refuses(rows: Sequence[Refusal]) -> Callable[[Refusal], None]:
    """Return a test of a table: each command is refused with the first reason that applies."""

    @pytest.mark.parametrize("row", rows, ids=row_name)
    def check(row: Refusal) -> None:
        scene = Scene()
        body: Any = scene.ask(row.command(scene)).body

        assert (body.reason, body.subject) == (row.reason.value, row.subject(scene))
        assert row.says in body.message

    return check


def accepts(rows: Sequence[Accepted]) -> Callable[[Accepted], None]:
    """Return a test of a table: each command is answered by the event that says what it does."""

    @pytest.mark.parametrize("row", rows, ids=row_name)
    def check(row: Accepted) -> None:
        scene = Scene()
        event = row.given(scene)

        assert timeless(scene, event) == plain(row.body(scene))

    return check


def timeless(driver: Driver, event: Event) -> Any:
    """Return a body in plain form, its commit times 0 once they are found to be right."""
    body, at = event.body, event.control.at
    if isinstance(body, TxnCommitted):
        told = {part.table: part.committed_at for part in body.parts}
        body = body._replace(parts=[part._replace(committed_at=0) for part in body.parts])
    elif isinstance(body, TableAltered) and body.one_shot:
        told = {body.table: body.committed_at}
        body = body._replace(committed_at=0)
    else:
        return plain(body)
    before = fold(DomainState(), driver.events[: event.control.position - 1]).tables.by_id

    assert told == {table: max(at, before[table].committed_at + 1) for table in told}
    return plain(body)


def plain(value: Any) -> Any:
    """Return a record with lists for all its sequences."""
    if hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
