"""Names at the commit of a txn, and tables that others change meanwhile.

A txn's changes of names take effect together, against the names as they are at its commit; whoever
commits first has won.
"""

from typing import Any

import pytest

from ledger.core.commands import RenameTable
from ledger.core.events.events import Event, TxnAborted, TxnCommitted
from ledger.core.events.parts import Evidence, Side
from ledger.core.refusals import Reason
from tests.core.scene import last
from tests.driver import Driver, definition, write


class Catalog(Driver):
    """A domain with tables `a` and `b`, and a txn of each of two sessions."""

    def __init__(self) -> None:
        super().__init__()
        self.ada, self.bob = self.open_session("ada"), self.open_session("bob")
        self.a = self.create_table(self.ada, "a")
        self.b = self.create_table(self.ada, "b")
        self.mine = self.open_txn(self.ada)
        self.others = self.open_txn(self.bob)
        self.snapshot = self.state.position

    def tables(self) -> dict[str, int]:
        return {name: table for (_, name), table in self.state.tables.names.items()}

    def create(self, name: str) -> Event:
        self.create_table(self.ada, name, txn=self.mine)
        return self.events[-1]

    def rename(self, table: int, name: str) -> Event:
        return self.rename_table(self.ada, table, name, txn=self.mine)

    def rename_as_of_now(self, table: int, name: str) -> Event:
        """Rename a table in ada's txn, having read it just now."""
        asks, position = self.asks(self.ada), self.state.position
        return self.ask(RenameTable(*asks, self.mine, position, table, name))

    def drop(self, table: int) -> Event:
        return self.drop_table(self.ada, table, txn=self.mine)


CHANGES = [
    ("nothing", lambda _: None, {"a": 1, "b": 2}),
    ("a new table", lambda c: c.create("c"), {"a": 1, "b": 2, "c": 3}),
    ("another name", lambda c: c.rename(c.a, "c"), {"c": 1, "b": 2}),
    ("no table", lambda c: c.drop(c.a), {"b": 2}),
    (
        "two names swapped",
        lambda c: last(c.rename(c.a, "c"), c.rename(c.b, "a"), c.rename(c.a, "b")),
        {"a": 2, "b": 1},
    ),
    (
        "the name of a table dropped in the same txn",
        lambda c: last(c.drop(c.a), c.create("a")),
        {"a": 3, "b": 2},
    ),
    (
        "the name of a table renamed in the same txn",
        lambda c: last(c.rename(c.a, "c"), c.create("a")),
        {"c": 1, "a": 3, "b": 2},
    ),
    (
        "a chain of names, given before they are free",
        lambda c: last(c.rename(c.b, "c"), c.rename(c.a, "b"), c.create("a")),
        {"a": 3, "b": 1, "c": 2},
    ),
    ("there and back", lambda c: last(c.rename(c.a, "c"), c.rename(c.a, "a")), {"a": 1, "b": 2}),
    (
        "there and back, while the name is asked for",
        lambda c: last(c.rename(c.a, "c"), c.create("a"), c.rename(c.a, "a")),
        {"c": 1, "a": 3, "b": 2},
    ),
    (
        "a table created, renamed and dropped",
        lambda c: last(c.create("c"), c.rename(3, "d"), c.drop(3)),
        {"a": 1, "b": 2},
    ),
]


