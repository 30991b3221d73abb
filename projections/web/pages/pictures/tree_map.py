"""Tree maps: rectangles whose areas are the sizes of things, as square as they can be."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

WIDTH: Final = 1088
HEIGHT: Final = 320
LABEL_WIDTH: Final = 7.5
"""The width of a letter, about: a text that would not fit is left out."""


class SizedThing(NamedTuple):
    """A thing of a tree map: its name, its size, and the page about it."""

    name: str
    size: int
    link: str = ""


class MapTile(NamedTuple):
    """A thing and its rectangle; `label` is "" if there is no room for its name."""

    thing: SizedThing
    x: float
    y: float
    width: float
    height: float
    label: str
    share: float


class TreeMap(NamedTuple):
    """Tiles, the largest first, in a picture of a size."""

    tiles: Sequence[MapTile]
    width: int = WIDTH
    height: int = HEIGHT


def tree_map(things: Sequence[SizedThing]) -> TreeMap | None:
    """Lay out things by their bytes; nothing with a size gives None."""
    sized = sorted((thing for thing in things if thing.size > 0), key=lambda thing: -thing.size)
    if not sized:
        return None
    total = sum(thing.size for thing in sized)
    scale = WIDTH * HEIGHT / total
    tiles = []
    for thing, (x, y, width, height) in zip(
        sized, rectangles([thing.size * scale for thing in sized]), strict=True
    ):
        is_wide = width > LABEL_WIDTH * min(len(thing.name), 8) and height > LABEL_WIDTH * 2
        letters = int(width / LABEL_WIDTH) if is_wide else 0
        label = thing.name if len(thing.name) <= letters else f"{thing.name[: letters - 1]}…"
        tiles.append(
            MapTile(thing, x, y, width, height, label if letters else "", 100 * thing.size / total)
        )
    return TreeMap(tiles)


def rectangles(areas: Sequence[float]) -> Iterator[tuple[float, float, float, float]]:
    """Yield a rectangle (x, y, width, height) for each area, in falling order of the areas.

    Areas are laid along the shorter side of what is left, as long as that makes them more square
    (the squarified layout of Bruls, Huizing and van Wijk).
    """
    x, y, width, height = 0.0, 0.0, float(WIDTH), float(HEIGHT)
    first = 0
    while first < len(areas):
        side = min(width, height)
        end = first + 1
        while end < len(areas) and worst(areas[first : end + 1], side) <= worst(
            areas[first:end], side
        ):
            end += 1
        row = areas[first:end]
        depth = sum(row) / side if side else 0.0
        along = 0.0
        for area in row:
            length = area / depth if depth else 0.0
            if width >= height:
                yield x, y + along, depth, length
            else:
                yield x + along, y, length, depth
            along += length
        if width >= height:
            x, width = x + depth, max(0.0, width - depth)
        else:
            y, height = y + depth, max(0.0, height - depth)
        first = end


def worst(row: Sequence[float], side: float) -> float:
    """Return the largest ratio of the sides of areas in one row along a side; 1 is a square."""
    if not side:
        return 1.0
    total = sum(row)
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))
