"""Rows of the lake: what real followers keep of the whole log, held against the model.

One follower takes the log in pieces, and begins again in between from what its store holds. Another
one takes it at once. Both must hold the same rows, and show the files of the model wherever it
looked.
"""

from typing import TYPE_CHECKING, Final

from ledger.backup.joined import joined_log
from ledger.core.acceptance import accept
from ledger.log.port import Log, Record
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.rows.keys import CHECKPOINT
from projections.store.memory import MemoryStore
from tests.simulation.broken import must
from tests.simulation.faults import dice
from tests.simulation.faulty_log import ProcessLog
from tests.simulation.mirror import shown

if TYPE_CHECKING:
    from tests.simulation.world import World

# Rows of a whole log cost as much as half a run.
SHARE: Final = 0.25
PIECES: Final = 4
LOOKS_MAX: Final = 12


def check_lake(world: "World") -> None:
    """Raise BrokenError if a follower of the whole log shows other rows than the model has."""
    chance = dice(world.seed, "lake")
    if world.variant.rule is not accept or world.damage.is_hidden or chance.random() >= SHARE:
        return
    log = joined_log(ProcessLog(world.network, chance))
    records = [each for each in world.events() if each is not None]
    store = MemoryStore()
    stops = sorted(chance.choices(range(len(records) + 1), k=PIECES))
    for stop in (*stops, len(records)):
        feed(store, log, records[:stop])
    whole = MemoryStore()
    feed(whole, log, records)
    must(rows_in(store) == rows_in(whole), "a rebuilt store has the same rows", f"fed at {stops}")
    reads = StoreReads(store)
    for number, table in world.oracle.model.tables.items():
        positions = sorted(table.shown)
        for position in chance.sample(positions, min(LOOKS_MAX, len(positions))):
            found = shown(reads, number, position)
            must(
                table.astray or found == table.shown[position],
                "followers show the rows of the model",
                f"table {number} at {position} has {table.shown[position]}, rows show {found}",
            )


def feed(store: MemoryStore, log: Log, records: list[Record]) -> None:
    """Let a follower begin from a store, take what follows, and keep a checkpoint."""
    fold = Fold.load(store, log)
    fold.feed([record for record in records if record.offset >= fold.offset])
    fold.store_checkpoint()


def rows_in(store: MemoryStore) -> dict[bytes, bytes]:
    """Return all rows of a store but the checkpoint, which comes when it comes."""
    return {key: row for key, row in store.scan(b"", b"\xff" * 8) if key != CHECKPOINT}
