"""What becomes of tables, at once or pending in a txn, as tables of refusals and of answers.

The refusals of a command stand in the order they are checked: what a row does wrong, the rows above
it do wrong as well, as far as one command can. Names at the commit stand in `test_decide_names`.
"""

from ledger.core.commands import (
    AlterTable,
    Column,
    CreateTable,
    DropTable,
    Property,
    RenameTable,
    TableDefinition,
)
from ledger.core.events.events import TableCreated, TableDropped, TableRenamed
from ledger.core.limits import TABLE_NAME_CHARS_MAX
from ledger.core.refusals import Reason
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import CATALOG

AHEAD = 1_000_000
DELAY = Column("delay", "int", nullable=True, id=1)
TWICE = TableDefinition(
    "managed", "listed", "", [DELAY, Column("DELAY", "int", nullable=True, id=2)], (), ()
)
NO_LEVEL = TableDefinition(
    "managed", "listed", "", [], [], [Property("delta.isolationLevel", "Dirty")]
)
BY_ONE_TWICE = TableDefinition("managed", "listed", "", [DELAY], ["day", "delay", "DAY"], ())
NO_COLUMN = TableDefinition("managed", "listed", "", [DELAY], ["Delay", "day"], ())
PLAIN = TableDefinition("managed", "listed", "file:///lake/table", [], [], [])
OUTSIDE = PLAIN._replace(kind="external")
BAD_NAME = "a:b"


def create(
    scene: Scene,
    name: str,
    *,
    txn: int = 0,
    read_at: int = 0,
    catalog: str = CATALOG,
    made: TableDefinition = PLAIN,
) -> CreateTable:
    return CreateTable(*scene.asks(scene.ada), txn, read_at, catalog, name, made)


def rename(scene: Scene, table: int, name: str, *, txn: int = 0, read_at: int = 0) -> RenameTable:
    return RenameTable(*scene.asks(scene.ada), txn, read_at, table, name)


def drop(scene: Scene, table: int, *, txn: int = 0, read_at: int = 0) -> DropTable:
    return DropTable(*scene.asks(scene.ada), txn, read_at, table)


def alter(scene: Scene, table: int) -> AlterTable:
    """Return ada's command to alter a table at once."""
    made = PLAIN._replace(columns=[DELAY])
    return AlterTable(*scene.asks(scene.ada), 0, 0, table, made, "ADD COLUMNS")


def after(scene: Scene, *commands: CreateTable | AlterTable | RenameTable | DropTable) -> Scene:
    for command in commands:
        scene.ask(command)
    return scene


