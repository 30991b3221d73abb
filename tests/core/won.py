"""Winners without a domain: parts that won, and the index of a table that has them."""

from collections.abc import Sequence

from ledger.core.commands import CoarseWrite, Footprint
from ledger.core.conflicts.index import ConflictIndex, TableWinners
from ledger.core.conflicts.winners import WinningPart
from ledger.core.partitions.keys import PartitionSchema


def won_at(
    position: int, said: Footprint, coarse: Sequence[CoarseWrite] = (), *, rearranges: bool = False
) -> WinningPart:
    """Return the part of table 1 that won at a position."""
    return WinningPart(
        position,
        table=1,
        txn=position,
        session=4,
        at=position,
        operation=said.operation,
        blind=False,
        rearranges=rearranges,
        metadata="",
        replaces=False,
        protocol="",
        coarse=list(coarse),
        footprint=said,
    )


def winners(schema: PartitionSchema, *parts: WinningPart) -> TableWinners:
    """Return the index of a table with these winners."""
    index = ConflictIndex()
    for part in parts:
        index.record(part, schema)
    return index.tables[1]
