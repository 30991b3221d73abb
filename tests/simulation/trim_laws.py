"""The laws of trims: what must hold when one is planned, when records leave, and at the end.

They look at topics, files and the oracle, and at nothing that the product keeps of them.
"""

import json
from typing import TYPE_CHECKING, Final

from ledger.backup.contents import manifest_in
from ledger.backup.errors import BackupError
from ledger.backup.images.manifest import ROWS, ImageManifest
from ledger.backup.images.reading import chains_at, newest_image
from ledger.backup.images.starting import BY_TRIM
from ledger.backup.joined import joined_log
from ledger.backup.manifest import read_manifest
from ledger.backup.place import BackupPlace
from ledger.errors import LogDamagedError, NothingToTrimError, TrimRefusedError
from ledger.log.checkpoints import digest, load, manifests, read_newest_head
from ledger.log.log_end import last_position
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic, records_between
from ledger.log.replay import verify
from ledger.log.trimmed import TrimMark, trim_marks
from projections.fold.fold import Fold
from projections.images.beginning import filled_memory, log_for
from projections.rows.keys import CHECKPOINT, LOG
from projections.store.memory import MemoryStore
from projections.store.port import FORMAT_VERSION
from tests.backup.benches import restored
from tests.simulation.broken import must
from tests.simulation.faults import dice
from tests.simulation.faulty_log import ProcessLog
from tests.simulation.operator import OperatorLog

if TYPE_CHECKING:
    from tests.simulation.world import World

# How often the rows are made from an image, and the backup is restored.
SHARE: Final = 0.4
READ: Final = 1_000


