"""Witnesses: the data that outlived the end of a log, and the positions and ids in it.

Witnesses are rows of a host, state checkpoints, beats of sequencers, the mark of a restore, and
backups. Each may have lagged behind the log; `survey` bounds the ids given beyond them.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ledger.core.acceptance import LogHead
from ledger.core.decide.cut import SeenBeforeCut, seen_in
from ledger.core.state.domain import DomainState
from ledger.definitions.client_reads import open_store
from ledger.errors import LedgerError
from ledger.log.checkpoints import Checkpoint, newest, read_values
from ledger.log.other_topics import beat_epoch, of_checkpoints, of_restore
from ledger.log.port import Log, Topic
from ledger.machine.former_rows import set_aside
from ledger.reads.port import EndStatus, Reached, Reads, TxnPart

LOST_TXNS_MAX: Final = 1_000
READ_S: Final = 2.0
BEATS_MAX: Final = 1_000
ROWS: Final = "rows of this host"
BACKUP: Final = "backup in "

Verdict = Literal["the same", "ahead", "another history", "lost by a cut", "no position"]
# The verdicts after which a log without a cut would give ids a second time.
LOST: Final = frozenset({"ahead", "another history"})


class Witness(NamedTuple):
    """One witness, and the ids and positions that it has seen.

    `chain` is the log's chain after the last event that it has seen, in hex digits, "" = unknown.
    """

    name: str
    seen: SeenBeforeCut
    chain: str = ""


class LostTxn(NamedTuple):
    """A txn that a witness has seen and the log lacks; `ended` is a position."""

    txn: int
    user: str
    status: EndStatus
    ended: int
    parts: tuple[TxnPart, ...]
    known_from: str


def judge(
    witness: Witness, state: DomainState, head: LogHead, chains: Mapping[int, str]
) -> Verdict:
    """Return the verdict of a log on a witness; `chains` are the log's chains by position."""
    seen = witness.seen
    if seen.epoch > head.epoch:
        return "ahead"
    if not seen.position:
        return "no position"
    if seen.position > head.position:
        return "ahead"
    if not witness.chain or chains.get(seen.position) == witness.chain:
        return "the same"
    is_below = any(
        cut.position > seen.position and cut.next_txn >= seen.next_txn for cut in state.cuts
    )
    return "lost by a cut" if is_below else "another history"


def left_in_topics(log: Log, domain: int) -> Iterator[Witness]:
    """Yield the witnesses in the other topics of a ledger."""
    yield from checkpoint_witnesses(log, domain)
    yield from restore_witness(log, domain)
    yield from beats_witness(log)


def checkpoint_witnesses(log: Log, domain: int) -> Iterator[Witness]:
    """Yield the newest state checkpoint, and the positions of incomplete ones, as witnesses."""
    values = read_values(log, *log.ends(Topic.CHECKPOINTS))
    whole: Checkpoint | None = None
    with suppress(LedgerError):
        whole = newest(values, domain)
    if whole is not None:
        seen = seen_in(whole.state, whole.head.epoch)
        yield Witness("state checkpoint", seen, whole.head.chain.hex())
    for checkpoint in of_checkpoints(values, domain):
        if whole is None or checkpoint.position > whole.head.position:
            yield Witness(
                checkpoint.name,
                SeenBeforeCut(checkpoint.position, checkpoint.epoch),
                checkpoint.chain,
            )


def restore_witness(log: Log, domain: int) -> Iterator[Witness]:
    """Yield the mark of a restore as a witness."""
    for each in of_restore(log, domain):
        yield Witness(each.name, SeenBeforeCut(each.position))


def beats_witness(log: Log) -> Iterator[Witness]:
    """Yield the highest epoch in the beats of sequencers as a witness."""
    start, end = log.ends(Topic.BEATS)
    epoch = 0
    with closing(log.reader(Topic.BEATS, max(start, end - BEATS_MAX))) as beats:
        while beats.next_offset() < end and (records := beats.read(BEATS_MAX, READ_S)):
            epoch = max(epoch, *(beat_epoch(record.value) for record in records))
    if epoch:
        yield Witness("beats of sequencers", SeenBeforeCut(epoch=epoch))


def rows_kept(store: Path | None) -> Iterator[tuple[str, Reads]]:
    """Open the rows of a host and its former rows, by name.

    Unreadable former rows are passed over. Raises as `open_store` for the others.
    """
    if store is None:
        return
    if store.exists():
        yield ROWS, open_store(store)
    for aside in set_aside(store):
        with suppress(LedgerError):
            yield f"rows in {aside}", open_store(aside)


def rows_witness(name: str, rows: Reads) -> Witness:
    """Return rows as a witness of the largest numbers that the log gave."""
    tables = rows.tables(include_dropped=True)
    reached = rows.reach(0, Reached(), 0)
    seen = SeenBeforeCut(
        reached.position,
        0,
        rows.valid_txns().hwm + 1,
        max((table.table for table in tables), default=0) + 1,
        {table.table: (table.last_write_id, table.version) for table in tables},
    )
    return Witness(name, seen, reached.chain)


def lost_in_rows(name: str, rows: Reads, state: DomainState) -> Iterator[LostTxn]:
    """Yield txns that rows hold and the log lacks, or holds as open; a bounded number."""
    first = state.txns.next_txn
    later = range(first, min(rows.valid_txns().hwm, first + LOST_TXNS_MAX) + 1)
    for txn in chain(sorted(state.txns.open), later):
        row = rows.txn(txn)
        if row is not None and (txn >= first or row.status != "open"):
            yield LostTxn(txn, row.user, row.status, row.ended, row.parts, name)
