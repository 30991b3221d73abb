"""A scene for tables of commands: one domain in which everything a command can meet is there.

Every row of a table starts from a scene of its own. The names are attributes, so that a row reads
as a sentence; numbers are what the domain gave them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ledger.core.commands import Command
from ledger.core.events import Body, Event, Limits
from ledger.core.outcomes import Reason
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
        self.commit(self.ada, self.forgotten)
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


def last(*events: Event) -> Event:
    """Return the event of the last of several commands."""
    return events[-1]


def row_name(row: Any) -> str:
    """Return what pytest calls a row."""
    return row.name if hasattr(row, "name") else f"{row.reason}: {row.says}"


def check_refusal(row: Refusal) -> None:
    """Ask the row's command of a new scene and compare the refusal."""
    scene = Scene()
    body: Any = scene.ask(row.command(scene)).body

    assert (body.reason, body.subject) == (row.reason.value, row.subject(scene))
    assert row.says in body.message
