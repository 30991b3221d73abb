"""One txn that several threads share: what was acknowledged to any of them is in its commit."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from threading import Event, Thread

import pytest

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile
from ledger.transaction.transaction import Transaction
from ledger.work.writes import DeclaredWrites
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.test_staging import many

ROUNDS = 10
# So many take a while to be put into a commit.
ENOUGH = 200


@pytest.fixture
def restless() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def add_until_refused(txn: Transaction, enough: Event) -> list[str]:
    """Add files one by one, and say when there are `enough`; return those that were taken."""
    taken: list[str] = []
    with suppress(ValueError):
        for number in count():
            txn.add_files(TABLE, [of_day(1, f"txn{txn.id}-{number}")])
            taken.append(f"txn{txn.id}-{number}")
            if number == ENOUGH:
                enough.set()
    return taken


def taken_beside_a_commit(ledger: Ledger) -> list[str]:
    """Commit a txn to which another thread adds files; return those that were taken."""
    txn, enough = ledger.begin(), Event()
    with ThreadPoolExecutor(1) as other:
        adding = other.submit(add_until_refused, txn, enough)
        enough.wait()
        txn.commit()
        return adding.result()


@pytest.mark.usefixtures("restless")
def test_a_file_added_during_a_commit_is_in_it_or_refused(ledger: Ledger) -> None:
    create_flights(ledger)

    taken = [path for _ in range(ROUNDS) for path in taken_beside_a_commit(ledger)]

    assert set(taken) == set(ledger.read(TABLE).paths) - {"day1", "day2"}


def test_two_threads_that_name_a_table_for_the_first_time_both_declare_something_there() -> None:
    writes = DeclaredWrites(7)

    def add(path: str) -> None:
        with writes.growing(1) as writer:
            writer.add([AddFile(path)])

    other = Thread(target=add, args=["b"])
    with writes.growing(1) as writer:
        other.start()
        # Long enough for one that does not wait for its turn, which it must.
        other.join(0.05)
        writer.add([AddFile("a")])
    other.join()

    assert {file.path for file in writes.writer(1).files} == {"a", "b"}


def test_two_threads_that_commit_one_large_txn_are_told_of_one_commit(ledger: Ledger) -> None:
    create_flights(ledger)
    txn = ledger.begin()
    txn.add_files(TABLE, many())

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(lambda _: txn.commit(), range(2))

    assert first.position == second.position
    assert {first.repeated, second.repeated} == {True, False}