CREATE = [
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: create(s, BAD_NAME, txn=MISSING, made=TWICE),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: create(s, BAD_NAME, txn=s.others, made=TWICE),
        lambda s: s.others,
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: create(s, BAD_NAME, txn=s.reading, made=TWICE),
        lambda s: s.reading,
    ),
    *(
        Refusal(
            Reason.COMMAND_INVALID,
            f"got {bad!r}",
            lambda s, bad=bad: create(s, bad, read_at=AHEAD, made=TWICE),  # type: ignore[misc]
        )
        for bad in ("", BAD_NAME, "a$b", "a\0b")
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "1 to 255 characters",
        lambda s: create(s, "x" * (TABLE_NAME_CHARS_MAX + 1), read_at=AHEAD, made=TWICE),
    ),
    *(
        Refusal(
            Reason.COMMAND_INVALID,
            said,
            lambda s, made=made: create(s, "flights", read_at=AHEAD, made=made),  # type: ignore[misc]
        )
        for said, made in (
            ("by more than case, got 'delay' and 'DELAY'", TWICE),
            ("partition columns must differ, got", BY_ONE_TWICE),
            ("partition column 'day'", NO_COLUMN),
            ("got 'Dirty'", NO_LEVEL),
        )
    ),
    Refusal(
        Reason.READ_AT_AHEAD,
        "the newest position 30, got",
        lambda s: create(s, "flights", read_at=AHEAD, catalog="elsewhere"),
    ),
    Refusal(
        Reason.UNKNOWN_CATALOG,
        "no catalog 'elsewhere'",
        lambda s: create(s, "flights", catalog="elsewhere"),
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 1 has the name flights",
        lambda s: create(s, "flights"),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 1 has the name FLIGHTS",
        lambda s: create(s, "FLIGHTS", txn=s.mine),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 1 has the name",
        lambda s: create(s, "flights", read_at=s.state.tables.by_id[s.flights].named.position),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 1 has the name",
        lambda s: create(after(s, alter(s, s.flights)), "flights", read_at=s.position() - 1),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.PROTOCOL_CHANGED,
        "table 1 has the name",
        lambda s: create(s, "flights", read_at=s.bob),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.PROTOCOL_CHANGED,
        "table 6 has the name late",
        lambda s: create(after(s, create(s, "late")), "late", txn=s.mine),
        lambda s: s.draft + 1,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 6 has the name New",
        lambda s: create(after(s, create(s, "new", txn=s.mine)), "New", txn=s.mine),
        lambda s: s.draft + 1,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 1 has the name new",
        lambda s: create(after(s, rename(s, s.flights, "new", txn=s.mine)), "new", txn=s.mine),
        lambda s: s.flights,
    ),
]
CHANGE = [
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: rename(s, MISSING, BAD_NAME, txn=MISSING, read_at=AHEAD),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: rename(s, MISSING, BAD_NAME, txn=s.others, read_at=AHEAD),
        lambda s: s.others,
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: drop(s, MISSING, txn=s.reading, read_at=AHEAD),
        lambda s: s.reading,
    ),
    Refusal(
        Reason.READ_AT_AHEAD,
        "the newest position 30, got",
        lambda s: rename(s, MISSING, BAD_NAME, read_at=AHEAD),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: rename(s, MISSING, BAD_NAME, read_at=1),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 4",
        lambda s: drop(s, s.gone, read_at=1),
        lambda s: s.gone,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: drop(s, s.draft, read_at=1),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 1",
        lambda s: rename(after(s, drop(s, s.flights, txn=s.mine)), s.flights, "new", txn=s.mine),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "table flights was read at position 7 and changed at position 8",
        lambda s: rename(s, s.flights, BAD_NAME, read_at=s.bob),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "was read at position 27 and changed at position 31",
        lambda s: drop(after(s, rename(s, s.flights, "trips")), s.flights, txn=s.mine),
        lambda s: s.flights,
    ),
    Refusal(Reason.COMMAND_INVALID, "got 'a:b'", lambda s: rename(s, s.flights, BAD_NAME)),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 2 has the name Planes",
        lambda s: rename(s, s.flights, "Planes"),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.PROTOCOL_CHANGED,
        "table 6 has the name late",
        lambda s: rename(after(s, create(s, "late")), s.flights, "late", read_at=s.position() - 1),
        lambda s: s.draft + 1,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 6 has the name flights",
        lambda s: rename(
            after(s, rename(s, s.flights, "b", txn=s.mine), create(s, "flights", txn=s.mine)),
            s.flights,
            "flights",
            txn=s.mine,
        ),
        lambda s: s.draft + 1,
    ),
    Refusal(
        Reason.TABLE_EXISTS,
        "table 7 has the name one",
        lambda s: rename(
            after(
                s,
                create(s, "one", txn=s.mine),
                rename(s, s.draft + 1, "two", txn=s.mine),
                create(s, "one", txn=s.mine),
            ),
            s.draft + 1,
            "one",
            txn=s.mine,
        ),
        lambda s: s.draft + 2,
    ),
]
REFUSALS = [*CREATE, *CHANGE]
test_refused = refuses(REFUSALS)

