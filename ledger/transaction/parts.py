"""What the parts of a client, and those of a txn, use of the whole.

`Ledger` and `Transaction` have a module for each subject: tables, files and rows.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING

from ledger.core.commands import SessionCommand, TxnType
from ledger.core.events.events import Body
from ledger.definitions.client_reads import View
from ledger.definitions.names import TableNames
from ledger.session.receipt import Outcome, Receipt
from ledger.session.session import CommandAnswer
from ledger.session.sessions import OfOneProcess

if TYPE_CHECKING:
    from ledger.transaction.transaction import Transaction


class PartOfLedger(OfOneProcess):
    """A part of a client.

    Attributes:
        catalog: the catalog in which this client's table names are.
    """

    catalog: str
    _names: TableNames
    _view: View

    @abstractmethod
    def begin(
        self,
        type: TxnType = "default",  # noqa: A002 - what Hive calls it
        *,
        deadline_s: float | None = None,
        level: str | None = None,
    ) -> "Transaction":
        """Open a txn."""

    @abstractmethod
    def outcome(self, session: int, n: int) -> Outcome:
        """Return the first answer to a command, or that it has no answer yet."""

    @abstractmethod
    def _ask(self, command: SessionCommand) -> CommandAnswer: ...

    @abstractmethod
    def _done(self, command: SessionCommand, kind: type[Body]) -> Receipt: ...
