"""Another definition for a table: at once, by a commit of its own, or pending in a txn.

The refusals stand in the order they are checked: what a row does wrong, the rows above it do wrong
as well, as far as one command can.
"""

from typing import Any

import pytest

from ledger.core.commands import AlterTable, TableDefinition
from ledger.core.events.events import Event, TableAltered, TxnCommitted
from ledger.core.events.parts import CommittedPart
from ledger.core.invariants import assert_invariants
from ledger.core.limits import CHANGES_PER_TXN_MAX, OPERATION_CHARS_MAX
from ledger.core.refusals import Reason
from tests.core.parts import part, table_of
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import STEP_MS, definition

AHEAD = 1_000_000
ADDED = table_of(("day", "string"), ("delay", "int"), by=["day"])
TWICE = table_of(("delay", "int"), ("DELAY", "int"), layout="other")._replace(layout="directories")
NO_COLUMN = table_of(("delay", "int"), by=["day"])._replace(layout="directories")
NO_LEVEL = table_of(delta__isolationLevel="Dirty")._replace(layout="directories")
SET_LEVEL = "SET TBLPROPERTIES"


def alter(
    scene: Scene,
    table: int,
    made: TableDefinition = ADDED,
    *,
    txn: int = 0,
    read_at: int = 0,
    operation: str = "ADD COLUMNS",
) -> AlterTable:
    return AlterTable(*scene.asks(scene.ada), txn, read_at, table, made, operation)


def alters(scene: Scene, *commands: AlterTable) -> Event:
    """Ask several commands and return the last answer."""
    return [scene.ask(command) for command in commands][-1]


