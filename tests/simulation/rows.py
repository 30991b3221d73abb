"""Rows: what readers by position are told once the log was cut, asked of the rows of a follower.

Whoever had seen what was lost is told so, by the position of it; whoever had not goes on. And no
file that a lost txn left is in any snapshot, for its write id is valid for no reader.
"""

from contextlib import closing
from typing import TYPE_CHECKING, Final

from ledger.backup.joined import joined_log
from ledger.core.events.events import AbortedForgotten, Event, LogCut, TxnOpened
from ledger.errors import LogRewrittenError
from ledger.reads.port import Reached
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from tests.core.cutting import ids_given
from tests.simulation.broken import must
from tests.simulation.faults import dice
from tests.simulation.faulty_log import ProcessLog

if TYPE_CHECKING:
    from tests.simulation.world import World

# Rows of a whole log cost as much as half a run.
SHARE: Final = 0.3
ASKED_MAX: Final = 20


def check_rows(world: "World") -> None:
    """Raise BrokenError if a reader of rows takes what was lost for what is there."""
    chance = dice(world.seed, "rows")
    if not world.damage.operator.has_cut or chance.random() >= SHARE:
        return
    log = joined_log(ProcessLog(world.network, chance))
    records = [record for record in world.events() if record is not None]
    store = MemoryStore()
    Fold.load(store, log).feed(records)
    kept = list(world.oracle.history.events.values())
    with closing(StoreReads(store.reader())) as reads:
        for event in chance.sample(kept, min(ASKED_MAX, len(kept))):
            reads.reach(0, reached(event), 0)
        # A writer that sent the very record again has brought it back.
        lost = [each for each in world.lost.events if not world.oracle.has(each)]
        for event in chance.sample(lost, min(ASKED_MAX, len(lost))):
            must(
                is_told(reads, reached(event)),
                "a reader of rows that was ahead is told",
                f"rows hold position {event.control.position} as it was lost",
            )
        for table, write_id in lost_write_ids(lost, kept):
            row = reads.table(table)
            # In a listed table files are seen by the commits that name them, and by nothing else.
            if row is None or row.dropped or row.definition.layout == "listed":
                continue
            must(
                not reads.write_ids_at(table).is_valid(write_id),
                "no file of a lost write id is visible",
                f"write id {write_id} of table {table}",
            )


def reached(event: Event) -> Reached:
    """Return what a client keeps that has seen an event."""
    return Reached(event.control.position, event.control.chain.hex())


def is_told(reads: StoreReads, seen: Reached) -> bool:
    """Tell whether a client that has seen so much is refused by the rows."""
    try:
        reads.reach(0, seen, 0)
    except LogRewrittenError:
        return True
    return False


def lost_write_ids(lost: list[Event], kept: list[Event]) -> list[tuple[int, int]]:
    """Return the tables and write ids that were given only in what was lost, and not cleaned.

    A client may say of a txn that took up a lost id that nothing is left of its files.
    """
    cut_at = next(each.control.position for each in kept if isinstance(each.body, LogCut))
    before = [each for each in kept if each.control.position < cut_at]
    gone = ids_given(lost) - ids_given(before)
    behind = [each.body for each in kept if each.control.position > cut_at]
    cleaned = {txn for each in behind if isinstance(each, AbortedForgotten) for txn in each.txns}
    gone -= {
        ("write id", each.table, each.write_id)
        for body in behind
        if isinstance(body, TxnOpened)
        for each in body.ids
        if each.txn in cleaned
    }
    return sorted((each[1], each[2]) for each in gone if each[0] == "write id")
