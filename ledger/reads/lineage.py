"""Lineage: whether a log is still the one that a reader has seen.

The chain at a position differs for every log that differs anywhere up to that position. Without a
chain the cuts of the log decide: the log holds no position in their gaps, and every position that a
reader had seen and the log lost lies in a gap.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ledger.core.state.domain import DomainState
from ledger.errors import LogRewrittenError
from ledger.reads.rows import Reached


class Gap(NamedTuple):
    """The positions that a cut left out of a log: after `base` and before `cut`."""

    base: int
    cut: int


def gaps_of(state: DomainState) -> list[Gap]:
    """Return the gaps in the log of a state, oldest first."""
    return [Gap(cut.base, cut.position) for cut in state.cuts]


def left_out_by(position: int, gaps: Iterable[Gap]) -> int:
    """Return the cut that left a position out, 0 if none did."""
    return next((gap.cut for gap in gaps if gap.base < position < gap.cut), 0)


def check_same(seen: Reached, found: str, gaps: Callable[[], Iterable[Gap]]) -> None:
    """Raise LogRewrittenError if a log does not have the chain that was seen at a position.

    `found` is the log's chain, "" if the log has no such position. An unknown chain is not
    compared, but the position must exist.
    """
    if found != seen.chain if seen.chain else not found:
        cut = left_out_by(seen.position, gaps())
        raise LogRewrittenError(seen.position, seen.chain, found, cut)


def check_not_left_out(position: int, gaps: Iterable[Gap]) -> None:
    """Raise LogRewrittenError for a position that a cut has left out."""
    if cut := left_out_by(position, gaps):
        raise LogRewrittenError(position, "", "", cut)
