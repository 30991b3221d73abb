"""What a client asks of the log as a whole."""

from ledger.core.commands import TrimLog
from ledger.core.events.events import LogTrimmed
from ledger.session.receipt import Receipt
from ledger.session.session import UNNUMBERED
from ledger.transaction.client_txns import LedgerTxns


class LedgerLog(LedgerTxns):
    """The part of a ledger that deals with its log."""

    def trim_log(
        self, below: int, *, archive: str, image: int, digest: bytes, reason: str = ""
    ) -> Receipt:
        """Record that events below a position may leave the log.

        This removes nothing, and verifies neither archive nor image: `lakeledger log trim` does.
        `archive` is the place of a backup with these events, `image` the position of verified rows
        in it, not before `below`, and `digest` theirs. Raises LogHeldError while an open txn needs
        the events, CommandInvalidError for impossible positions.
        """
        command = TrimLog(*UNNUMBERED, below, archive, image, digest, reason)
        return self._done(command, LogTrimmed)
