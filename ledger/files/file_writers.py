"""Who wrote a data file, by the file's name: the txn, and a mark of the ledger in which it opened.

Two ledgers number their txns alike, and so do a ledger and a restored copy of it. The mark is made
from the ledger's id and from the open of the txn: its position and its time. So a cleaner knows the
files of its own ledger, also beside a copy that gave the same number to another txn.

A name is `<txn>-<mark>-<digits>-<n>.parquet`. Txn 0 is a commit without a txn. Files that were
written before there were marks have none.
"""

import re
import secrets
from hashlib import blake2b
from typing import Final, NamedTuple

NAMED: Final = re.compile(
    r"(?:.*/)?([0-9]+)-(?:([0-9a-f]{8})-)?[0-9a-f]{16}-[0-9]+\.parquet", re.DOTALL
)
MARK_BYTES: Final = 4


class FileWriter(NamedTuple):
    """The writer of a file; `txn` is 0 for a commit without one, `mark` is "" in an old name."""

    txn: int
    mark: str

    @classmethod
    def of(cls, ledger: str, txn: int = 0, opened: int = 0, opened_at: int = 0) -> "FileWriter":
        """Return a txn as a writer, by the position and the time of its open."""
        said = f"{ledger}/{txn}/{opened}/{opened_at}".encode()
        return cls(txn, blake2b(said, digest_size=MARK_BYTES).hexdigest())

    @property
    def name(self) -> str:
        """The beginning of the names of the writer's files."""
        return f"{self.txn}-{self.mark}"

    def drawn(self) -> str:
        """Return the beginning of the names of one statement, which no other statement draws."""
        return f"{self.name}-{secrets.token_hex(8)}"


def writer_of(path: str) -> FileWriter | None:
    """Return the writer in the name of a file, None for a file of another program."""
    found = NAMED.fullmatch(path)
    return FileWriter(int(found[1]), found[2] or "") if found else None
