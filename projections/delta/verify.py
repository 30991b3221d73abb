"""Compares the log of a published table with the events of its ledger, version by version."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from ledger.core.events.events import Event
from projections.delta.log_folder import LogFolder, version_file
from projections.delta.publication import Publication, StoppedTable

Finding = Literal["missing", "differs"]


class LogFinding(NamedTuple):
    """A version whose file is missing or differs from the events."""

    version: int
    finding: Finding
    path: str


class LogReport(NamedTuple):
    """The versions that were compared, those that are not right, and why the table stopped."""

    compared: int
    findings: tuple[LogFinding, ...]
    stopped: str

    @property
    def is_clean(self) -> bool:
        """Whether every version is there with the right bytes."""
        return not self.findings and not self.stopped


def verify_log(
    events: Iterable[Event], table: int, folders: Callable[[str], LogFolder] = LogFolder
) -> LogReport:
    """Return how the log of a table compares with the events of a ledger, from the first on."""
    publication, compared, stopped = Publication(), 0, ""
    findings: list[LogFinding] = []
    for event in events:
        for outcome in publication.take(event):
            if outcome.table != table:
                continue
            if isinstance(outcome, StoppedTable):
                stopped = f"version {outcome.version}: {outcome.reason}"
                continue
            if outcome.state is not None:
                stopped = ""
            compared += 1
            folder, name = folders(outcome.folder), version_file(outcome.version)
            found = folder.read(name)
            if found != outcome.data:
                kind: Finding = "missing" if found is None else "differs"
                findings.append(LogFinding(outcome.version, kind, str(folder.path / name)))
    return LogReport(compared, tuple(findings), stopped)
