"""The bounds of records and state, against the bytes that the codec really makes of them."""

from collections.abc import Callable

import pytest

from ledger.core.acceptance import CHAIN_BYTES
from ledger.core.events.events import (
    Body,
    Control,
    SessionClosed,
    TxnAborted,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AbortedPart, AllocatedId, TxnEnd
from ledger.core.limits import (
    CHANGES_PER_TXN_MAX,
    ENDED_PARTS_PER_EVENT,
    ENDS_PER_EVENT_MAX,
    EVENT_BYTES_MAX,
    ID_BYTES,
    IDS_PER_COMMAND_MAX,
    PART_BYTES,
    PARTS_PER_CLOSE_MAX,
    TABLES_PER_TXN_MAX,
)
from ledger.log.wire.codec import frame_event

# The largest id that takes ID_BYTES: a byte of an Avro long has seven bits, one bit is the sign.
FAR = 2 ** (7 * ID_BYTES - 1) - 1
PART = AbortedPart(FAR, FAR, CHANGES_PER_TXN_MAX, wrote=True)


def bytes_of(body: Body) -> int:
    control = Control(b"", 1, FAR, FAR, FAR, FAR, FAR, FAR)
    return len(frame_event(control, body, bytes(CHAIN_BYTES))[1])


def answer_to_allocate() -> Body:
    """Return the answer that gives as many write ids as one command may ask for."""
    return WriteIdsAllocated([AllocatedId(FAR, FAR, FAR)] * IDS_PER_COMMAND_MAX)


def end_of_the_widest_txn() -> Body:
    """Return the end of a txn that touched as many tables as it may."""
    return TxnAborted("client", one_shot=False, parts=[PART] * TABLES_PER_TXN_MAX, evidence=None)


def end_of_the_widest_session() -> Body:
    """Return the end of a session whose txns touched as many tables as they may together."""
    each = PARTS_PER_CLOSE_MAX // 100
    return SessionClosed([TxnEnd(FAR, "closed", [PART] * each) for _ in range(100)])


def fullest_expiry() -> Body:
    """Return an expiry that was nearly full when the widest txn came."""
    few = [PART] * (ENDED_PARTS_PER_EVENT // ENDS_PER_EVENT_MAX)
    ends = [TxnEnd(FAR, "lease", few) for _ in range(ENDS_PER_EVENT_MAX - 1)]
    return TxnsExpired([], [*ends, TxnEnd(FAR, "lease", [PART] * TABLES_PER_TXN_MAX)])


@pytest.mark.parametrize(
    "body", [answer_to_allocate, end_of_the_widest_txn, end_of_the_widest_session, fullest_expiry]
)
def test_the_largest_events_fit_a_record(body: Callable[[], Body]) -> None:
    assert bytes_of(body()) < EVENT_BYTES_MAX


def test_a_part_takes_as_much_as_the_bounds_say() -> None:
    """The bytes of an ended table, from which the bounds are reckoned, are those of the codec."""
    parts = [bytes_of(TxnAborted("client", False, [PART] * n, None)) for n in (1, 2)]  # noqa: FBT003

    assert parts[1] - parts[0] == PART_BYTES