class TrimLaws:
    """What is held against each trim of one run."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def is_held(self, checkpoint: bytes) -> bool:
        """Tell whether the log goes through the head of a checkpoint."""
        return self._world.oracle.holds(load(checkpoint).head)

    def most(self, place: BackupPlace) -> int | None:
        """Return how far a trim may go by images, checkpoints and consumers; None without."""
        log = ProcessLog(self._world.network, dice(self._world.seed, "most"))
        if read_manifest(place) is None:
            return None
        image, checkpoint = newest_image(place), read_newest_head(log, 0)
        if image is None or checkpoint is None:
            return None
        books = self._world.oracle.history.books
        opened = [books.opened_at[txn] for txn in books.open]
        consumers = self._consumers().values()
        return min([image.checkpoint, checkpoint[0].position, *opened, *consumers])

    def check_refused(self, refused: TrimRefusedError, below: int, ends: tuple[int, int]) -> None:
        """Hold a refused trim against what was there before it, and against what is left."""
        world = self._world
        start = world.network.topics[Topic.EVENTS].start
        must(start == ends[0], "a refused trim changes nothing", f"it begins at {start}")
        if isinstance(refused, NothingToTrimError):
            mark = trim_marks(ProcessLog(world.network, dice(world.seed, "refused"))).get(start)
            first = 1 if mark is None else mark.below
            must(below <= first, "no event that is left counts as trimmed", f"{first} to {below}")

    def check_planned(self, mark: TrimMark, place: BackupPlace) -> None:
        """Hold a trim that may be made against who and what needs the events."""
        world, below = self._world, mark.below
        slow = {name: at for name, at in self._consumers().items() if at < below}
        must(not slow, "no trim passes a consumer", f"below {below} are {slow}")
        log = ProcessLog(world.network, dice(world.seed, "planned"))
        newest = read_newest_head(log, 0)
        at = 0 if newest is None else newest[0].position
        must(at >= below, "no trim passes the newest checkpoint", f"{at} is below {below}")
        image = newest_image(place)
        assert image is not None, "an image was verified"
        must(image.checkpoint >= below, "an image needs no trimmed event", f"{image.checkpoint}")
        ends = image_ends(image) | {mark.head.position: mark.head.chain}
        must(
            all(world.oracle.chain_at(position) == chain for position, chain in ends.items()),
            "image and mark of a trim are of the log",
            f"they go through {sorted(ends)}",
        )
        archived = chains_at(place, manifest_in(place), [mark.head.position])
        must(
            archived.get(mark.head.position) == mark.head.chain,
            "an archive holds what is trimmed",
            f"it has nothing of position {mark.head.position}",
        )

    def check_leaving(self, below: int, offset: int) -> None:
        """Hold records that leave against the event and the mark, which come before."""
        world = self._world
        trimmed = world.oracle.state.trimmed
        must(
            trimmed is not None and trimmed.below == below,
            "records leave only behind their event",
            f"{trimmed} stands for {below}",
        )
        log = ProcessLog(world.network, dice(world.seed, "leaving"))
        marks = trim_marks(log)
        must(offset in marks, "records leave only behind their mark", f"{offset} of {[*marks]}")

    def _consumers(self) -> dict[str, int]:
        """Return the positions of the processes that are registered."""
        found: dict[bytes, bytes] = {}
        for record in self._world.network.topics[Topic.CONSUMERS].records:
            if record is not None:
                found[record.key] = record.value
        said = (json.loads(each) for each in found.values() if each)
        return {each["name"]: each["position"] for each in said}


def image_ends(image: ImageManifest) -> dict[int, bytes]:
    """Return the chains of an image by their positions."""
    section = image.sections[ROWS]
    return {section.position: section.chain, section.checkpoint.position: section.checkpoint.chain}


def check_trims(world: "World") -> None:
    """Raise BrokenError unless log and backup together are the log that was never trimmed."""
    if not world.trims.gone or world.damage.is_hidden:
        return
    oracle, log = world.oracle, OperatorLog(world, "trims at rest")
    wanted = digest(oracle.state, oracle.acceptor.head)
    must(
        verify(joined_log(log)).digest == wanted,
        "log and archive are the log that was never trimmed",
        "their states differ",
    )
    if dice(world.seed, "trims at rest").random() < SHARE:
        check_restored(world, wanted)
        check_image_rows(world, log)
    check_old_checkpoint(world, log)


def check_restored(world: "World", wanted: str) -> None:
    """Restore a backup of now, and compare it with the log that was never trimmed."""
    trims = world.trims
    try:
        trims.back_up()
    except (BackupError, LogDamagedError):
        # The former backup may be the last copy of what was lost; this is another one.
        trims.back_up()
    log = MemoryLog()
    for topic in Topic:
        log.recreate(topic)
    restored(trims.folder, log)
    must(
        verify(log).digest == wanted,
        "a restore joins archive and log",
        f"{trims.folder} has another state",
    )


def check_image_rows(world: "World", log: OperatorLog) -> None:
    """Begin a follower with an image, and compare its rows with those of all events."""
    begun = BY_TRIM.begin(
        log, lambda found: filled_memory(found, ROWS, FORMAT_VERSION), ROWS, FORMAT_VERSION
    )
    store = begun or MemoryStore()
    whole = log_for(store, log, BY_TRIM)
    fold = Fold.load(store, whole)
    reader, end = whole.reader(Topic.EVENTS, fold.offset), log.ends(Topic.EVENTS)[1]
    while reader.next_offset() < end:
        fold.feed(reader.read(READ, 1.0))
    world.oracle.model.met["followers that began with an image" if begun else "with archives"] += 1
    found = {key: row for key, row in store.scan(b"", b"\xff" * 9) if key not in {LOG, CHECKPOINT}}
    wanted = {key: row for key, row in world.oracle.mirror.rows() if key not in {LOG, CHECKPOINT}}
    differ = [key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)]
    must(not differ, "rows from an image are those of all events", f"{sorted(differ)[:3]} differ")


def check_old_checkpoint(world: "World", log: OperatorLog) -> None:
    """Leave no checkpoint but those in front of the trim, as a loss does, and read to the end."""
    start, end = log.ends(Topic.CHECKPOINTS)
    first = log.ends(Topic.EVENTS)[0]
    kept = [
        record.offset + 1
        for record in records_between(log, Topic.CHECKPOINTS, start, end)
        for manifest in manifests({record.key: record.value}, 0)
        if manifest["offset"] <= first
    ]
    world.network.cut(Topic.CHECKPOINTS, max(kept, default=start))
    world.oracle.model.met["checkpoints in front of a trim"] += bool(kept)
    position = last_position(log, 0)
    must(
        position == world.oracle.position,
        "a log is read from where it begins, whatever checkpoint is left",
        f"it ends at {position}",
    )
