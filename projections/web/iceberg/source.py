"""The source of a lake: how the rows, the tables and the clients of a ledger are connected."""

from collections.abc import Callable, Sequence
from typing import Final

from ledger.client import Ledger
from ledger.definitions.client_reads import identity_of
from ledger.reads.port import Reads, TableRow
from projections.iceberg.commits.commits import commit
from projections.iceberg.commits.creating import create
from projections.iceberg.commits.given_json import Given
from projections.iceberg.commits.table_changes import TableChange
from projections.iceberg.names import Parts
from projections.iceberg.registering import register
from projections.iceberg.served.tables import ServedTables
from projections.web.iceberg.lake import LakeParts
from projections.web.iceberg.ports import Form

WAIT_MS: Final = 10_000

OpenReads = Callable[[], Reads]
Connect = Callable[[Reads, str | None], Ledger]


class CommitsOfClients:
    """The commits of clients, judged with what the served tables show."""

    def __init__(self, served: ServedTables) -> None:
        self._served = served

    def create(self, ledger: Ledger, namespace: Parts, request: Given) -> Form:
        """Create a table, or describe one that a later commit creates."""
        return create(ledger, self._served, namespace, request)

    def register(
        self, ledger: Ledger, name: str, request: Given, places: Sequence[str]
    ) -> TableRow:
        """Take over the table of a metadata file, and return its row."""
        return register(ledger, name, request, places)

    def commit(self, ledger: Ledger, changes: Sequence[Given]) -> None:
        """Execute the changes together, or none of them."""
        commit(ledger, self._served, [TableChange.parse(each) for each in changes])


class LedgerSource:
    """Connects to one ledger; `connect` makes a client that reads the given rows."""

    def __init__(self, open_reads: OpenReads, connect: Connect) -> None:
        self._open, self._connect = open_reads, connect

    def open(self, seen: OpenReads) -> LakeParts:
        """Return rows, tables and commits of the ledger; raises as its reads do."""
        reads = self._open()
        try:
            found = identity_of(reads, WAIT_MS)
        except BaseException:
            reads.close()
            raise
        served = ServedTables(seen, found.ledger)
        return LakeParts(reads, served, CommitsOfClients(served), found.ledger, found.name)

    def connect(self, reads: Reads, user: str | None) -> Ledger:
        """Return a client for a user."""
        return self._connect(reads, user)
