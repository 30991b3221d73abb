"""What a name means to a txn that opened before somebody renamed, dropped or created tables."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from ledger.client import Ledger
from ledger.definitions.txn_names import FormerNames
from ledger.errors import UnknownTableError
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction


class Scene(NamedTuple):
    """A table flights and a table routes, a txn that opened before the held one, and who changes.

    `early` has said nothing yet.
    """

    flights: int
    routes: int
    early: Transaction
    other: Ledger


@pytest.fixture
def scene(ledger: Ledger, memory: InMemoryLedger) -> Scene:
    """Make the tables, with a file in each; the client that holds knows none by itself."""
    other = memory.connect()
    flights, routes = (other.create_table(name).table for name in ("flights", "routes"))
    other.append(flights, ["of flights"])
    other.append(routes, ["of routes"])
    ledger.wait(other.token)
    return Scene(flights, routes, other.begin(), other)


def renamed(scene: Scene) -> None:
    scene.other.rename_table(scene.flights, "old")
    scene.other.create_table("flights")


def renamed_and_altered(scene: Scene) -> None:
    renamed(scene)
    scene.other.alter_table("old", properties={"k": "v"})
    scene.other.alter_table("flights", properties={"k": "v"})


def renamed_and_dropped(scene: Scene) -> None:
    renamed(scene)
    scene.other.drop_table("old")


def dropped(scene: Scene) -> None:
    scene.other.drop_table(scene.flights)
    scene.other.create_table("flights")


def swapped(scene: Scene) -> None:
    scene.other.rename_table(scene.flights, "spare")
    scene.other.rename_table(scene.routes, "flights")
    scene.other.rename_table(scene.flights, "routes")
    scene.other.alter_table(scene.routes, properties={"k": "v"})


def swapped_in_a_txn(scene: Scene) -> None:
    with scene.other.transaction() as txn:
        swap(txn, scene)


def dropped_in_a_txn(scene: Scene) -> None:
    """Replace a table by another one at once."""
    with scene.other.transaction() as txn:
        txn.drop_table(scene.flights)
        txn.create_table("flights")


def swap(txn: Transaction, scene: Scene) -> None:
    txn.rename_table(scene.flights, "spare")
    txn.rename_table(scene.routes, "flights")
    txn.rename_table("spare", "routes")


USES: dict[str, Callable[[Transaction, str], object]] = {
    "read": lambda txn, name: txn.read(name),
    "read_whole": lambda txn, name: txn.read_whole(name),
    "valid_write_ids": lambda txn, name: txn.valid_write_ids(name),
    "metadata": lambda txn, name: txn.metadata(name),
    "write_id": lambda txn, name: txn.write_id(name),
    "add_files": lambda txn, name: txn.add_files(name, ["new"]),
    "alter_table": lambda txn, name: txn.alter_table(name, properties={"a": "b"}),
    "drop_table": lambda txn, name: txn.drop_table(name),
}

ANOTHERS = [
    renamed,
    renamed_and_altered,
    renamed_and_dropped,
    dropped,
    swapped,
    swapped_in_a_txn,
    dropped_in_a_txn,
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", ANOTHERS)
def test_name_of_another_table(
    ledger: Ledger, scene: Scene, change: Callable[[Scene], object], use: str
) -> None:
    held = ledger.begin()
    change(scene)
    ledger.wait(scene.other.token)

    with pytest.raises(
        UnknownTableError, match=r"may have belonged to another table when .* by its id"
    ):
        USES[use](held, "flights")

    assert held.status == "open"


def test_names_given_before_a_txn_opened_are_new_to_it(ledger: Ledger, scene: Scene) -> None:
    swap(scene.early, scene)
    held = ledger.begin("read_only")
    scene.early.commit()
    ledger.wait(scene.other.token)

    with pytest.raises(UnknownTableError, match="may have belonged to another table"):
        held.read("flights")

    assert held.read(scene.flights).paths == ["of flights"]


def test_an_alter_makes_no_name_of_others_its_own(ledger: Ledger, scene: Scene) -> None:
    held = ledger.begin()
    held.alter_table("routes", properties={"k": "v"})
    scene.other.drop_table(scene.flights)
    scene.other.rename_table(scene.routes, "flights")
    ledger.wait(scene.other.token)

    with pytest.raises(UnknownTableError, match="may have belonged to another table"):
        held.read("flights")


@pytest.mark.parametrize("change", ANOTHERS)
def test_name_used_before(ledger: Ledger, scene: Scene, change: Callable[[Scene], object]) -> None:
    """What a name meant to a txn it means to its end."""
    held = ledger.begin("read_only")
    before = held.valid_write_ids("flights")
    change(scene)
    ledger.wait(scene.other.token)

    assert held.read("flights").paths == ["of flights"]
    after = held.valid_write_ids("FLIGHTS")
    ids = range(1, after.hwm + 1)
    assert [before.is_valid(each) for each in ids] == [after.is_valid(each) for each in ids]
    held.commit()
    assert ledger.begin("read_only").read("flights").paths in ([], ["of routes"])


def created(scene: Scene) -> str:
    scene.other.drop_table("routes")
    scene.other.alter_table("flights", properties={"k": "v"})
    return scene.other.create_table("new").name


def created_in_a_txn(scene: Scene) -> str:
    with scene.other.transaction() as txn:
        txn.add_files("flights", ["more"])
        return txn.create_table("new").name


def altered(scene: Scene) -> str:
    """Alter the table, and give another its name and back."""
    scene.other.alter_table("flights", properties={"k": "v"})
    scene.other.rename_table("routes", "ways")
    scene.other.create_table("routes")
    return "flights"


def renamed_alone(scene: Scene) -> str:
    scene.other.rename_table("flights", "voyages")
    return "voyages"


@pytest.mark.parametrize("use", ["read", "valid_write_ids", "write_id", "add_files"])
@pytest.mark.parametrize("change", [created, created_in_a_txn, altered, renamed_alone])
def test_a_txn_finds_by_its_name_also_a_table_that_got_it_later_if_no_other_can_have_had_it(
    ledger: Ledger, scene: Scene, change: Callable[[Scene], str], use: str
) -> None:
    held = ledger.begin()
    name = change(scene)
    ledger.wait(scene.other.token)

    USES[use](held, name)


def test_long_ago(ledger: Ledger, memory: InMemoryLedger, scene: Scene) -> None:
    """Where too much came since, a table that is later, or was renamed at last, is in doubt."""
    opened = ledger.begin()
    scene.other.alter_table(scene.flights, properties={"k": "v"})
    scene.other.rename_table(scene.routes, "ways")
    new = scene.other.create_table("new").table

    def doubts(events_max: int) -> list[bool]:
        former = FormerNames(memory.reads, opened.opened, opened.id, events_max=events_max)
        return [former.is_doubtful(each) for each in (scene.flights, scene.routes, new)]

    assert doubts(2) == [False, True, True]
    assert doubts(3) == [False, False, True]
