"""Lineage: whether a log is still the one that a reader has seen.

The chain at a position tells it from every other log that differs anywhere up to there. Where no
chain is at hand the cuts of a log tell: nothing that lies in their gaps is in it, and all that
anybody had seen of what was lost does.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ledger.core.state.domain import DomainState
from ledger.errors import LogRewrittenError
from ledger.reads.rows import Reached


class Gap(NamedTuple):
    """What a cut left out of a log: the positions from behind `base` to before `cut`."""

    base: int
    cut: int


def gaps_of(state: DomainState) -> list[Gap]:
    """Return what was left out of the log of a state, oldest first."""
    return [Gap(each.base, each.position) for each in state.cuts]


def left_out_by(position: int, gaps: Iterable[Gap]) -> int:
    """Return the cut that left a position out, 0 if none did."""
    return next((each.cut for each in gaps if each.base < position < each.cut), 0)


def check_same(seen: Reached, found: str, gaps: Callable[[], Iterable[Gap]]) -> None:
    """Raise LogRewrittenError if a log has not the chain that was seen at a position.

    `found` is the one it has, "" where it has no such position. A chain that is not known is not
    compared; the position must be there all the same.
    """
    if found != seen.chain if seen.chain else not found:
        cut = left_out_by(seen.position, gaps())
        raise LogRewrittenError(seen.position, seen.chain, found, cut)


def check_not_left_out(position: int, gaps: Iterable[Gap]) -> None:
    """Raise LogRewrittenError for a position that a cut has left out."""
    if cut := left_out_by(position, gaps):
        raise LogRewrittenError(position, "", "", cut)
