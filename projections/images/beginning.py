"""Stores that begin with the rows of an image.

They are filled beside any store that is there, and take its place only when all rows of the image
are in them. The fold then reads the log from the checkpoint of the image on, and compares it with
the rows, as after every restart.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ledger.backup.images.manifest import ROWS
from ledger.backup.images.reading import checkpoint_row, rows_of
from ledger.backup.images.starting import FoundImage, StartImages
from ledger.log.port import Log
from projections.rows.keys import CHECKPOINT, LOG
from projections.store.memory import MemoryStore
from projections.store.port import FORMAT_KEY, FORMAT_VERSION, Row, RowReader
from projections.store.rocks_store import RocksStore

Hold = Callable[[], None]
"""Keeps the events of a log in place, while the place of a process in it is not known."""
NO_HOLD: Final[Hold] = lambda: None  # noqa: E731 - a default


def open_begun(
    log: Log,
    root: Path,
    images: StartImages,
    *,
    section: str = ROWS,
    version: int = FORMAT_VERSION,
    hold: Hold = NO_HOLD,
) -> RocksStore:
    """Become the writer of the store at `root`; a store without rows begins with an image.

    `hold` is called before it is looked for. Raises as `RocksStore.open` and `StartImages.begin`.
    """
    store = RocksStore.open(root, version=version)
    if store.get(LOG) is not None:
        return store
    store.close()
    begun = begun_rows(log, root, images, section=section, version=version, hold=hold)
    if begun is None:
        return RocksStore.open(root, version=version)
    begun.publish()
    return begun


def begun_rows(
    log: Log,
    root: Path,
    images: StartImages,
    *,
    section: str = ROWS,
    version: int = FORMAT_VERSION,
    hold: Hold = NO_HOLD,
) -> RocksStore | None:
    """Return a store with the rows of the newest image, which is not published yet.

    It is None where all events are to be read. `hold` is called before the image is looked for.
    Raises as `StartImages.begin` and `RocksStore.rebuild`.
    """
    hold()
    return images.begin(log, lambda found: filled(root, found, section, version), section, version)


def anew_with(log: Log, root: Path, images: StartImages, *, hold: Hold = NO_HOLD) -> RocksStore:
    """Return a follower's store to make anew, with the rows of an image or none.

    Readers keep the rows at `root` until it is published. Raises as `begun_rows`.
    """
    return begun_rows(log, root, images, hold=hold) or RocksStore.rebuild(root)


def log_for(store: RowReader, log: Log, images: StartImages) -> Log:
    """Return the log to follow into a store: with the events in a backup, if all are to be read.

    Raises as `StartImages.whole`.
    """
    return log if store.get(CHECKPOINT) is not None else images.whole(log)


def filled(root: Path, found: FoundImage, section: str, version: int) -> RocksStore:
    """Return a new store with the rows of an image; raises as `rows_of`, and nothing is left."""
    store = RocksStore.rebuild(root, version=version)
    try:
        store.write([checkpoint_row(*found, section)])
        store.fill(pages_of(found, section))
    except BaseException:
        store.close()
        raise
    return store


def filled_memory(found: FoundImage, section: str, version: int) -> MemoryStore:
    """Return a store in memory with the rows of an image; raises as `rows_of`."""
    store = MemoryStore(version=version)
    store.write([checkpoint_row(*found, section)])
    for page in pages_of(found, section):
        store.write(page)
    return store


def pages_of(found: FoundImage, section: str) -> Iterator[list[Row]]:
    """Yield the rows of an image without the one that every store begins with."""
    for page in rows_of(*found, section, is_compared=True):
        is_first = page[0][0] <= FORMAT_KEY
        yield [row for row in page if row[0] != FORMAT_KEY] if is_first else page
