"""What the door needs of the tables that it serves, and of the commits that it takes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from ledger.client import Ledger
from ledger.reads.port import TableRow
from projections.iceberg.names import Parts

Form = Mapping[str, Any]
"""An object of JSON."""


Snapshots = Literal["all", "refs"]
"""Whether metadata lists all snapshots, or only the newest."""


class ShownTable(Protocol):
    """A table as Iceberg shows it at one version."""

    @property
    def metadata_location(self) -> str:
        """The file with its metadata, another one for each version."""

    def metadata(self, snapshots: Snapshots = "all") -> Form:
        """Return the metadata; files that it leads to are written before."""

    def etag(self, snapshots: Snapshots = "all") -> str:
        """Return a text that differs for other metadata."""

    def plan(self, request: Form) -> Form:
        """Return the files that a scan reads."""


class ShownTables(Protocol):
    """Tables as Iceberg shows them; threads may share it."""

    def table(self, row: TableRow, position: int | None = None) -> ShownTable:
        """Return a table now or as of a position; refuses one that Iceberg cannot show."""


class TableCommits(Protocol):
    """Executes what clients ask to change; raises IcebergRefusal."""

    def create(self, ledger: Ledger, namespace: Parts, request: Form) -> Form:
        """Create a table, or describe one that a later commit creates; returns what a load does."""

    def register(self, ledger: Ledger, name: str, request: Form, places: Sequence[str]) -> TableRow:
        """Take over the table of a metadata file below one of the places, and return its row."""

    def commit(self, ledger: Ledger, changes: Sequence[Form]) -> None:
        """Execute the changes of one or more tables together, or none of them."""
