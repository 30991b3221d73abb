"""Dropping keys: the rows in the log that a key sealed are erased, wherever copies of them are.

A key that is to go is retired first: writers take a new one from then on. It is dropped when no
live block needs it and no writer can still commit one: its txn has ended, or its call without a txn
had time to. Then nothing that readers see is lost.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Final

from ledger.client import Ledger
from ledger.errors import SettingsError
from ledger.keys.folder import KeyFolder, KeyName
from ledger.keys.sealed_rows import key_of
from ledger.reads.amounts import amount
from ledger.reads.port import Reads, TableRow

GRACE_S: Final = 40.0
"""How long an append may take from its sealed block to its commit: a call waits 30 s by default."""

SKEW_S: Final = 5.0
"""How far the clocks of the sequencer and of the folder of keys may differ."""

MS: Final = 1000
TXNS_MAX: Final = 10_000


def keys_of(ledger: Ledger) -> KeyFolder:
    """Return the keys of a client; raises SettingsError without a folder of keys."""
    if ledger.keys is None:
        raise SettingsError(
            "no folder of keys is set: name it with keys=..., set LAKELEDGER_KEYS, or write keys = "
            "... into lakeledger.toml"
        )
    return ledger.keys


def live_blocks(reads: Reads, row: TableRow) -> Mapping[KeyName, int]:
    """Return how many blocks of a table each key has sealed that readers see now."""
    found: dict[KeyName, int] = {}
    for file in () if row.dropped else reads.files(row.table):
        if (name := key_of(file)) is not None:
            found[name] = found.get(name, 0) + 1
    return found


def drop_keys(
    ledger: Ledger, row: TableRow, names: Iterable[KeyName], grace_s: float = GRACE_S
) -> dict[KeyName, str]:
    """Retire keys of a table, and drop those that nothing needs any more.

    Waits until each was retired for `grace_s`. Returns why a key stays, "" for one that was
    dropped. Raises SettingsError without a folder of keys.
    """
    keys, blocks = keys_of(ledger), dict(live_blocks(ledger.reads(), row))
    names = list(names)
    retired = {name: keys.retire(name) for name in names if name not in blocks}
    if retired:
        time.sleep(max(0.0, min(grace_s, max(retired.values()) + grace_s - time.time())))
        # The client's reads then show every commit before this one.
        ledger.begin().abort()
        blocks |= live_blocks(ledger.reads(), row)
    outcome = {name: still_live(row, blocks[name]) for name in names if name in blocks}
    for name in retired.keys() - blocks.keys():
        outcome[name] = held_by_txn(ledger.reads(), retired[name] + SKEW_S)
        if not outcome[name]:
            keys.drop(name)
    return {name: outcome[name] for name in names}


def still_live(row: TableRow, count: int) -> str:
    """Return why a key stays that live blocks need."""
    return f"it is needed by {amount(count, 'live block')}: lakeledger table flush {row.name}"


def held_by_txn(reads: Reads, until_s: float) -> str:
    """Return which txn may still commit rows under a key that was retired, "" if none does."""
    for txn in reads.open_txns(TXNS_MAX):
        if txn.type != "read_only" and txn.opened_at <= until_s * MS:
            return (
                f"open txn {txn.txn} of {txn.user}@{txn.host} may have rows under it: let it end, "
                f"or: lakeledger txn abort {txn.txn}"
            )
    return ""
