"""What the parts of a client, and those of a txn, use of the whole.

`Ledger` and `Transaction` have a module for each subject: tables, files and rows.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from ledger.arrow.read_once import ReadOnce
from ledger.core.commands import SessionCommand, TxnType
from ledger.core.events.events import Body
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.client_reads import View
from ledger.definitions.names import TableLike, TableNames
from ledger.definitions.txn_names import TxnNames
from ledger.files.file_writers import FileWriter
from ledger.files.written_files import WrittenFiles
from ledger.session.receipt import Outcome, Receipt, Token
from ledger.session.session import CommandAnswer
from ledger.session.sessions import OfOneProcess
from ledger.transaction.ended import TxnEnding
from ledger.work.unit_of_work import TxnHand
from ledger.work.writes import DeclaredWrites

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


class PartOfTxn(OfOneProcess):
    """A part of a txn.

    Attributes:
        id: its txn id.
        level: the isolation level requested for every table, "" for each table's own.
        opened: the position of the snapshot the txn holds.
    """

    id: int
    level: str
    opened: int
    _writer: FileWriter
    _names: TxnNames
    _view: View
    _last: Token
    _writes: DeclaredWrites
    _ending: TxnEnding
    _data: WrittenFiles
    _once: ReadOnce

    @abstractmethod
    def valid_write_ids(self, table: TableLike) -> ValidWriteIdList:
        """Return the write ids of a table that this txn may see, its own included."""

    @abstractmethod
    def write_id(self, table: TableLike) -> int:
        """Return the txn's write id in a table."""

    @abstractmethod
    def _insert(self, table: TableLike, rows: Any, *, evolve: bool = False) -> Any: ...

    @abstractmethod
    def ask(self, command: SessionCommand) -> CommandAnswer:
        """Return the answer to a command of the session that opened this txn."""

    @abstractmethod
    def note_write_id(self, table: int, write_id: int) -> None:
        """Note a write id of the txn; 0 = no write id was allocated."""

    @abstractmethod
    def _hand(self) -> TxnHand: ...

    @abstractmethod
    def _receipt(self, answer: CommandAnswer) -> Receipt: ...
