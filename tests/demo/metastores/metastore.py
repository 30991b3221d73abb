"""A metastore: a process that changes tables and answers readers from a metadata cache of its own.

It reads requests as lines of JSON on standard input and answers each with a line on standard
output, in order, until its input ends. Its cache follows the log up to a requested position, so the
caller decides how much it knows.
"""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

from ledger.client import Ledger
from ledger.core.commands import AbortTxn, AlterTable, CommitTxn, SessionCommand
from ledger.core.events.events import Event, TableAltered, TxnAborted, TxnCommitted
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.state.domain import DomainState
from ledger.definitions.definitions import changed_definition, operation_of
from ledger.errors import LedgerError
from ledger.log.kafka.log import KafkaLog
from ledger.reads.metadata import TableMetadata
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED
from ledger.snapshot.as_of import known_row
from ledger.transaction.transaction import Transaction
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.queries import open_reads
from projections.store.rocks_reader import RocksReader
from tests.demo.metastores.held_log import HeldLog
from tests.demo.metastores.one_version import OneVersion
from tests.demo.metastores.tagged_entries import CacheFold, TaggedEntries
from tests.demo.report import CheckFailedError

WORD: Final = "word"
"""The table property that distinguishes the states of a table."""

Mode = Literal["one version", "many versions"]
FOLDS: Final[Mapping[Mode, Callable[[DomainState], CacheFold]]] = {
    "one version": OneVersion,
    "many versions": bootstrap,
}
STEP_S: Final = 0.1
PATIENCE_S: Final = 30.0

Answers = dict[str, Any]
Done = TypeVar("Done", TableAltered, TxnCommitted, TxnAborted)


class TablePlace(NamedTuple):
    """The first line to a metastore: the places of ledger and rows, and the kind of its cache."""

    bootstrap: str
    ledger: str
    store: str
    mode: Mode

    def line(self) -> bytes:
        """Return the place as the line that `read` takes."""
        return json.dumps(self).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return the place of a line."""
        return cls(*json.loads(line))


class Metastore:
    """Executes requests; its cache follows `log`, with the rows at `store` behind it."""

    def __init__(self, ledger: Ledger, log: HeldLog, store: Path, mode: Mode) -> None:
        self._ledger = ledger
        self._log = log
        self._mode = mode
        self._txns: dict[int, Transaction] = {}
        self._entries = TaggedEntries(log, fold=FOLDS[mode]).start()
        rows = RowMetadataStore(RocksReader.open(store))
        self._cache = MetadataCache(self._entries, rows, ledger.catalog)
        self._requests: Mapping[str, Callable[..., Answers]] = {
            "follow": self.follow,
            "alter": self.alter,
            "commit": self.commit,
            "abort": self.abort,
            "read": self.read,
            "entry": self.entry,
        }

    def answer(self, line: bytes) -> Answers:
        """Return the answer to a request, also to one that fails."""
        request = json.loads(line)
        try:
            return self._requests[request.pop("do")](**request)
        except (LedgerError, CheckFailedError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def follow(self, position: int) -> Answers:
        """Follow the log to a position and not beyond it; return the position of the cache.

        At first the whole log is followed. Readers are answered from here on.
        """
        # Before the cache has reached its first end, a held log would keep it from ever answering.
        self._wait_until(lambda: not self._entries.is_loading(), "what was the end of the log")
        self._log.hold(position)
        self._wait_until(lambda: self._entries.position() >= position, f"position {position}")
        return {"position": self._entries.position()}

    def _wait_until(self, has_come: Callable[[], bool], where: str) -> None:
        until_s = monotonic() + PATIENCE_S
        while not has_come():
            if monotonic() > until_s:
                raise CheckFailedError(f"the cache has not come to {where} in time")
            self._entries.advance(STEP_S)

    def alter(self, table: int, word: str) -> Answers:
        """Open a txn and alter a table in it; return the txn, its write id and the position."""
        txn = self._ledger.begin()
        self._txns[txn.id] = txn
        before = known_row(self._ledger.reads(), table).definition
        after = changed_definition(before, properties={WORD: word})
        operation = operation_of(before, after)
        command = AlterTable(*UNNUMBERED, txn.id, 0, table, after, operation)
        position, altered = self._ask(txn, command, TableAltered)
        return {"txn": txn.id, "write_id": altered.write_id, "position": position}

    def commit(self, txn: int) -> Answers:
        """Commit a txn that was opened here; return the position."""
        command = CommitTxn(*UNNUMBERED, txn, [], "")
        return {"position": self._ask(self._txns.pop(txn), command, TxnCommitted)[0]}

    def abort(self, txn: int) -> Answers:
        """Abort a txn that was opened here; return the position."""
        command = AbortTxn(*UNNUMBERED, txn, "no longer wanted", None)
        return {"position": self._ask(self._txns.pop(txn), command, TxnAborted)[0]}

    def read(self, table: int, ids: str) -> Answers:
        """Return what a reader of a list sees without waiting, with source and reason."""
        answer = self._cache.read(table, ValidWriteIdList.parse(ids), max_wait_ms=0)
        if not isinstance(answer.value, TableMetadata):
            raise CheckFailedError(f"table {table} does not exist for a reader of {ids}")
        words = dict(answer.value.definition.properties)
        return {"word": words[WORD], "source": answer.source, "reason": answer.reason}

    def entry(self, table: int) -> Answers:
        """Return the list that the entry of a table is for, None without one, and its flag."""
        tag = self._entries.tag(table)
        if tag is None or tag.ids is None:
            return {"ids": None, "is_committed": False}
        return {"ids": tag.ids.text(), "is_committed": tag.is_committed}

    def close(self) -> None:
        """Close the cache."""
        self._cache.close()

    def _ask(self, txn: Transaction, command: SessionCommand, kind: type[Done]) -> tuple[int, Done]:
        """Return position and body of the event that answers a command.

        With one version the event changes the own entry at once: on the design page the metastore
        that changes a table does not wait for the log. With many versions only the log changes
        entries.
        """
        answer = txn.ask(command)
        body = body_as(kind, answer)
        if self._mode == "one version":
            self._entries.apply(Event(answer.control, body))
        return answer.control.position, body


def main() -> None:
    """Answer one request after the other; the first line is the place."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    place = TablePlace.read(line)
    store = Path(place.store)
    with (
        closing(open_reads(store)) as reads,
        closing(HeldLog(KafkaLog(place.bootstrap, place.ledger))) as log,
        Ledger.connect(place.bootstrap, place.ledger, reads=reads, application="metastore") as own,
        closing(Metastore(own, log, store, place.mode)) as metastore,
    ):
        for request in sys.stdin.buffer:
            print(json.dumps(metastore.answer(request)), flush=True)


if __name__ == "__main__":
    main()
