"""Decide a trim of the log: events leave it that no open txn and no earlier trim needs.

That an archive and an image exist, and that no follower is behind, the client has verified: the
core knows neither files nor processes. It knows what is open.
"""

from ledger.core.commands import TrimLog
from ledger.core.events.events import LogTrimmed
from ledger.core.limits import ARCHIVE_CHARS_MAX, DIGEST_BYTES_MAX, LABEL_CHARS_MAX
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState


def trim(state: DomainState, command: TrimLog) -> LogTrimmed:
    """Return the trim that the state allows; raises Refused.

    An open txn holds the events from its open on: its reads are as of there, and its staged writes
    lie behind it.
    """
    check_request(state, command)
    # A trim that was decided and then interrupted removed nothing: any other may follow it.
    if command.below < state.begins:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"the log begins at position {state.begins}, so a trim must be below that one or a "
            f"later one, got {command.below}",
        )
    oldest = min(state.txns.open.values(), key=lambda txn: txn.opened, default=None)
    if oldest is not None and oldest.opened < command.below:
        raise Refused(
            Reason.LOG_HELD,
            f"txn {oldest.txn} is open since position {oldest.opened} and holds the events from "
            f"there on; end it, wait for its deadline, or trim below {oldest.opened}",
            oldest.txn,
        )
    return LogTrimmed(
        command.below,
        command.archive,
        command.image,
        command.digest,
        command.reason[:LABEL_CHARS_MAX],
    )


def check_request(state: DomainState, command: TrimLog) -> None:
    """Refuse a trim that no state allows."""
    if not 1 < command.below <= state.position:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"below must be 2 to {state.position}, the newest position, got {command.below}",
        )
    if not command.below <= command.image <= state.position:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"the image must be of position {command.below} to {state.position}, so that its "
            f"readers find the event that it ends with, got {command.image}",
        )
    if not 0 < len(command.archive) <= ARCHIVE_CHARS_MAX or not command.digest:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"a trim must name its archive in 1 to {ARCHIVE_CHARS_MAX} characters, and the digest "
            "of an image in it",
        )
    if len(command.digest) > DIGEST_BYTES_MAX:
        raise Refused(
            Reason.COMMAND_INVALID,
            f"a digest must have {DIGEST_BYTES_MAX} bytes at most, got {len(command.digest)}",
        )