REFUSALS = [
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: alter(s, MISSING, TWICE, txn=MISSING, read_at=AHEAD),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: alter(s, MISSING, TWICE, txn=s.others, read_at=AHEAD),
        lambda s: s.others,
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: alter(s, MISSING, TWICE, txn=s.reading, read_at=AHEAD),
        lambda s: s.reading,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "read_at must be 0 or more, got -1",
        lambda s: alter(s, MISSING, TWICE, read_at=-1),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.READ_AT_AHEAD,
        "the newest position 30, got",
        lambda s: alter(s, MISSING, TWICE, read_at=s.position() + 1),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: alter(s, MISSING, TWICE, txn=s.mine, read_at=1),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 4",
        lambda s: alter(s, s.gone, TWICE, read_at=1),
        lambda s: s.gone,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: alter(s, s.draft, TWICE, txn=s.mine, read_at=1),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 1",
        lambda s: last(
            s.drop_table(s.ada, s.flights, txn=s.mine),
            alter(s, s.flights, TWICE, txn=s.mine, read_at=1),
        ),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "table flights was read at position 7 and changed at position 8",
        lambda s: alter(s, s.flights, TWICE, read_at=7),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "table flights was read at position 29 and changed at position 31",
        lambda s: last(s.ask(alter(s, s.flights)), alter(s, s.flights, TWICE, read_at=29)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "table flights was read at position 27 and changed at position 31",
        lambda s: last(s.ask(alter(s, s.flights)), alter(s, s.flights, TWICE, txn=s.mine)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "table weather was read at position 29 and changed at position 31",
        lambda s: last(
            s.ask(alter(s, s.weather, definition(kind="external"))),
            alter(s, s.weather, TWICE, read_at=29),
        ),
        lambda s: s.weather,
    ),
    Refusal(Reason.COMMAND_INVALID, "'delay' and 'DELAY'", lambda s: alter(s, s.flights, TWICE)),
    Refusal(
        Reason.COMMAND_INVALID, "partition column 'day'", lambda s: alter(s, s.flights, NO_COLUMN)
    ),
    Refusal(Reason.COMMAND_INVALID, "got 'Dirty'", lambda s: alter(s, s.flights, NO_LEVEL)),
    Refusal(
        Reason.COMMAND_INVALID,
        "must stay managed and listed, got managed and directories",
        lambda s: alter(s, s.flights, definition("directories")),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "must stay managed and listed, got external and listed",
        lambda s: alter(s, s.flights, definition(kind="external"), txn=s.mine),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "table weather must stay external and listed, got managed",
        lambda s: alter(s, s.weather),
        lambda s: s.weather,
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        f"{CHANGES_PER_TXN_MAX} changes of tables at most",
        lambda s: last(
            alters(s, *(alter(s, s.flights, txn=s.mine) for _ in range(CHANGES_PER_TXN_MAX))),
            alter(s, s.flights, txn=s.mine),
        ),
        lambda s: s.mine,
    ),
]
test_refused = refuses(REFUSALS)


def altered(table: int, number: int, write_id: int, read_at: int, **others: Any) -> TableAltered:
    """Return the answer to an alter that adds the columns, pending or at once."""
    pending = TableAltered(
        table, number, write_id, read_at, one_shot=False, version=-1, committed_at=0,
        definition=ADDED, operation="ADD COLUMNS",
    )  # fmt: skip
    return pending._replace(**others)


def twice_in_a_moment(scene: Scene) -> Event:
    """Alter a table at once, and again before the clock goes on."""
    first = scene.ask(alter(scene, scene.flights))
    scene.now -= STEP_MS
    second = scene.ask(alter(scene, scene.flights))
    assert second.control.at == first.control.at
    return second


ACCEPTED = [
    Accepted(
        "a later version of the same millisecond",
        twice_in_a_moment,
        lambda s: altered(s.flights, 1, 3, 0, one_shot=True, version=3),
    ),
    Accepted(
        "the last change that a txn may make",
        lambda s: alters(s, *(alter(s, s.flights, txn=s.mine) for _ in range(CHANGES_PER_TXN_MAX))),
        lambda s: altered(s.flights, CHANGES_PER_TXN_MAX, 2, s.snapshot),
    ),
    Accepted(
        "a managed table, by a commit of its own",
        lambda s: s.ask(alter(s, s.flights)),
        lambda s: altered(s.flights, 1, 2, 0, one_shot=True, version=2),
    ),
    Accepted(
        "twice: versions and write ids count on, and so does the time",
        lambda s: alters(s, alter(s, s.flights), alter(s, s.flights, operation="UNSET")),
        lambda s: altered(s.flights, 1, 3, 0, one_shot=True, version=3, operation="UNSET"),
    ),
    Accepted(
        "as it was read",
        lambda s: s.ask(alter(s, s.flights, read_at=s.seen)),
        lambda s: altered(s.flights, 1, 2, s.seen, one_shot=True, version=2),
    ),
    Accepted(
        "a table whose files lie in directories",
        lambda s: s.ask(alter(s, s.planes, ADDED._replace(layout="directories"))),
        lambda s: altered(
            s.planes, 1, 3, 0, one_shot=True, version=1,
            definition=ADDED._replace(layout="directories"),
        ),
    ),
    Accepted(
        "an external table, at once and without a commit",
        lambda s: s.ask(alter(s, s.weather, ADDED._replace(kind="external"))),
        lambda s: altered(s.weather, 0, 0, 0, definition=ADDED._replace(kind="external")),
    ),
    Accepted(
        "in a txn, which takes a write id",
        lambda s: s.ask(alter(s, s.flights, txn=s.mine)),
        lambda s: altered(s.flights, 1, 2, s.snapshot),
    ),
    Accepted(
        "in a txn that has one",
        lambda s: last(
            s.allocate(s.ada, [s.mine], [s.flights]),
            s.ask(alter(s, s.flights, txn=s.mine, read_at=s.seen)),
        ),
        lambda s: altered(s.flights, 1, 2, s.seen),
    ),
    Accepted(
        "as the second change of a txn",
        lambda s: last(
            s.rename_table(s.ada, s.flights, "departures", txn=s.mine),
            s.ask(alter(s, s.flights, txn=s.mine)),
        ),
        lambda s: altered(s.flights, 2, 2, s.snapshot),
    ),
    Accepted(
        "an external table in a txn, without a write id",
        lambda s: s.ask(alter(s, s.weather, ADDED._replace(kind="external"), txn=s.mine)),
        lambda s: altered(
            s.weather, 1, 0, s.snapshot, definition=ADDED._replace(kind="external")
        ),
    ),
    Accepted(
        "the txn's own new table",
        lambda s: s.ask(AlterTable(*s.asks(s.bob), s.others, 0, s.draft, ADDED, "ADD COLUMNS")),
        lambda s: altered(s.draft, 2, 1, s.seen),
    ),
    Accepted(
        "a long operation is cut",
        lambda s: s.ask(alter(s, s.flights, operation="x" * (OPERATION_CHARS_MAX + 1))),
        lambda s: altered(
            s.flights, 1, 2, 0, one_shot=True, version=2, operation="x" * OPERATION_CHARS_MAX
        ),
    ),
    Accepted(
        "its commit counts it",
        lambda s: last(
            s.ask(alter(s, s.flights, txn=s.mine)),
            s.commit(s.ada, s.mine),
        ),
        lambda s: TxnCommitted(
            "default", one_shot=False, parts=[CommittedPart(s.flights, s.snapshot, 2, 2, 1, [])]
        ),
    ),
]  # fmt: skip
test_accepted = accepts(ACCEPTED)


def test_one_shot_is_a_committed_txn() -> None:
    scene = Scene()
    following, still = scene.state.txns.next_txn, list(scene.state.txns.open)
    event = scene.ask(alter(scene, scene.flights))
    status = scene.state.txns.status(event.control.txn)

    assert event.control.txn == following
    assert status == ("committed", event.control.position)
    assert list(scene.state.txns.open) == still
    assert scene.state.tables.by_id[scene.flights].definition == ADDED
    assert_invariants(scene.state)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda s: s.position(), definition()),
        (lambda s: s.commit(s.ada, s.mine), ADDED),
        (lambda s: s.abort(s.ada, s.mine), definition()),
        (lambda s: s.tidy(txns=[s.mine]), definition()),
    ],
    ids=["pending", "commit", "abort", "expiry"],
)
def test_pending_until_the_commit(end: Any, expected: TableDefinition) -> None:
    scene = Scene()
    scene.ask(alter(scene, scene.flights, txn=scene.mine))
    end(scene)
    found = scene.state.tables.by_id[scene.flights].definition

    assert (found.columns, found.partition_columns) == (
        list(expected.columns),
        list(expected.partition_columns),
    )
    assert_invariants(scene.state)


