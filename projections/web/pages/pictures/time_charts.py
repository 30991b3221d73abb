"""Charts over time: bars in equal stretches of time, for counts, sizes and durations."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, NamedTuple

WIDTH: Final = 1088
HEIGHT: Final = 90
BARS: Final = 48


class TimeBar(NamedTuple):
    """A bar from the ground up, with what it says; `high` is the height of a mark above it."""

    x: float
    width: float
    height: float
    high: float
    text: str


class TimeChart(NamedTuple):
    """Bars from one time to another; a whole bar is `most`."""

    title: str
    bars: Sequence[TimeBar]
    most: str
    style: str
    width: int = WIDTH
    height: int = HEIGHT


class TimeAxis(NamedTuple):
    """The stretches of a chart, between two times in milliseconds."""

    first: int
    last: int

    def place(self, at: int) -> int:
        """Return the number of the stretch of a time."""
        span = max(1, self.last - self.first)
        return max(0, min(BARS - 1, (at - self.first) * BARS // span))

    def end(self, number: int) -> int:
        """Return the time at which a stretch ends."""
        return self.first + (number + 1) * max(1, self.last - self.first) // BARS


def count_chart(title: str, style: str, axis: TimeAxis, times: Sequence[int]) -> TimeChart:
    """Return how many times lie in each stretch."""
    counts = [0] * BARS
    for at in times:
        counts[axis.place(at)] += 1
    return chart(
        title, style, [(number, number) for number in counts], lambda number: f"{number:,}"
    )


def middle_chart(
    title: str,
    style: str,
    axis: TimeAxis,
    values: Sequence[tuple[int, int]],
    form: Callable[[int], str],
) -> TimeChart:
    """Return the median of the values in each stretch, with a mark at the largest one."""
    inside: list[list[int]] = [[] for _ in range(BARS)]
    for at, number in values:
        inside[axis.place(at)].append(number)
    pairs = [(round(median(some)), max(some)) if some else (0, 0) for some in inside]
    return chart(title, style, pairs, form)


def level_chart(
    title: str,
    style: str,
    axis: TimeAxis,
    levels: Sequence[tuple[int, int]],
    form: Callable[[int], str],
) -> TimeChart:
    """Return the level at the end of each stretch; `levels` are times and levels from then on."""
    times = [at for at, _ in levels]
    found = [levels[max(0, bisect_right(times, axis.end(at)) - 1)][1] for at in range(BARS)]
    return chart(title, style, [(level, level) for level in found], form)


def chart(
    title: str, style: str, pairs: Sequence[tuple[int, int]], form: Callable[[int], str]
) -> TimeChart:
    """Return the chart of values, each with the largest one of its stretch."""
    most = max(1, *(high for _, high in pairs))
    step = WIDTH / BARS
    bars = [
        TimeBar(
            at * step + 1,
            step - 2,
            HEIGHT * number / most,
            HEIGHT * high / most if high > number else 0.0,
            form(number) if high == number else f"{form(number)}, at most {form(high)}",
        )
        for at, (number, high) in enumerate(pairs)
        if high
    ]
    return TimeChart(title, bars, form(most), style)
