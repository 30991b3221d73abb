"""Chunks are a function of the entries: a change makes the same ones as a new start does."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from projections.iceberg.served.chunks import Chunks, Sizes, chunked, key_of

SMALL = Sizes(one_in=4, entries_max=7)


class Plain(NamedTuple):
    """An entry with nothing but what chunks look at."""

    version: int
    path: str
    kind: int = 0
    size: int = 0


entries = st.builds(
    Plain, st.integers(0, 60), st.integers(0, 400).map(str), st.integers(0, 1), st.integers(0, 1)
)


def of_kind(found: list[Plain]) -> list[Plain]:
    """Return entries of which each version has one kind, as files of one definition."""
    return [each._replace(kind=each.version // 7 % 2) for each in found]


@given(st.lists(entries, max_size=80), st.lists(st.lists(entries, max_size=9)), st.data())
@settings(deadline=None, max_examples=300)
def test_edits_make_the_chunks_of_a_new_start(
    first: list[Plain], rounds: list[list[Plain]], data: st.DataObject
) -> None:
    """After any additions and removals the chunks have the entries that stay."""
    version = 20
    live = {key_of(each): each for each in of_kind(first)}
    kept = chunked(live.values(), version, SMALL)
    for new in rounds:
        version += data.draw(st.integers(0, 9))
        gone = data.draw(st.sets(st.sampled_from(sorted(live)), max_size=20)) if live else set()
        added = {key_of(each): each for each in of_kind(new)}
        gone |= live.keys() & added.keys()
        for key in gone:
            del live[key]
        live |= added
        kept = kept.at(version).changed(gone, added.values())
        fresh = chunked(live.values(), version, SMALL)

        assert groups(fresh) == groups(kept)


def groups(found: Chunks[Plain]) -> list[list[tuple[Plain, ...]]]:
    return [[each.entries for each in part] for part in (found.older, found.recent)]
