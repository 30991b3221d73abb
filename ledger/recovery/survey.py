"""Survey: what a log still holds, which witnesses have seen more, and what is lost.

Rows of this host, state checkpoints, beats and a backup show ids that were given after the end of
the log. Each may have lagged behind, so the commands that were sent, and a margin, bound the ids
that may have been given beyond them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple

from ledger.backup.place import BackupPlace
from ledger.core.acceptance import LogHead
from ledger.core.decide.cut import SeenBeforeCut, beyond, highest, seen_in
from ledger.core.events.events import LedgerCreated
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.batches import check_topic
from ledger.log.port import Log, Topic
from ledger.log.replay import Progress, Replay
from ledger.log.restored import check_finished
from ledger.log.trimmed import TrimMark
from ledger.recovery.beside import BackupBeside
from ledger.recovery.left_out import LeftOut
from ledger.recovery.lost_mark import whole_log
from ledger.recovery.unanswered import unanswered_in
from ledger.recovery.witnesses import (
    LOST,
    LOST_TXNS_MAX,
    LostTxn,
    Verdict,
    Witness,
    judge,
    left_in_topics,
    lost_in_rows,
    rows_kept,
    rows_witness,
)

MARGIN_WITH_WITNESS: Final = 1_000
MARGIN_WITHOUT: Final = 10_000
LISTENS_S: Final = 2.0


class Survey(NamedTuple):
    """The result of a survey.

    `state` and `head` are the log's. `seen` are the highest ids that may have been given,
    `unanswered` is the number of commands that the log does not answer. `verdicts` are in the order
    of the witnesses. `lost` are txns that only witnesses know, by id. `is_copy` says that readers
    refuse the topic of the events, because they were recorded in another one. `shared` is the last
    position that log and backup have in common, None without a backup. `lost_mark` is the mark of
    a trim that the log lacks, None if it has one or needs none.
    """

    state: DomainState
    head: LogHead
    end: int
    witnesses: Sequence[Witness]
    verdicts: Sequence[Verdict]
    unanswered: int
    margin: int
    seen: SeenBeforeCut
    lost: Sequence[LostTxn]
    is_copy: bool
    shared: int | None
    lost_mark: TrimMark | None = None

    @property
    def is_ahead(self) -> bool:
        """Whether a witness has seen more than the log holds."""
        return not LOST.isdisjoint(self.verdicts)

    @property
    def created(self) -> LedgerCreated:
        """The creation of the ledger."""
        assert self.state.genesis is not None, "a survey needs a created ledger"
        return self.state.genesis


def survey(
    log: Log,
    store: Path | None,
    *,
    margin: int | None = None,
    passed: Collection[int] = (),
    backup: BackupPlace | None = None,
    others: Sequence[Witness] = (),
    listens_s: float = LISTENS_S,
    progress: Progress = lambda _done, _end: None,
) -> Survey:
    """Read a whole log, and every witness that may have seen more than the log still holds.

    Events that a trim took from the log come from the `backup`, by default the one that the trim
    names. `others` are witnesses besides the ones found here, such as rows of other hosts. The
    survey listens for `listens_s` for a leader, which would beat several times.

    Raises LogDamagedError for a record that no sequencer wrote and that is not `passed` over,
    LogUnavailableError if a sequencer leads or the broker is unreachable, RestoreUnfinishedError
    during a restore, and as `whole_log` and `BackupBeside`.
    """
    check_led_by_none(log, listens_s)
    log, backup, lost_mark = whole_log(log, backup)
    created = created_in(log, passed)
    check_finished(log, created.domain)
    with ExitStack() as opened:
        witnesses = [*left_in_topics(log, created.domain), *others]
        rows = [(name, opened.enter_context(closing(each))) for name, each in rows_kept(store)]
        witnesses += [rows_witness(*row) for row in rows]
        beside = BackupBeside(backup, created) if backup is not None else None
        left_out, state = LeftOut(passed), DomainState()
        replay = Replay(log, progress, passed, left_out.take)
        chains = followed(replay, state, {each.seen.position for each in witnesses}, beside)
        lost = [txn for name, each in rows for txn in lost_in_rows(name, each, state)]
    # Without a passed record, a replaced leader wrote the records that do not count.
    if passed and left_out.records:
        witnesses.append(Witness("records behind one passed over", left_out.seen()))
    if beside is not None:
        witness, more = beside.end(state)
        witnesses, lost = [*witnesses, witness], [*lost, *more]
    head = replay.acceptor.head
    known = [seen_in(state, head.epoch), *(each.seen for each in witnesses)]
    known += [SeenBeforeCut(left_out.position(replay.end))] if passed else []
    verdicts = [judge(each, state, head, chains) for each in witnesses]
    unanswered, ids = unanswered_in(log, state, head)
    margin = ids + margin_for(witnesses, verdicts) if margin is None else margin
    return Survey(
        state,
        head,
        replay.end,
        witnesses,
        verdicts,
        unanswered,
        margin,
        beyond(most(known), margin),
        each_once(lost),
        is_copy=lost_mark is not None or is_refused(log, created),
        shared=beside.shared if beside is not None else None,
        lost_mark=lost_mark,
    )


def margin_for(witnesses: Sequence[Witness], verdicts: Sequence[Verdict]) -> int:
    """Return how many events may be lost beyond the witnesses; beats hold no position."""
    told = zip(witnesses, verdicts, strict=True)
    is_known = any(each.seen.position and verdict in LOST for each, verdict in told)
    return MARGIN_WITH_WITNESS if is_known else MARGIN_WITHOUT


def followed(
    replay: Replay, state: DomainState, wanted: Collection[int], beside: BackupBeside | None
) -> Mapping[int, str]:
    """Fold a log into a state, beside a backup; return the chains at the wanted positions."""
    chains: dict[int, str] = {}
    for event in replay:
        if beside is not None:
            beside.take(event, state)
        evolve(state, event)
        if event.control.position in wanted:
            chains[event.control.position] = event.control.chain.hex()
    return chains


def created_in(log: Log, passed: Collection[int] = ()) -> LedgerCreated:
    """Return the creation of a log's ledger, in whatever topic it is; raises LogDamagedError."""
    for event in Replay(log, passed=passed):
        if isinstance(event.body, LedgerCreated):
            return event.body
    raise LogDamagedError(1, "the log holds no ledger, so there is nothing to go on from")


def is_refused(log: Log, created: LedgerCreated) -> bool:
    """Return whether readers refuse the events, as they are a copy without a mark."""
    try:
        check_topic(log, created)
    except LogDamagedError:
        return True
    return False


def check_led_by_none(log: Log, listens_s: float) -> None:
    """Raise LogUnavailableError if a sequencer leads: it would go on beside the cut."""
    with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
        if beats.read(1, listens_s):
            raise LogUnavailableError(
                "a sequencer leads this ledger. Stop lakeledger up, or all sequencers, and try "
                "again"
            )


def each_once(lost: Iterable[LostTxn]) -> list[LostTxn]:
    """Return lost txns by id, each from the witness that saw most of it."""
    found: dict[int, LostTxn] = {}
    for each in lost:
        if each.txn not in found or found[each.txn].ended < each.ended:
            found[each.txn] = each
    return [found[txn] for txn in sorted(found)][:LOST_TXNS_MAX]


def most(every: Sequence[SeenBeforeCut]) -> SeenBeforeCut:
    """Return the highest ids that any of them has seen."""
    return SeenBeforeCut(
        max(each.position for each in every),
        max(each.epoch for each in every),
        max(each.next_txn for each in every),
        max(each.next_table for each in every),
        highest(each.tables for each in every),
    )
