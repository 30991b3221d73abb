"""A figure: what a benchmark measured, as a JSON line for programs and a row for people."""

import json
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

FAILED: Final = "failed:"


class Figure(NamedTuple):
    """One measured value; `baseline` is the other side of the ratio, in the same unit.

    Without a value it was not measured, and `note` says why.
    """

    id: str
    value: float | None
    unit: str
    baseline: float | None = None
    ratio: float | None = None
    note: str = ""

    def line(self) -> str:
        """Return the JSON line."""
        return json.dumps(self._asdict())


class SkippedError(Exception):
    """A benchmark cannot be measured on this machine; the message says why."""


def skipped(figure_id: str, reason: SkippedError) -> Figure:
    """Return the figure of a benchmark that was not measured."""
    return Figure(figure_id, None, "", note=f"skipped: {reason}")


def failed(figure_id: str, error: Exception) -> Figure:
    """Return the figure of a benchmark that ended with an error."""
    return Figure(figure_id, None, "", note=f"{FAILED} {error!r}")


def against(figure_id: str, unit: str, rounds: Sequence[tuple[float, float]], note: str) -> Figure:
    """Return the medians of (value, baseline) rounds and of their ratios, round by round."""
    values, baselines = zip(*rounds, strict=True)
    ratio = median(value / baseline for value, baseline in rounds)
    return Figure(
        figure_id,
        round(median(values), 3),
        unit,
        round(median(baselines), 3),
        float(f"{ratio:.4g}"),
        note,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def show(figures: Sequence[Figure], machine: str) -> None:
    """Print the table for people."""
    table = Table(title=f"figures on {machine}", title_justify="left")
    for name in ("id", "value", "unit", "baseline", "ratio", "note"):
        table.add_column(name, overflow="fold")
    for figure in figures:
        table.add_row(*("" if cell is None else str(cell) for cell in figure))
    Console(width=140).print(table)
