"""Versions of a table that readers of Iceberg can read, and the earlier ones that each names."""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.reads.port import VersionRow
from projections.iceberg.served.folding import EARLIER_MAX, SNAPSHOTS_MAX, TableFold
from projections.iceberg.served.snapshots import ServedSnapshot

KEPT: Final = "write.metadata.previous-versions-max"


def readable(fold: TableFold, version: VersionRow) -> tuple[Sequence[ServedSnapshot], str]:
    """Return the snapshots of a version whose files can be read rightly, up to its newest.

    The text says why the newest one cannot be read; it is empty if it can.
    """
    shown = fold.shapes.at(version.position)
    found: list[ServedSnapshot] = []
    problem = shown.shape.problem
    for each in () if problem else snapshots_down(fold, version):
        why = each.problem(fold.shapes, shown)
        if why:
            problem = "" if found else why
            break
        found.append(each)
    return found[::-1], problem


def snapshots_down(fold: TableFold, version: VersionRow) -> Iterator[ServedSnapshot]:
    """Yield the snapshots that a version lists, newest first."""
    upto = (each for each in reversed(fold.snapshots) if each.version <= version.version)
    return islice(upto, SNAPSHOTS_MAX)


def is_readable(fold: TableFold, version: VersionRow) -> bool:
    """Return whether Iceberg's readers can read a version, which has a place for its metadata."""
    shown = fold.shapes.at(version.position)
    newest = next(snapshots_down(fold, version), None)
    problem = shown.shape.problem or (newest and newest.problem(fold.shapes, shown))
    return bool(shown.definition.location) and not problem


def earlier_versions(fold: TableFold, version: VersionRow) -> Sequence[VersionRow]:
    """Return the versions before one that readers can read too, as many as it names."""
    count = earlier_count(fold.shapes.at(version.position).definition)
    before = [each for each in fold.versions if each.version < version.version][-count:]
    return list(takewhile(lambda each: is_readable(fold, each), reversed(before)))[::-1]


def earlier_count(definition: TableDefinition) -> int:
    """Return how many earlier metadata files a table names: from 1 to `EARLIER_MAX`."""
    try:
        return min(max(int(properties(definition)[KEPT]), 1), EARLIER_MAX)
    except (KeyError, ValueError):
        return EARLIER_MAX
