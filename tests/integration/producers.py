"""Producers: clients of the SDK that insert, txn after txn, whoever leads meanwhile."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event as Signal
from types import TracebackType
from typing import Self

from ledger.client import Ledger
from ledger.session.receipt import Receipt


class Producers:
    """`sessions` connected ledgers with `threads` each, which work for as long as a `with` block.

    `receipts` is what their commits returned. Whatever the SDK raises, they raise at the end of the
    block: nothing that happens to a leader is an error to a producer.
    """

    def __init__(
        self, bootstrap: str, ledger: str, tables: Sequence[int], *, sessions: int, threads: int
    ) -> None:
        self.receipts: list[Receipt] = []
        self._where = bootstrap, ledger
        self._tables = tables
        self._sessions = sessions
        self._threads = threads
        self._stop = Signal()
        self._held = ExitStack()
        self._work: list[Future[None]] = []

    def _produce(self, ledger: Ledger, table: int) -> None:
        while not self._stop.is_set():
            with ledger.transaction() as txn:
                txn.write_id(table)
                txn.wrote(table, "insert")
            assert txn.receipt is not None
            self.receipts.append(txn.receipt)

    def __enter__(self) -> Self:
        pool = ThreadPoolExecutor(self._sessions * self._threads, "producer")
        self._held.enter_context(pool)
        for _ in range(self._sessions):
            ledger = self._held.enter_context(Ledger.connect(*self._where))
            for number in range(self._threads):
                table = self._tables[number % len(self._tables)]
                self._work.append(pool.submit(self._produce, ledger, table))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        with self._held:
            for work in self._work:
                work.result()