@pytest.mark.parametrize(
    ("changes", "expected"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_names_change_at_the_commit_all_at_once(changes: Any, expected: dict[str, int]) -> None:
    catalog = Catalog()
    changes(catalog)
    before = catalog.tables()
    committed = catalog.commit(catalog.ada, catalog.mine)

    assert isinstance(committed.body, TxnCommitted)
    assert before == {"a": 1, "b": 2}
    assert catalog.tables() == expected


@pytest.mark.parametrize("changes", [row[1] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_names_of_an_abort_never_were(changes: Any) -> None:
    catalog = Catalog()
    changes(catalog)
    catalog.abort(catalog.ada, catalog.mine)

    assert catalog.tables() == {"a": 1, "b": 2}
    assert catalog.state.tables.by_id.keys() == {1, 2}


TAKEN = [
    ("a new table's", lambda c: c.create("c"), "c"),
    ("a renamed table's", lambda c: c.rename(c.b, "c"), "c"),
    ("an old table's", lambda _: None, "b"),
]


@pytest.mark.parametrize(
    ("changes", "name"), [row[1:] for row in TAKEN], ids=[row[0] for row in TAKEN]
)
def test_an_alter_frees_no_name(changes: Any, name: str) -> None:
    """A name that is taken stays so after an alter in the txn: its table has a name still."""
    catalog = Catalog()
    changes(catalog)
    for table in list(catalog.state.tables.by_id)[1:]:
        catalog.alter_table(catalog.ada, table, definition(), "ADD COLUMNS", txn=catalog.mine)
    catalog.create_table(catalog.ada, name, txn=catalog.mine)
    refused: Any = catalog.events[-1].body

    assert getattr(refused, "reason", "") == Reason.TABLE_EXISTS
    assert isinstance(catalog.commit(catalog.ada, catalog.mine).body, TxnCommitted)


WON = [
    ("one name created twice", lambda c: c.create("c"), "name_claimed", "ProtocolChanged", "c"),
    ("one name given twice", lambda c: c.rename(c.a, "C"), "name_claimed", "ProtocolChanged", "C"),
]


@pytest.mark.parametrize("is_altered", [False, True], ids=["last", "altered since"])
@pytest.mark.parametrize(
    ("changes", "rule", "exception", "unit"), [row[1:] for row in WON], ids=[row[0] for row in WON]
)
def test_first_to_commit_has_the_name(
    changes: Any, rule: str, exception: str, unit: str, *, is_altered: bool
) -> None:
    catalog = Catalog()
    changes(catalog)
    winner = catalog.create_table(catalog.bob, "c", txn=catalog.others)
    won = catalog.commit(catalog.bob, catalog.others).control.position
    if is_altered:
        catalog.alter_table(catalog.ada, winner, definition(), "ADD COLUMNS")
    lost: Any = catalog.commit(catalog.ada, catalog.mine).body
    evidence: Evidence = lost.evidence

    assert isinstance(lost, TxnAborted)
    assert (evidence.rule, evidence.exception, evidence.unit) == (rule, exception, unit)
    assert evidence.read_at == catalog.snapshot - 1
    assert evidence.winner == Side(catalog.others, won, "create", "bob@host etl")


LOST = [
    (
        "an update of a table dropped meanwhile",
        lambda _: None,
        lambda c: c.drop_table(c.bob, c.b),
        ("table_dropped", "MetadataChanged", "table"),
    ),
    (
        "a rename of a table dropped meanwhile",
        lambda c: c.rename(c.a, "c"),
        lambda c: last(c.drop_table(c.bob, c.a, txn=c.others), c.commit(c.bob, c.others)),
        ("table_dropped", "MetadataChanged", "table"),
    ),
    (
        "a rename of a table renamed meanwhile",
        lambda c: c.rename(c.a, "c"),
        lambda c: c.rename_table(c.bob, c.a, "d"),
        ("metadata_twice", "MetadataChanged", "metadata"),
    ),
    (
        "a drop of a table renamed meanwhile",
        lambda c: c.drop(c.a),
        lambda c: last(c.rename_table(c.bob, c.a, "d", txn=c.others), c.commit(c.bob, c.others)),
        ("metadata_twice", "MetadataChanged", "metadata"),
    ),
    (
        "a rename of a table renamed meanwhile, repeated on top of that",
        lambda c: c.rename(c.a, "c"),
        lambda c: last(c.rename_table(c.bob, c.a, "d"), c.rename_as_of_now(c.a, "e")),
        ("metadata_twice", "MetadataChanged", "metadata"),
    ),
    (
        "the earlier of two changes, whichever table is first",
        lambda c: c.rename(c.a, "c"),
        lambda c: last(c.drop_table(c.bob, c.b), c.rename_table(c.bob, c.a, "d")),
        ("table_dropped", "MetadataChanged", "table"),
    ),
    (
        "rows of one table before a later change of it",
        lambda c: c.rename(c.b, "c"),
        lambda c: last(
            c.commit(c.bob, c.others, write(c.b, operation="update")),
            c.rename_table(c.bob, c.b, "d"),
        ),
        ("coarse_write_write", "ConcurrentDeleteDelete", "unpartitioned"),
    ),
    (
        "tables before names",
        lambda c: c.create("c"),
        lambda c: last(c.create_table(c.bob, "c"), c.drop_table(c.bob, c.b)),
        ("table_dropped", "MetadataChanged", "table"),
    ),
]


@pytest.mark.parametrize(
    ("given", "meanwhile", "expected"), [row[1:] for row in LOST], ids=[row[0] for row in LOST]
)
def test_lost_to_a_change_of_the_table(given: Any, meanwhile: Any, expected: object) -> None:
    """What others changed in a table since it was read aborts a txn that needs it as it was."""
    catalog = Catalog()
    given(catalog)
    meanwhile(catalog)
    update = write(catalog.b, operation="update")
    lost: Any = catalog.commit(catalog.ada, catalog.mine, update).body

    assert (lost.evidence.rule, lost.evidence.exception, lost.evidence.unit) == expected
    assert lost.evidence.remedy


def test_a_write_id_goes_with_its_table() -> None:
    """A txn that took a write id of a table dropped since, and wrote nothing there, commits."""
    catalog = Catalog()
    catalog.allocate(catalog.ada, [catalog.mine], [catalog.a, catalog.b])
    catalog.drop_table(catalog.bob, catalog.a)
    committed: Any = catalog.commit(catalog.ada, catalog.mine).body

    assert [part.table for part in committed.parts] == [catalog.b]


def test_rows_survive_a_rename() -> None:
    catalog = Catalog()
    catalog.rename_table(catalog.bob, catalog.a, "c")
    update = write(catalog.a, operation="update")

    assert isinstance(catalog.commit(catalog.ada, catalog.mine, update).body, TxnCommitted)


def test_conflicts_follow_a_table_through_its_names() -> None:
    catalog = Catalog()
    update = write(catalog.a, operation="update")
    catalog.commit(catalog.bob, catalog.others, update)
    catalog.rename_table(catalog.bob, catalog.a, "c")

    assert isinstance(catalog.commit(catalog.ada, catalog.mine, update).body, TxnAborted)


def test_a_new_table_of_the_name_is_another() -> None:
    catalog = Catalog()
    catalog.drop_table(catalog.bob, catalog.a)
    catalog.create_table(catalog.bob, "a")
    lost: Any = catalog.commit(catalog.ada, catalog.mine, write(catalog.a)).body

    assert lost.evidence.rule == "table_dropped"
    assert catalog.state.tables.by_id[catalog.tables()["a"]].version == 0
