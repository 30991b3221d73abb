"""Figures: the measurements of the demo, as a table at its end."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from tests.demo.acts.audit import Audit
from tests.demo.acts.loading import Load
from tests.demo.acts.log_checks import take_over_s
from tests.demo.acts.manifest import ManifestEntry, with_step
from tests.demo.visibility import Delays

NS_PER_S: Final = 1_000_000_000


class Figures(NamedTuple):
    """Everything measured.

    `loading` and `alone` are delays by store, `bytes_on_disk` is the size of the events topic.
    """

    audit: Audit
    load: Load
    entries: list[ManifestEntry]
    loading: Mapping[str, Delays]
    alone: Mapping[str, Delays]
    rows_checked: int
    bytes_on_disk: int
    verified: str

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values, with their units."""
        audit = self.audit
        commits = with_step(self.entries, "committed")
        load_s = (commits[-1].at_ns - commits[0].at_ns) / NS_PER_S
        outage_s = longest_gap_s(commits)
        ended = f"{len(audit.committed)} committed, {len(audit.aborted)} aborted"
        records, disk = (size / len(audit.opened) for size in (audit.bytes, self.bytes_on_disk))
        return [
            ("txns", f"{len(audit.opened)}: {ended}"),
            ("write ids", str(sum(map(len, audit.write_ids.values())))),
            ("conflicts", str(audit.conflicts)),
            ("commits per second while loading", f"{(len(commits) - 1) / load_s:.0f}"),
            ("the same without the take-over", f"{(len(commits) - 2) / (load_s - outage_s):.0f}"),
            ("take-over, kill to first answer", f"{take_over_s(audit, self.load.kill):.2f} s"),
            ("take-over, longest time without a receipt", f"{outage_s:.2f} s"),
            *((f"visible in {name}, loading", str(each)) for name, each in self.loading.items()),
            *((f"visible in {name}, alone", str(each)) for name, each in self.alone.items()),
            ("rows checked", f"{self.rows_checked:,}"),
            ("events per txn", f"{records:.0f} bytes, {disk:.0f} bytes on disk"),
            ("log verified", self.verified),
        ]


def longest_gap_s(commits: list[ManifestEntry]) -> float:
    """Return the longest time between two receipts of any producers."""
    times = [entry.at_ns for entry in commits]
    return max(after - before for before, after in pairwise(times)) / NS_PER_S
