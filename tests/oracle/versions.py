"""Versions as a state in memory knows them, and what else commits left in a table.

The counterpart of `projections.rows.tables.versions` and `protocols` for
`tests.oracle.reads`.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from ledger.core.commands import Domain, Footprint, Protocol
from ledger.core.conflicts import operations
from ledger.core.events.events import Control, Event, TableAltered, TableCreated
from ledger.core.events.parts import CommittedPart
from ledger.core.state.staged_progress import whole_domains
from ledger.core.state.tables import Pending
from ledger.log.wire.file_list import FileList
from ledger.reads.port import AppRow, VersionRow
from tests.oracle.files import LiveSums


class StateVersions:
    """All versions of all tables by table, and progress, protocols and domains of each."""

    def __init__(self) -> None:
        self.versions: dict[int, list[VersionRow]] = {}
        self.apps: dict[int, dict[str, AppRow]] = {}
        self.protocols: dict[int, Protocol] = {}
        self.domains: dict[int, dict[str, Domain]] = {}

    def note_change(self, event: Event, user: str, sums: Callable[[int], LiveSums]) -> None:
        """Note the version that a change of metadata is by itself, if it is one.

        `sums` returns the sums of the live files of a table.
        """
        control, body = event
        if isinstance(body, TableCreated) and not control.txn:
            what = 0, control.at, operations.CREATED, sums(body.table)
            self._changed(control, body, user, what)
        elif isinstance(body, TableAltered) and body.one_shot:
            what = body.version, body.committed_at, operations.altered(body), sums(body.table)
            self._changed(control, body, user, what)

    def note_part(
        self,
        control: Control,
        part: CommittedPart,
        user: str,
        files: FileList,
        changes: Sequence[Pending],
        *,
        sums: LiveSums,
    ) -> None:
        """Note the version that one table of a commit is."""
        self._append(
            VersionRow(
                part.table,
                part.version,
                control.position,
                part.committed_at,
                control.txn,
                part.write_id,
                user,
                operations.committed(part, changes),
                part.level,
                part.blind,
                part.read_at,
                adds=len(files.adds),
                removes=len(files.removes),
                metadata_events=part.metadata_events,
                info=files.info,
                **sums,
            )
        )

    def note_chunks(self, position: int, table: int, chunks: Sequence[Footprint]) -> None:
        """Note the progress, the protocol and the domains that a part sets in all its chunks."""
        for chunk in chunks:
            for app, version in chunk.apps:
                self.apps.setdefault(table, {})[app] = AppRow(table, app, version, position)
            if chunk.protocol is not None:
                self.protocols[table] = chunk.protocol
        known = self.domains.setdefault(table, {})
        for domain in whole_domains(chain.from_iterable(each.domains for each in chunks)):
            known.pop(domain.name, None)
            if not domain.removed:
                known[domain.name] = domain

    def find(self, table: int, *, version: int | None, position: int, at: int) -> VersionRow | None:
        """Return a version, or the last one up to a time or, without one, a position."""
        known = self.versions.get(table, [])
        if version is not None:
            return next((each for each in known if each.version == version), None)
        found = [each for each in known if (each.at <= at if at else each.position <= position)]
        return found[-1] if found else None

    def newest(self, table: int) -> int:
        known = self.versions.get(table)
        return known[-1].version if known else -1

    def _changed(
        self,
        control: Control,
        body: TableCreated | TableAltered,
        user: str,
        what: tuple[int, int, str, LiveSums],
    ) -> None:
        version, at, operation, sums = what
        self._append(
            VersionRow(
                body.table,
                version,
                control.position,
                at,
                control.txn,
                body.write_id,
                user,
                operation,
                level="",
                blind=False,
                read_at=body.read_at,
                adds=0,
                removes=0,
                metadata_events=1,
                **sums,
            )
        )

    def _append(self, row: VersionRow) -> None:
        self.versions.setdefault(row.table, []).append(row)
