"""The end of a log: the position that a reader who has read all of it stands at."""

from contextlib import closing
from typing import Final

from ledger.checkpoint import read_newest_head
from ledger.core.acceptance import LogHead
from ledger.errors import LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.port import Log, Topic

READ_MAX: Final = 5_000
PATIENCE_S: Final = 10.0


def last_position(log: Log, domain: int) -> int:
    """Return the position of the last event that the log holds at the call, 0 without any.

    The number of records does not tell it, for some of them may not count. Reading begins at the
    newest checkpoint. Raises as every reader does, LogUnavailableError if the broker is away.
    """
    head, offset = read_newest_head(log, domain) or (LogHead(), 0)
    end = log.ends(Topic.EVENTS)[1]
    batches = BatchAcceptor(log, Acceptor(head), offset)
    with closing(batches.open()) as reader:
        while (next_offset := reader.next_offset()) < end:
            records = reader.read(READ_MAX, PATIENCE_S)
            for _ in batches.controls(records):
                pass
            if reader.next_offset() == next_offset:
                raise LogUnavailableError(
                    f"the record at offset {next_offset} did not come within {PATIENCE_S:.0f} s; "
                    "see whether the broker runs"
                )
    return head.position
