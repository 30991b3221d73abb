"""The rows of a store on this host as a section of an image, while another process writes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ledger.backup.images.manifest import PUBLICATION, ROWS
from ledger.backup.images.taking import StoredSection
from projections.delta import kept_rows
from projections.fold.fold import FoldMark
from projections.rows.keys import CHECKPOINT, LOG, read_value
from projections.store.port import FORMAT_VERSION, KEYS_END, Row
from projections.store.rocks_reader import RocksReader

FORMATS: Final = {ROWS: FORMAT_VERSION, PUBLICATION: kept_rows.FORMAT}
"""The version of the form of the rows in each section."""


@contextmanager
def stored_section(root: Path, section: str) -> Iterator[StoredSection | None]:
    """Yield the present rows of the store at `root`, None if they have no state checkpoint yet.

    They do not change while the block runs. Raises StoreError if there is no store, or if it cannot
    be read.
    """
    form = FORMATS[section]
    with RocksReader.open(root, version=form) as rows:
        mark, checkpoint = rows.get(LOG), rows.get(CHECKPOINT)
        if mark is None or checkpoint is None:
            yield None
            return
        end = FoldMark(*read_value(mark))

        def all_rows() -> Iterator[Row]:
            return (row for row in rows.scan(b"", KEYS_END) if row[0] != CHECKPOINT)

        yield StoredSection(
            section,
            end.position,
            bytes.fromhex(end.chain),
            end.offset,
            end.topic,
            form,
            (CHECKPOINT, checkpoint),
            all_rows,
            rows.rows_about(),
        )
