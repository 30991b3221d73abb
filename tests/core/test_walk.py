"""How many calls one decision costs: a reader, too, has to walk through all of them."""

from functools import partial
from typing import Final

from ledger.core.commands import CommitTxn
from ledger.core.decide.decide import decide
from ledger.core.events.events import TxnCommitted
from tests.core.parts import part, partition, table_of
from tests.driver import Driver
from tests.walk import calls_of

CALLS_MAX: Final = 90
FLIGHTS: Final = table_of(("a", "int"), ("p", "int"), by=["p"])


def test_a_commit_of_one_file_is_a_short_walk() -> None:
    """One file added to one table: no fact of the part is computed twice."""
    driver = Driver()
    session = driver.open_session("ada")
    table = driver.create_table(session, "flights", made=FLIGHTS)
    txn = driver.open_txn(session)
    write = part(table, adds=[partition("1")], rows_added=1)
    command = CommitTxn(*driver.asks(session), txn, [write])

    body, calls = calls_of(partial(decide, driver.state, command, driver.now))

    assert isinstance(body, TxnCommitted)
    assert sum(calls.values()) <= CALLS_MAX, calls.most_common(200)