@pytest.mark.parametrize("level", ["serializable", "SERIALIZABLE", "Serializable"])
def test_a_tables_isolation_level_is_set_by_its_property_in_any_case_of_letters(level: str) -> None:
    scene = Scene()
    made = table_of(delta__isolationLevel=level)
    scene.ask(alter(scene, scene.flights, made, operation=SET_LEVEL))

    assert scene.state.tables.by_id[scene.flights].traits.level == "Serializable"


def test_repeated_alter_is_told_its_first_answer() -> None:
    scene = Scene()
    command = alter(scene, scene.flights)
    first = scene.ask(command)
    again: Any = scene.ask(command).body

    assert (again.outcome, again.answered, again.first) == (
        "TableAltered",
        first.control.position,
        first.control.txn,
    )
    assert scene.state.tables.by_id[scene.flights].version == 2


def test_writer_loses_to_an_alter() -> None:
    scene = Scene()
    won = scene.ask(AlterTable(*scene.asks(scene.bob), 0, 0, scene.flights, ADDED, "ADD COLUMNS"))
    lost: Any = scene.commit(scene.ada, scene.mine, part(scene.flights, adds=["[]"])).body

    assert lost.evidence.rule == "metadata_changed"
    assert lost.evidence.unit == "shape"
    assert lost.evidence.winner[:4] == (
        won.control.txn,
        won.control.position,
        "ADD COLUMNS",
        "bob@host etl",
    )
