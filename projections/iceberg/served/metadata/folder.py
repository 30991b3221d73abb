"""The metadata folder of a table: files whose name tells what they say, so they are written once.

A file that is there has the right bytes, as far as its size tells. A file in use is looked at again
after a while, and written again once it is old: so a vacuum, which deletes only old files, never
takes a file that a reader was just sent to.
"""

import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from ledger.files.storage import Storage
from projections.iceberg.served.paths import FOLDER, folder_text

PREFIX: Final = "lakeledger-"
"""All names of the folder's own files begin so."""

AGAIN_S: Final = 600.0
"""A file that was there is believed to be there for so long."""

RENEWED_MS: Final = 12 * 3_600_000
"""A file in use that is older is written again."""

DIGEST_BYTES: Final = 16
KNOWN_MAX: Final = 100_000


class MetadataFolder:
    """The folder below one location; `written` and `bytes_written` count what was put there.

    The location is as readers get it.
    """

    def __init__(self, location: str) -> None:
        self.location, self.storage = location, Storage(location)
        self.text = folder_text(location)
        self.written = self.bytes_written = 0
        self._seen: dict[str, float] = {}

    def place(self, name: str) -> str:
        """Return the path of a file as readers get it."""
        return f"{self.text}/{name}"

    def is_due(self, seen_s: float) -> bool:
        """Return whether files that were seen at a time have to be looked at again."""
        return time.monotonic() - seen_s > AGAIN_S

    def is_known(self, name: str) -> bool:
        """Return whether a file was there a short while ago."""
        seen = self._seen.get(name)
        return seen is not None and not self.is_due(seen)

    def ensure(self, name: str, size: int, made: Callable[[], bytes]) -> None:
        """Write a file unless it is there; `made` returns its bytes, `size` is their number.

        Raises StorageError if the storage refuses it.
        """
        if self.is_known(name):
            return
        path = f"{FOLDER}/{name}"
        stored = self.storage.found(path)
        before = time.time_ns() // 1_000_000 - RENEWED_MS
        if stored is None or stored.size != size or stored.modified < before:
            data = made()
            self.storage.put(path, data)
            self.written, self.bytes_written = self.written + 1, self.bytes_written + len(data)
        if len(self._seen) >= KNOWN_MAX:
            self._seen.clear()
        self._seen[name] = time.monotonic()

    def put(self, kind: str, data: bytes) -> str:
        """Write bytes unless they are there, and return their name, which ends with `kind`."""
        name = f"{PREFIX}{digest_of(data)}{kind}"
        self.ensure(name, len(data), lambda: data)
        return name


def digest_of(data: bytes) -> str:
    """Return what names bytes."""
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()
