"""The rows of a table that lie in the log and not in files, as reads count them."""

from typing import NamedTuple


class BlocksRow(NamedTuple):
    """The rows of a table that lie in the log: in how many blocks, their bytes, their number.

    `since` is the time of the ledger in milliseconds from which on there were some, or at which
    some last went into files.
    """

    table: int
    blocks: int
    size: int
    rows: int
    since: int
