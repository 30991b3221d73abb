"""The end of a log, by reading it from the newest checkpoint on; no state is made."""

from contextlib import closing

from ledger.core.acceptance import LogHead
from ledger.errors import LogTrimmedError, LogUnavailableError, OffsetGoneError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import read_newest_head
from ledger.log.port import PATIENCE_S, READ_MAX, Log, Topic
from ledger.log.trimmed import start_of


def nearest_head(log: Log, domain: int) -> tuple[LogHead, int]:
    """Return head and offset of the newest checkpoint, or of the place where the log begins.

    A topic of checkpoints that lost its end may have one of events that were trimmed since.
    """
    begun, newest = start_of(log, domain), read_newest_head(log, domain)
    if newest is not None and (begun.mark is None or newest[1] > begun.offset):
        return newest
    return begun.head, begun.offset


def last_position(log: Log, domain: int) -> int:
    """Return the position of the last event in the log at the time of the call, 0 without events.

    The end offset is not enough, since some records may not count, so the log is read from the
    newest checkpoint on. If a trim takes that place meanwhile, it is read from where the log begins
    then. Raises as every reader does, and LogUnavailableError if the broker is unreachable.
    """
    head, offset = nearest_head(log, domain)
    while True:
        try:
            return position_behind(log, head, offset)
        except (OffsetGoneError, LogTrimmedError):
            before = offset
            head, offset = nearest_head(log, domain)
            # Records that are gone without a trim, as by retention, are gone for good.
            if offset <= before:
                raise


def position_behind(log: Log, head: LogHead, offset: int) -> int:
    """Return the position of the last event, read from a head and the offset behind it."""
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
