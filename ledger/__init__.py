"""Transaction manager of a data lake, built as an event-sourced ledger on Kafka.

This module names what a program needs, and loads each name when it is first used. So a part of the
package can be imported without the rest.

    from ledger import Ledger
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ledger import errors
from ledger.errors import *

if TYPE_CHECKING:
    from ledger.client import Ledger as Ledger
    from ledger.core.commands import AppVersion as AppVersion
    from ledger.core.commands import CoarseWrite as CoarseWrite
    from ledger.core.commands import Column as Column
    from ledger.core.commands import TableDefinition as TableDefinition
    from ledger.core.commands import TableWrite as TableWrite
    from ledger.core.lists.valid_lists import ValidTxnList as ValidTxnList
    from ledger.core.lists.valid_lists import ValidWriteIdList as ValidWriteIdList
    from ledger.expressions.build import Expression as Expression
    from ledger.expressions.build import col as col
    from ledger.expressions.build import lit as lit
    from ledger.log.wire.file_extras import DeletionVector as DeletionVector
    from ledger.log.wire.file_list import AddFile as AddFile
    from ledger.log.wire.file_list import RemoveFile as RemoveFile
    from ledger.reads.metadata import TableMetadata as TableMetadata
    from ledger.session.receipt import Outcome as Outcome
    from ledger.session.receipt import Receipt as Receipt
    from ledger.session.receipt import TableVersion as TableVersion
    from ledger.session.receipt import Token as Token
    from ledger.snapshot.reading import TableFiles as TableFiles
    from ledger.transaction.grouped.append_writer import AppendWriter as AppendWriter
    from ledger.transaction.grouped.outcomes import WaitingAppend as WaitingAppend
    from ledger.transaction.transaction import Transaction as Transaction
    from ledger.work.app_notes import AppProgress as AppProgress
    from ledger.work.merge_clauses import MergeClause as MergeClause

_NAMES: Final = {
    "ledger.client": "Ledger",
    "ledger.core.commands": "AppVersion CoarseWrite Column TableDefinition TableWrite",
    "ledger.core.lists.valid_lists": "ValidTxnList ValidWriteIdList",
    "ledger.expressions.build": "Expression col lit",
    "ledger.log.wire.file_extras": "DeletionVector",
    "ledger.log.wire.file_list": "AddFile RemoveFile",
    "ledger.reads.metadata": "TableMetadata",
    "ledger.session.receipt": "Outcome Receipt TableVersion Token",
    "ledger.snapshot.reading": "TableFiles",
    "ledger.transaction.grouped.outcomes": "WaitingAppend",
    "ledger.transaction.grouped.append_writer": "AppendWriter",
    "ledger.transaction.transaction": "Transaction",
    "ledger.work.app_notes": "AppProgress",
    "ledger.work.merge_clauses": "MergeClause",
}
_HOME: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # A type checker reads the imports.
    __all__ = sorted([*errors.__all__, *_HOME])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
