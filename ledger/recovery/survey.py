"""Survey: what a log still holds, what else tells of more, and what is lost.

What was given after the end of the log is known from the rows of this host, from state checkpoints
and from beats. Each may have lagged behind, so what may have been given beyond them is bounded by
the commands that were sent and by a margin.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from ledger.checkpoint import newest, read_values
from ledger.core.acceptance import LogHead
from ledger.core.decide_cut import Seen, beyond, highest, seen_in
from ledger.core.evolve import evolve
from ledger.core.state import DomainState
from ledger.errors import LedgerError, LogDamagedError, LogUnavailableError
from ledger.log.port import Log, Topic
from ledger.read_rows import TxnRow
from ledger.reads import Reached, Reads
from ledger.recovery.left_out import LeftOut
from ledger.replay import Progress, Replay
from ledger.sdk.view import open_store

MARGIN_WITH_ROWS: Final = 1_000
MARGIN_WITHOUT: Final = 10_000
LOST_TXNS_MAX: Final = 1_000
LEADS_S: Final = 2.0
BEATS_MAX: Final = 1_000

Say = Callable[[str], None]


class Witness(NamedTuple):
    """Something that outlived the end of the log, what it has seen, and the position of that."""

    name: str
    seen: Seen


class Survey(NamedTuple):
    """What was found.

    `state` and `head` are the log's, `seen` is what may have been given at most, `unanswered` how
    many commands the log does not answer. `lost` are txns that only the rows know, oldest first.
    """

    state: DomainState
    head: LogHead
    end: int
    witnesses: Sequence[Witness]
    unanswered: int
    margin: int
    seen: Seen
    lost: Sequence[TxnRow]

    @property
    def is_ahead(self) -> bool:
        """Whether something has seen more than the log holds."""
        return any(each.seen.position > self.head.position for each in self.witnesses)


def survey(
    log: Log,
    store: Path | None,
    *,
    margin: int | None = None,
    passed: Collection[int] = (),
    others: Sequence[Witness] = (),
    progress: Progress = lambda _done, _end: None,
) -> Survey:
    """Read a whole log, and all that may have seen more of it than it still holds.

    `others` are witnesses besides those that are found here, such as rows of other hosts.
    Raises LogDamagedError for a record that no sequencer wrote and that is not `passed` over,
    LogUnavailableError if a sequencer leads or the broker is away.
    """
    check_led_by_none(log)
    left_out, state = LeftOut(), DomainState()
    replay = Replay(log, progress, passed, left_out.take)
    for event in replay:
        evolve(state, event)
    head = replay.acceptor.head
    if state.genesis is None:
        raise LogDamagedError(1, "the log holds no ledger, so there is nothing to go on from")
    witnesses = [*checkpoint_witness(log, state.genesis.domain), *beats_witness(log), *others]
    lost: Sequence[TxnRow] = ()
    if passed and left_out.records:
        # Elsewhere what does not count was written by a leader that was replaced, and given to
        # none that asked.
        witnesses.append(Witness("records behind one passed over", left_out.seen()))
    if store is not None and store.exists():
        with closing(open_store(store)) as rows:
            witnesses.append(rows_witness(rows))
            lost = list(lost_txns(rows, state.txns.next_txn))
    unanswered = max(0, log.ends(Topic.COMMANDS)[1] - head.last_cmd - 1)
    if margin is None:
        least = MARGIN_WITH_ROWS if any_ahead(witnesses, head) else MARGIN_WITHOUT
        margin = least + unanswered
    known = most([seen_in(state, head.epoch), *(each.seen for each in witnesses)])
    return Survey(
        state, head, replay.end, witnesses, unanswered, margin, beyond(known, margin), lost
    )


def any_ahead(witnesses: Sequence[Witness], head: LogHead) -> bool:
    """Tell whether something has seen more than the log holds."""
    return any(each.seen.position > head.position for each in witnesses)


def check_led_by_none(log: Log) -> None:
    """Raise LogUnavailableError if a sequencer leads: it would go on beside the cut."""
    with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
        if beats.read(1, LEADS_S):
            raise LogUnavailableError(
                "a sequencer leads this ledger. Stop lakeledger up, or all sequencers, and try "
                "again"
            )


def checkpoint_witness(log: Log, domain: int) -> Iterator[Witness]:
    """Return what the newest state checkpoint has seen."""
    try:
        found = newest(read_values(log, *log.ends(Topic.CHECKPOINTS)), domain)
    except LedgerError:
        return
    if found is not None:
        yield Witness("state checkpoint", seen_in(found.state, found.head.epoch))


def beats_witness(log: Log) -> Iterator[Witness]:
    """Return the highest epoch that a sequencer beat in."""
    start, end = log.ends(Topic.BEATS)
    epoch = 0
    with closing(log.reader(Topic.BEATS, max(start, end - BEATS_MAX))) as beats:
        while beats.next_offset() < end and (records := beats.read(BEATS_MAX, LEADS_S)):
            epoch = max(epoch, *(epoch_of(each.value) for each in records))
    if epoch:
        yield Witness("beats of sequencers", Seen(epoch=epoch))


def epoch_of(value: bytes) -> int:
    """Return the epoch of a beat, 0 for what is none."""
    try:
        return max(0, int(json.loads(value)["epoch"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0


def rows_witness(rows: Reads) -> Witness:
    """Return what the rows of this host have seen."""
    tables = rows.tables(include_dropped=True)
    return Witness(
        "rows of this host",
        Seen(
            rows.reach(0, Reached(), 0).position,
            0,
            rows.valid_txns().hwm + 1,
            max((each.table for each in tables), default=0) + 1,
            {each.table: (each.last_write_id, each.version) for each in tables},
        ),
    )


def lost_txns(rows: Reads, next_txn: int) -> Iterator[TxnRow]:
    """Return the txns that rows know and the log does not, as far as they are shown."""
    for txn in range(next_txn, min(rows.valid_txns().hwm, next_txn + LOST_TXNS_MAX) + 1):
        row = rows.txn(txn)
        if row is not None:
            yield row


def most(every: Sequence[Seen]) -> Seen:
    """Return the most that any has seen."""
    return Seen(
        max(each.position for each in every),
        max(each.epoch for each in every),
        max(each.next_txn for each in every),
        max(each.next_table for each in every),
        highest(each.tables for each in every),
    )
