"""Chunks: the entries of a table in groups, of which a change of a few entries touches few.

Entries are ordered by the version that added them, then by path. Those of recent versions stay in a
group for each version. The older ones are cut into chunks after entries that the hash of their path
chooses. So a chunk is a function of the entries alone, whatever changed before, and one change
touches one or two chunks. Every server makes the same ones.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from ledger.core.conflicts.footprints import path_hash

RECENT: Final = 16
"""Versions are put among the older ones this many at a time."""


class Sizes(NamedTuple):
    """A chunk ends after one of `one_in` entries on average, and has `entries_max` at most."""

    one_in: int = 256
    entries_max: int = 2_048


SIZES: Final = Sizes()


class Keyed(Protocol):
    """An entry of a table, in the order of versions and paths."""

    @property
    def version(self) -> int:
        """The version that added the entry."""

    @property
    def path(self) -> str:
        """The path of the data file."""

    @property
    def kind(self) -> Hashable:
        """What all entries of one chunk have alike."""


Entry = TypeVar("Entry", bound=Keyed)
Key = tuple[int, str]


class Added(NamedTuple):
    """The snapshot that added all entries of a group: its id, its number, and its format.

    `text` is the folder of its metadata.
    """

    snapshot: int
    sequence: int
    format: int
    text: str


class Chunk(Generic[Entry]):
    """Entries that stand in one manifest; they never change.

    Attributes:
        added: the snapshot that added all of them, and has them in a manifest of its own.
        manifests: what was written for them, by what it depends on besides.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = tuple(entries)
        self.added: Added | None = None
        self.manifests: dict[Any, Any] = {}

    @cached_property
    def first(self) -> Key:
        """The key of the first entry."""
        return key_of(self.entries[0])

    def __len__(self) -> int:
        return len(self.entries)


class Chunks(NamedTuple, Generic[Entry]):
    """All entries of a table at one version: the older ones in chunks, then recent versions.

    `recent` has one group for each version and kind. No entry of `older` is of version `settled`
    or later.
    """

    older: tuple[Chunk[Entry], ...] = ()
    recent: tuple[Chunk[Entry], ...] = ()
    settled: int = 0
    sizes: Sizes = SIZES

    def entries(self) -> Iterator[Entry]:
        """Yield the entries in their order."""
        for chunk in self.all():
            yield from chunk.entries

    def all(self) -> Iterator[Chunk[Entry]]:
        """Yield the chunks in the order of their entries."""
        return chain(self.older, self.recent)

    def changed(self, gone: Iterable[Key], added: Iterable[Entry]) -> Self:
        """Return the chunks without the entries of some keys and with others in their places.

        A key that is gone may come back as an added entry. Raises KeyError for an unknown key.
        """
        lost, new = set(gone), sorted(added, key=key_of)
        older = edited(
            self.older,
            {each for each in lost if each[0] < self.settled},
            [each for each in new if each.version < self.settled],
            self.sizes,
        )
        recent = regrouped(
            self.recent,
            {each for each in lost if each[0] >= self.settled},
            [each for each in new if each.version >= self.settled],
        )
        return self._replace(older=older, recent=recent)

    def at(self, version: int) -> Self:
        """Return the same entries as the snapshot of a version groups them."""
        settled = version - version % RECENT
        if settled <= self.settled:
            return self
        moved = [each for each in self.recent if each.first[0] < settled]
        if not moved:
            return self._replace(settled=settled)
        kept = tuple(each for each in self.recent if each.first[0] >= settled)
        # The last chunk may have ended only because nothing followed it.
        last = self.older[-1:]
        again = [entry for chunk in (*last, *moved) for entry in chunk.entries]
        older = (*self.older[: len(self.older) - len(last)], *cut(again, last, self.sizes))
        return self._replace(older=older, recent=kept, settled=settled)


def key_of(entry: Keyed) -> Key:
    """Return the place of an entry in the order."""
    return entry.version, entry.path


def chunked(entries: Iterable[Entry], version: int, sizes: Sizes = SIZES) -> Chunks[Entry]:
    """Return entries as the snapshot of a version groups them."""
    settled = version - version % RECENT
    ordered = sorted(entries, key=key_of)
    at = bisect_right(ordered, settled - 1, key=lambda each: each.version)
    return Chunks(tuple(cut(ordered[:at], (), sizes)), tuple(grouped(ordered[at:])), settled, sizes)


def grouped(entries: Iterable[Entry]) -> Iterator[Chunk[Entry]]:
    """Yield the entries of each version and kind."""
    for _, some in groupby(entries, key=lambda each: (each.version, each.kind)):
        yield Chunk(list(some))