ACCEPTED = [
    Accepted(
        "create at once: no write id, no number",
        lambda s: s.ask(create(s, "new", read_at=s.bob)),
        lambda s: TableCreated(s.draft + 1, 0, 0, s.bob, CATALOG, "new", PLAIN),
    ),
    Accepted(
        "create under the longest name",
        lambda s: s.ask(create(s, "x" * TABLE_NAME_CHARS_MAX)),
        lambda s: TableCreated(s.draft + 1, 0, 0, 0, CATALOG, "x" * TABLE_NAME_CHARS_MAX, PLAIN),
    ),
    Accepted(
        "rename to another spelling of the name that this txn gave before",
        lambda s: after(s, rename(s, s.flights, "new", txn=s.mine)).ask(
            rename(s, s.flights, "NEW", txn=s.mine)
        ),
        lambda s: TableRenamed(s.flights, 2, 2, s.snapshot, CATALOG, "NEW"),
    ),
    Accepted(
        "create in a txn: its first write id, from the txn's snapshot",
        lambda s: s.ask(create(s, "new", txn=s.mine)),
        lambda s: TableCreated(s.draft + 1, 1, 1, s.snapshot, CATALOG, "new", PLAIN),
    ),
    Accepted(
        "create an external table in a txn: no write id",
        lambda s: s.ask(create(s, "new", txn=s.mine, made=OUTSIDE)),
        lambda s: TableCreated(s.draft + 1, 1, 0, s.snapshot, CATALOG, "new", OUTSIDE),
    ),
    Accepted(
        "create under a name another open txn has only asked for",
        lambda s: s.ask(create(s, "draft")),
        lambda s: TableCreated(s.draft + 1, 0, 0, 0, CATALOG, "draft", PLAIN),
    ),
    Accepted(
        "create under the name of a table dropped before",
        lambda s: s.ask(create(s, "gone")),
        lambda s: TableCreated(s.draft + 1, 0, 0, 0, CATALOG, "gone", PLAIN),
    ),
    Accepted(
        "create under the name of a table that this txn drops",
        lambda s: after(s, drop(s, s.flights, txn=s.mine)).ask(create(s, "flights", txn=s.mine)),
        lambda s: TableCreated(s.draft + 1, 2, 1, s.snapshot, CATALOG, "flights", PLAIN),
    ),
    Accepted(
        "create while a table this txn renamed was dropped by another",
        lambda s: after(s, rename(s, s.flights, "b", txn=s.mine), drop(s, s.flights)).ask(
            create(s, "new", txn=s.mine)
        ),
        lambda s: TableCreated(s.draft + 1, 2, 1, s.snapshot, CATALOG, "new", PLAIN),
    ),
    Accepted(
        "rename at once",
        lambda s: s.rename_table(s.bob, s.flights, "trips"),
        lambda s: TableRenamed(s.flights, 0, 0, 0, CATALOG, "trips"),
    ),
    Accepted(
        "rename to the same name in another case",
        lambda s: s.rename_table(s.bob, s.flights, "Flights"),
        lambda s: TableRenamed(s.flights, 0, 0, 0, CATALOG, "Flights"),
    ),
    Accepted(
        "rename in a txn: the next write id, then the same",
        lambda s: last(
            s.rename_table(s.ada, s.flights, "b", txn=s.mine),
            s.rename_table(s.ada, s.flights, "flights", txn=s.mine),
        ),
        lambda s: TableRenamed(s.flights, 2, 2, s.snapshot, CATALOG, "flights"),
    ),
    Accepted(
        "rename an external table in a txn: no write id",
        lambda s: s.rename_table(s.ada, s.weather, "b", txn=s.mine),
        lambda s: TableRenamed(s.weather, 1, 0, s.snapshot, CATALOG, "b"),
    ),
    Accepted(
        "rename a table only this txn sees",
        lambda s: s.rename_table(s.bob, s.draft, "b", txn=s.others),
        lambda s: TableRenamed(s.draft, 2, 1, s.seen, CATALOG, "b"),
    ),
    Accepted(
        "drop at once",
        lambda s: s.drop_table(s.bob, s.weather),
        lambda s: TableDropped(s.weather, 0, 0, 0),
    ),
    Accepted(
        "drop in a txn, after a later read than the txn's snapshot",
        lambda s: after(s, rename(s, s.flights, "b")).ask(
            drop(s, s.flights, txn=s.mine, read_at=s.position())
        ),
        lambda s: TableDropped(s.flights, 1, 2, s.position() - 1),
    ),
]
test_accepted = accepts(ACCEPTED)
