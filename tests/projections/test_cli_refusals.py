"""What a command is refused for is told, also where no rows tell whether its txn ever was."""

from contextlib import closing

import pytest

from ledger.cli.failures import Stopped
from ledger.cli.reading import known_txns
from ledger.client import Ledger
from ledger.errors import TxnNotOpenError
from ledger.machine.process import ExitCode
from ledger.reads.port import Reads
from ledger.reads.remote.http import HttpReads
from ledger.testing import InMemoryLedger
from projections.queries import StoreReads
from projections.store.memory import MemoryStore

NEVER = 99
NOBODY = "http://127.0.0.1:1"
WAIT_S = 3.0


def abort_never(memory: InMemoryLedger, reads: Reads) -> None:
    """Let a command abort a txn that never was, with these rows beside the ledger."""
    with (
        closing(reads),
        Ledger.connect(log=memory.log, reads=reads, timeout_s=WAIT_S) as ledger,
        known_txns(ledger),
    ):
        ledger.abort(NEVER, "no longer wanted")


def test_a_txn_of_which_the_rows_know_nothing_was_not_found() -> None:
    with InMemoryLedger() as memory, pytest.raises(Stopped) as ended:
        abort_never(memory, memory.reads)

    assert ended.value.exit_code == ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param(HttpReads(NOBODY, timeout_s=WAIT_S), id="nobody answers"),
        pytest.param(StoreReads(MemoryStore()), id="too far behind"),
    ],
)
def test_where_rows_tell_nothing_the_refusal_is_raised(reads: Reads) -> None:
    with InMemoryLedger() as memory, pytest.raises(TxnNotOpenError, match=f"txn {NEVER}"):
        abort_never(memory, reads)
