"""What the rows of a txn need of it."""

from collections.abc import Callable
from typing import NamedTuple

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.client_reads import View
from ledger.definitions.names import TableLike
from ledger.definitions.txn_names import TxnNames
from ledger.files.file_writers import FileWriter
from ledger.files.written_files import WrittenFiles
from ledger.work.writes import DeclaredWrites


class TxnHand(NamedTuple):
    """What a statement needs of its txn.

    `check` raises if something else ended the txn; `alter` changes a table within it.
    """

    id: int
    opened: int
    writer: FileWriter
    names: TxnNames
    view: View
    writes: DeclaredWrites
    data: WrittenFiles
    check: Callable[[], None]
    alter: Callable[..., object]
    write_id: Callable[[TableLike], int]
    valid_ids: Callable[[TableLike], ValidWriteIdList]