def regrouped(
    chunks: Sequence[Chunk[Entry]], gone: set[Key], new: Sequence[Entry]
) -> tuple[Chunk[Entry], ...]:
    """Return groups of versions without some entries and with others; the rest stay the same."""
    if not (gone or new):
        return tuple(chunks)
    touched = {key[0] for key in gone} | {each.version for each in new}
    kept = {each.first: each for each in chunks if each.first[0] not in touched}
    again = [entry for each in chunks if each.first not in kept for entry in each.entries]
    for made in grouped(replaced(again, gone, new)):
        kept[made.first] = made
    return tuple(kept[first] for first in sorted(kept))


def edited(
    chunks: Sequence[Chunk[Entry]], gone: set[Key], new: Sequence[Entry], sizes: Sizes
) -> tuple[Chunk[Entry], ...]:
    """Return chunks without some entries and with others; chunks that stay equal stay the same."""
    if not (gone or new):
        return tuple(chunks)
    firsts = [each.first for each in chunks]
    by_chunk: dict[int, tuple[set[Key], list[Entry]]] = {}
    for key in gone:
        by_chunk.setdefault(place_of(firsts, key), (set(), []))[0].add(key)
    for each in new:
        by_chunk.setdefault(place_of(firsts, key_of(each)), (set(), []))[1].append(each)
    made: list[Chunk[Entry]] = []
    number, is_dirty = 0, False
    while number < max(1, len(chunks)):
        is_same = number not in by_chunk
        if is_same and not (is_dirty and is_open(made, chunks[number].entries[0], sizes)):
            made.append(chunks[number])
            number, is_dirty = number + 1, False
            continue
        entries, before = list[Entry](), list[Chunk[Entry]]()
        # A chunk whose end is gone goes on into the next one, until one ends as before.
        while True:
            own = chunks[number : number + 1]
            lost, added = by_chunk.pop(number, (set(), []))
            entries += replaced(own[0].entries if own else (), lost, added)
            before += own
            number += 1
            if number >= len(chunks):
                break
            if number not in by_chunk and is_end(entries, chunks[number].entries[0], sizes):
                break
        if entries and is_open(made, entries[0], sizes):
            before.insert(0, made.pop())
            entries = [*before[0].entries, *entries]
        made += cut(entries, before, sizes)
        is_dirty = True
    return tuple(made)


def is_open(chunks: Sequence[Chunk[Entry]], following: Entry, sizes: Sizes) -> bool:
    """Return whether an entry belongs to the last chunk, if it is the next one."""
    if not chunks or len(chunks[-1]) == sizes.entries_max:
        return False
    last = chunks[-1].entries[-1]
    return last.kind == following.kind and not is_chosen(last, sizes)


def place_of(firsts: Sequence[Key], key: Key) -> int:
    """Return the number of the chunk in which a key stands, or would stand."""
    return max(0, bisect_right(firsts, key) - 1)


def replaced(entries: Sequence[Entry], gone: set[Key], new: Sequence[Entry]) -> list[Entry]:
    """Return entries in order without some and with others; raises KeyError for an unknown key."""
    kept = [each for each in entries if key_of(each) not in gone]
    if len(entries) - len(kept) != len(gone):
        raise KeyError(min(gone - set(map(key_of, entries))))
    return sorted([*kept, *new], key=key_of) if new else kept


def is_end(entries: Sequence[Entry], following: Entry, sizes: Sizes) -> bool:
    """Return whether a chunk ends after these entries, whatever came before.

    Where only the number of entries ended a chunk, the next chunks are cut again.
    """
    return not entries or is_chosen(entries[-1], sizes) or entries[-1].kind != following.kind


def is_chosen(entry: Keyed, sizes: Sizes) -> bool:
    """Return whether a chunk ends after an entry by the hash of its path."""
    return int.from_bytes(path_hash(entry.path)) % sizes.one_in == 0


def cut(
    entries: Sequence[Entry], before: Sequence[Chunk[Entry]], sizes: Sizes
) -> Iterator[Chunk[Entry]]:
    """Yield the chunks of entries in order; those that are in `before` are the same objects."""
    known = {each.first: each for each in before}
    some: list[Entry] = []

    def made() -> Chunk[Entry]:
        same: Chunk[Entry] | None = known.get(key_of(some[0]))
        return same if same is not None and same.entries == tuple(some) else Chunk(some)

    for each in entries:
        if some and some[-1].kind != each.kind:
            yield made()
            some = []
        some.append(each)
        if len(some) == sizes.entries_max or is_chosen(each, sizes):
            yield made()
            some = []
    if some:
        yield made()
