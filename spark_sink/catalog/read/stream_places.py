"""Places in the commits of a table: the offsets of a stream that reads it.

{"lakeledger": table, "version": 7, "token": ...} stands behind version 7. A stream begins with the
rows of one version; then `snapshot` says how far it is: {"path", "vector"} of the last file, or
"done". The token names the ledger and the position of the version.
"""

import json
from typing import Any, NamedTuple, Self

from ledger.reads.port import Reads
from ledger.sdk.streams import LEDGER_SOURCE
from ledger.session.receipt import Token

DONE = "done"


class StreamPlace(NamedTuple):
    """A place in the commits of a table.

    `after` is the last file that was read of the rows of the version, ("", "") before the first and
    None if the stream is not in the middle of them. `is_snapshot` says that the rows of the version
    were read, or are being read, in the place of its commits.
    """

    table: int
    version: int
    token: str
    after: tuple[str, str] | None = None
    is_snapshot: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the place of an offset; raises ValueError for another text."""
        try:
            found = json.loads(text)
            after = found.get("snapshot")
            return cls(
                int(found[LEDGER_SOURCE]),
                int(found["version"]),
                str(found["token"]),
                (after["path"], after["vector"]) if isinstance(after, dict) else None,
                after is not None,
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(
                f"the checkpoint must have an offset in a table of the ledger, got {text}: it is "
                "of another source. Begin with a new checkpoint"
            ) from None

    def __str__(self) -> str:
        found: dict[str, Any] = {
            LEDGER_SOURCE: self.table,
            "version": self.version,
            "token": self.token,
        }
        if self.after is not None:
            found["snapshot"] = dict(zip(("path", "vector"), self.after, strict=True))
        elif self.is_snapshot:
            found["snapshot"] = DONE
        return json.dumps(found)

    def at(self, reads: Reads, version: int) -> Self:
        """Return the place behind another version, as one between commits."""
        return type(self)(self.table, version, token_at(reads, self.table, version))


def token_at(reads: Reads, table: int, version: int) -> str:
    """Return the token of a version of a table, of its creation for version -1."""
    identity, row = reads.identity(), None
    if version >= 0:
        row = reads.version_row(table, version=version)
    position = 0 if row is None else row.position
    return str(Token(identity.ledger, identity.domain, position))
