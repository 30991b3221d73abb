"""What an append is made for: the table as it was looked up, or as a row says that is given."""

import secrets
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.commands import Column
from ledger.core.events.events import CommandRefused
from ledger.core.limits import DEFAULT_LIMITS
from ledger.definitions.names import TableLike
from ledger.log.lossy import LossyLog, LossyWriter
from ledger.log.memory import MemoryLog, MemoryTopic
from ledger.log.port import Topic
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.told import bodies

APP = "stream"
MARKED = Column("day", "int", nullable=True, id=1, metadata='{"delta.identity.highWaterMark":7}')


class Overtaken(LossyLog):
    """A log as a client sees it whose next command others are faster than, once.

    Attributes:
        rival: what they do.
    """

    def __init__(self, of: MemoryLog) -> None:
        super().__init__(of)
        self.rival: Callable[[], object] | None = None

    def writer(self, topic: Topic) -> "OvertakenWriter":
        """Return a writer whose records come late."""
        return OvertakenWriter(self, self.topics[topic])


class OvertakenWriter(LossyWriter):
    """Appends to a topic once others have done what they do."""

    def __init__(self, log: Overtaken, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._overtaken = log

    def append(self, key: bytes, value: bytes) -> None:
        rival, self._overtaken.rival = self._overtaken.rival, None
        if rival is not None:
            rival()
        super().append(key, value)


class Late(NamedTuple):
    """A client that is overtaken, how it names the table, and the row of that."""

    ledger: Ledger
    log: Overtaken
    table: TableLike
    row: TableRow


@pytest.fixture(params=["own name", "own row", "name", "row"])
def late(memory: InMemoryLedger, log: LossyLog, request: pytest.FixtureRequest) -> Late:
    """Return a client that knows the table of flights."""
    how: str = request.param
    seen = Overtaken(log)
    ledger = memory.connect(log=seen)
    row = create_flights(ledger if how.startswith("own") else memory.connect())
    return Late(ledger, seen, row if how.endswith("row") else TABLE, row)


def large(day: int) -> list[AddFile]:
    """Return files that fit no single record."""
    return [of_day(day)._replace(path=f"large{n}", stats=secrets.token_hex(400_000)) for n in "abc"]


def in_txn(ledger: Ledger) -> None:
    with ledger.transaction() as txn:
        txn.remove_files(TABLE, txn.read(TABLE, "day = 1"))
        txn.add_files(TABLE, [of_day(1, "new")])


def write_domain(ledger: Ledger) -> None:
    """Write what commits in flight do not depend on."""
    with ledger.transaction() as txn:
        txn.set_domain(TABLE, "owner", "ada")


Rival = Callable[[Ledger], object]

CHANGES: dict[str, Rival] = {
    "partition columns": lambda ledger: ledger.alter_table(
        TABLE, partition_columns=["day", "tail"]
    ),
    "columns": lambda ledger: ledger.alter_table(TABLE, columns=[("day", "int")]),
    "a type": lambda ledger: ledger.alter_table(
        TABLE, columns=[("day", "string"), ("tail", "string")]
    ),
    "properties": lambda ledger: ledger.alter_table(TABLE, properties={"owner": "ada"}),
}
SHAPES = {name: change for name, change in CHANGES.items() if name != "properties"}
OTHERS: dict[str, Rival] = {
    "append": lambda ledger: ledger.append(TABLE, [of_day(3, "theirs")]),
    "progress": lambda ledger: ledger.append(TABLE, [of_day(3, "theirs")], app=(APP, 1)),
    "overwrite": in_txn,
    "domain": write_domain,
    "rename": lambda ledger: ledger.rename_table(TABLE, "voyages"),
    "identity mark": lambda ledger: ledger.alter_table(TABLE, columns=[MARKED, ("tail", "string")]),
    "another table": lambda ledger: ledger.drop_table(ledger.create_table("other")),
}
# What also is in no way of a txn that opens, stages and commits.
LATER = ("append", "rename")
FILES = {"small": [of_day(3)], "large": large(3)}


@pytest.mark.parametrize(
    ("change", "files"),
    [
        *((change, FILES["small"]) for change in CHANGES.values()),
        # These open a txn, and what their files are made for is all that is asked again.
        *((change, FILES["large"]) for change in SHAPES.values()),
    ],
    ids=[*CHANGES, *(f"{name}, large" for name in SHAPES)],
)
def test_an_append_to_a_table_that_was_changed_after_it_was_looked_up_is_a_conflict(
    ledger: Ledger, memory: InMemoryLedger, late: Late, change: Rival, files: list[AddFile]
) -> None:
    late.log.rival = lambda: change(ledger)

    with pytest.raises(errors.MetadataChangedException):
        late.ledger.append(late.table, files)

    assert late.log.rival is None
    assert len(memory.reads.files(late.row.table)) == 2


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
@pytest.mark.parametrize("is_own", [True, False])
def test_a_row_that_is_held_long_serves_until_its_columns_are_others(
    ledger: Ledger, memory: InMemoryLedger, files: list[AddFile], *, is_own: bool
) -> None:
    row = create_flights(ledger)
    CHANGES["properties"](memory.connect())
    late = ledger if is_own else memory.connect()
    late.begin().abort()  # Whoever heard of this has heard of the change.

    assert late.append(row, files).versions


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
@pytest.mark.parametrize("change", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("is_own", [True, False])
def test_a_row_says_what_files_are_made_for_however_long_it_was_held(
    ledger: Ledger, memory: InMemoryLedger, change: Rival, files: list[AddFile], *, is_own: bool
) -> None:
    row = create_flights(ledger)
    change(memory.connect())
    late = ledger if is_own else memory.connect()

    with pytest.raises(errors.MetadataChangedException):
        late.append(row, files)


def test_changed_in_a_txn(ledger: Ledger, memory: InMemoryLedger) -> None:
    """A change that was said before an append, and took effect after it, stops the next append."""
    row = create_flights(ledger)
    CHANGES["properties"](ledger)
    late = memory.connect()
    with ledger.transaction() as txn:
        txn.alter_table(TABLE, columns=[("day", "string"), ("tail", "string")])
        late.begin().abort()  # Whoever heard of this has heard what the txn said.
        late.append(row, [of_day(3)])
    late.begin().abort()

    with pytest.raises(errors.MetadataChangedException):
        late.append(row, [of_day(4)])


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_an_append_to_a_table_that_is_gone_says_so_each_time(
    ledger: Ledger, memory: InMemoryLedger, late: Late, files: list[AddFile]
) -> None:
    late.log.rival = lambda: ledger.drop_table(TABLE)

    for table in (late.table, late.row):
        with pytest.raises((errors.MetadataChangedException, errors.UnknownTableError)):
            late.ledger.append(table, files)

    assert memory.reads.tables() == []


@pytest.mark.parametrize(
    ("other", "files"),
    [
        *((other, FILES["small"]) for other in OTHERS.values()),
        *((OTHERS[name], FILES["large"]) for name in LATER),
    ],
    ids=[*OTHERS, *(f"{name}, large" for name in LATER)],
)
def test_whatever_others_do_that_leaves_the_table_as_it_is_an_append_does_not_lose_to_it(
    ledger: Ledger, memory: InMemoryLedger, late: Late, other: Rival, files: list[AddFile]
) -> None:
    late.log.rival = lambda: other(ledger)

    receipt = late.ledger.append(late.table, files, app=(APP, 2))

    version = memory.reads.versions(late.row.table, 1)[0]
    assert late.log.rival is None
    assert (receipt.position, True) == (version.position, version.blind)


def of_both(ledger: Ledger) -> TableRow:
    return ledger.create_table(
        "both", [("day", "int"), ("tail", "string")], partition_columns=["day", "tail"]
    )


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize(
    "named", [lambda row: row, lambda row: row.name, lambda row: row.name.upper()]
)
def test_an_append_names_the_newest_position_at_which_it_knows_the_table_and_is_one_command(
    ledger: Ledger, memory: InMemoryLedger, named: Callable[[TableRow], TableLike], *, is_own: bool
) -> None:
    row = of_both(ledger)
    ledger.create_table("another")
    before = memory.reads.position()
    writer = ledger if is_own else memory.connect()

    receipts = [writer.append(named(row), [AddFile(name, ("1", "N1"))]) for name in "ab"]

    first, second = reversed(memory.reads.versions(row.table, 2))
    opened = 0 if is_own else 1  # The session of the other client.
    assert [receipt.position for receipt in receipts] == [before + opened + 1, before + opened + 2]
    assert (first.blind, second.blind) == (True, True)
    assert before <= first.read_at < first.position
    assert first.position <= second.read_at < second.position


def test_base_of_an_id(ledger: Ledger, memory: InMemoryLedger) -> None:
    """Of a table known by its id alone nothing was looked up that could have changed."""
    row = create_flights(ledger)
    writer = memory.connect()

    writer.append(row.table, [of_day(3)])

    assert memory.reads.versions(row.table, 1)[0].read_at == 0


@pytest.fixture
def forgetful(log: LossyLog) -> Iterator[InMemoryLedger]:
    """Yield a ledger that remembers the last commit alone."""
    limits = DEFAULT_LIMITS._replace(conflict_entries_min=1, conflict_entries_max=1)
    with InMemoryLedger(log=log, limits=limits) as memory:
        yield memory


@pytest.mark.parametrize("how", ["name", "row"])
def test_base_that_is_forgotten(forgetful: InMemoryLedger, log: LossyLog, how: str) -> None:
    """An append that so many others came before is made again of what is there by then."""
    ledger, seen = forgetful.connect(), Overtaken(log)
    late, row = forgetful.connect(log=seen), create_flights(ledger)
    seen.rival = lambda: [ledger.append(TABLE, [of_day(day, f"{day}")]) for day in (4, 5)]

    late.append(TABLE if how == "name" else row, [of_day(3)])

    assert len(forgetful.reads.files(row.table)) == 5
    assert [body.reason for body in bodies(log, CommandRefused)] == ["SnapshotTooOld"]


def test_row_that_lasts(forgetful: InMemoryLedger, log: LossyLog) -> None:
    """A row may be from long before what the ledger remembers, as long as the table is like it."""
    ledger, other = forgetful.connect(), forgetful.connect()
    row = create_flights(ledger)
    for day in range(10):
        ledger.append(TABLE, [of_day(day, f"theirs{day}")])
    for day in range(3):
        other.append(row, [of_day(day, f"own{day}")])

    assert len(forgetful.reads.files(row.table)) == 15
    assert bodies(log, CommandRefused) == []
