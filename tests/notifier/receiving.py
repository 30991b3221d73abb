"""A program at a URL that takes what a notifier sends, and a history with a conflict to tell of."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from threading import Event as Signal
from time import monotonic
from typing import Any, Final

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.log.port import Log
from projections.notifier.delivery import Delivery
from projections.notifier.notices import Notice
from projections.notifier.notifier import Notifier
from projections.notifier.receivers import Receiver

PATIENCE_S: Final = 30.0
OK: Final = 204


class Desk(ThreadingHTTPServer):
    """Keeps what is posted to it; `answers` are the next statuses, then each is 204."""

    daemon_threads = True

    def __init__(self, answers: Sequence[int] = ()) -> None:
        super().__init__(("127.0.0.1", 0), Posted)
        self.answers = list(answers)
        self.taken: list[Any] = []
        self.refused: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.changed = Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/notices"

    def wait_for(self, number: int) -> list[Any]:
        """Return what was taken, as soon as that is a number of messages."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.taken) >= number, PATIENCE_S), self.taken
            return list(self.taken)


class Posted(BaseHTTPRequestHandler):
    """Takes one message."""

    server: Desk

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        desk = self.server
        with desk.changed:
            status = desk.answers.pop(0) if desk.answers else OK
            (desk.taken if status == OK else desk.refused).append(said)
            desk.headers.append(dict(self.headers))
            desk.changed.notify_all()
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def desk(answers: Sequence[int] = ()) -> Iterator[Desk]:
    """Run a desk while the block runs."""
    with Desk(answers) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Running:
    """A delivery or a notifier in a thread of its own."""

    def __init__(self, log: Log, what: Delivery | Notifier) -> None:
        self.stop = Signal()
        run = (log, self.stop)
        self._problems: list[BaseException] = []
        self._thread = Thread(target=self._run, args=(what, run))
        self._thread.start()

    def _run(self, what: Delivery | Notifier, run: tuple[Log, Signal]) -> None:
        try:
            what.run(*run)
        except BaseException as problem:  # noqa: BLE001 - raised in the test
            self._problems.append(problem)

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, while the thread runs."""
        until_s = monotonic() + PATIENCE_S
        while not is_so():
            assert self._thread.is_alive(), self._problems
            assert monotonic() < until_s
            self.stop.wait(0.01)

    def end(self) -> None:
        self.stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        assert self._problems == []


def history(ledger: Ledger) -> None:
    """Make two tables, copy rows from one to the other, and lose a conflict."""
    ledger.create_table("shop.orders", [("id", "BIGINT"), ("paid", "BOOLEAN")])
    ledger.create_table("shop.bills", [("id", "BIGINT"), ("paid", "BOOLEAN")])
    ledger.append("shop.orders", [{"id": 1, "paid": False}, {"id": 2, "paid": False}])
    with ledger.transaction() as txn:
        txn.insert("shop.bills", txn.scan("shop.orders").to_arrow())
    with suppress(ConflictError), ledger.transaction() as loser:
        loser.update("shop.orders", {"paid": "true"}, where="id = 1")
        ledger.update("shop.orders", {"paid": "true"}, where="id = 2")


def delivery(
    receiver: Receiver, place: Path, *, from_first: bool = True, pause_s: float = 0.01
) -> Delivery:
    """Return a delivery of the positions of notices."""
    return Delivery(
        "desk", receiver, position_of, place=place, from_first=from_first, pause_s=pause_s
    )


def position_of(notice: Notice) -> bytes:
    return json.dumps(notice.position).encode()
