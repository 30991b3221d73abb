"""Compares the log of a published table with the events of its ledger, version by version."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ledger.core.events.events import Event
from projections.delta.log.log_folder import LAST_CHECKPOINT, LogFiles, version_file
from projections.delta.log.log_marks import NAMED, LostVersions, hinted, is_version
from projections.delta.log.log_writer import Folders, is_published, of_one_table, oldest_kept
from projections.delta.log.object_log import log_at
from projections.delta.publication import Publication, outcomes_of
from projections.delta.published_log import DeltaVersion, StoppedTable

Finding = Literal["missing", "differs", "foreign", "lost"]


class LogFinding(NamedTuple):
    """A version whose file is missing, differs from the events, or is above the newest version.

    One above the newest is `lost` if a cut of the ledger's log took its commit, else `foreign`.
    """

    version: int
    finding: Finding
    path: str


class LogReport(NamedTuple):
    """The versions that were compared, those that are not right, and why the table stopped.

    `cleaned` versions are below the oldest checkpoint, from which readers begin, and not there.
    """

    compared: int
    findings: tuple[LogFinding, ...]
    stopped: str
    cleaned: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether every version is there with the right bytes, and no other one."""
        return not self.findings and not self.stopped


def verify_log(events: Iterable[Event], table: int, folders: Folders = log_at) -> LogReport:
    """Return how the log of a table compares with the events of a ledger, from the first on."""
    publication, compared, stopped, cleaned = Publication(), 0, "", 0
    findings: list[LogFinding] = []
    newest: DeltaVersion | None = None
    lost: LostVersions | None = None
    for outcome in outcomes_of(events, publication):
        if outcome.table != table:
            continue
        if isinstance(outcome, LostVersions):
            lost = outcome
            continue
        if isinstance(outcome, StoppedTable):
            stopped = f"version {outcome.version}: {outcome.reason}"
            continue
        if outcome.begins:
            stopped = ""
        compared += 1
        newest = outcome
        folder, name = folders(outcome.folder), version_file(outcome.version)
        found = folder.read(name)
        if found is None and outcome.version < oldest_kept(folder, outcome):
            cleaned += 1
        elif not is_published(found, outcome.data):
            kind: Finding = "missing" if found is None else "differs"
            findings.append(LogFinding(outcome.version, kind, folder.place(name)))
    log = publication.logs.get(table)
    if newest is not None and log is not None and log.is_on:
        findings += above(newest, folders(newest.folder), lost)
    return LogReport(compared, tuple(findings), stopped, cleaned)


def above(
    newest: DeltaVersion, folder: LogFiles, lost: LostVersions | None
) -> Iterator[LogFinding]:
    """Yield the versions above the newest one that no publisher of this ledger wrote, or lost."""
    for name in filter(is_version, folder.names()):
        number, data = int(name[:20]), folder.read(name) or b""
        if number <= newest.version:
            continue
        if lost is not None and lost.has(data):
            yield LogFinding(number, "lost", folder.place(name))
        # A publisher may have gone on since the events were read.
        elif not of_one_table(newest.data, data):
            yield LogFinding(number, "foreign", folder.place(name))


def set_aside(findings: Sequence[LogFinding], folder: LogFiles) -> list[str]:
    """Take the files that are not of this ledger out of a log, and return where they are now.

    Checkpoints from the first of them on may have what they say, so these go too.
    """
    wrong = [finding.version for finding in findings if finding.finding != "missing"]
    if not wrong:
        return []
    kept = [folder.set_aside(version_file(each)) for each in wrong]
    for name in folder.names():
        named = NAMED.fullmatch(name)
        if named is not None and not name.endswith(".json") and int(named[1]) >= min(wrong):
            kept.append(folder.set_aside(name))
    if hinted(folder) >= min(wrong):
        kept.append(folder.set_aside(LAST_CHECKPOINT))
    return kept
