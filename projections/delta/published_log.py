"""The log of one table while its property publishes it: versions of the table in, bytes out."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from ledger.core.state.domain import Cut
from ledger.properties.column_mapping import is_published
from projections.delta.actions.commit_info import commit_info
from projections.delta.actions.file_actions import Action
from projections.delta.actions.log_state import LogState, checkpoint_interval
from projections.delta.actions.metadata_action import (
    TIMESTAMPS,
    Adopted,
    adopted_as,
    delta_id,
    left_out,
    metadata_action,
)
from projections.delta.actions.protocol_action import COMMIT_TIMES, protocol_action
from projections.delta.actions.schema_json import UnpublishableError, compact
from projections.delta.log.log_marks import LostVersions
from projections.delta.table_state import CommittedVersion, PublishedState, reason_against
from projections.rows.keys import Fields


class DeltaVersion(NamedTuple):
    """A version of a published log: its folder and bytes.

    With `begins` it is the first one that is published. `state` is what its checkpoint holds, None
    for a version without a checkpoint. A log that begins late has a checkpoint at once, unless it
    continues the versions of a Delta table that was adopted. So has a version with
    `passes_lost`: it stands above versions that a cut of the ledger's log left out.
    """

    table: int
    name: str
    folder: str
    version: int
    at: int
    position: int
    data: bytes
    begins: bool
    state: LogState | None = None
    passes_lost: bool = False


class StoppedTable(NamedTuple):
    """A table whose publication ends before a version, and the reason."""

    table: int
    name: str
    version: int
    reason: str


Outcome = DeltaVersion | StoppedTable | LostVersions


class PublishedLog(Fields, dict=True):
    """The log of one table while its property publishes it; `of` gives it the table's state.

    Readers of the newest version see the rows of version `shows`, in Delta's numbers. Other rows
    wait for them since the time `waits_since`, 0 if none do.
    """

    ledger: str
    protocol: Action
    metadata: Action
    first: tuple[int, int] = (0, 0)
    adopted: Adopted | None = None
    folder: str = ""
    is_on: bool = False
    is_stopped: bool = False
    is_waiting: bool = False
    shows: int = 0
    waits_since: int = 0

    def of(self, state: PublishedState) -> Self:
        """Return the log of a table."""
        self.state = state
        return self

    def next(self, name: str, version: CommittedVersion) -> Outcome | None:
        """Return the next version of the log, or why it stops; None if it is not published.

        The version that ends the publication lets other writers in. A table that gets another
        folder begins a log there. While rows wait in the ledger's log a log neither begins nor
        ends: its versions show what the one before showed.
        """
        actions = self.state.take(version)
        outcome = self._next(name, version, actions)
        if not isinstance(outcome, DeltaVersion):
            self.state.pass_by(version.at)
        return outcome

    def _next(
        self, name: str, version: CommittedVersion, actions: Sequence[Action]
    ) -> Outcome | None:
        is_on, was_on = is_published(version.definition), self.is_on
        is_held = self.state.shown is None and not self.state.reason
        if is_held and not self.is_stopped:
            return self._held(name, version) if was_on else None
        if self.is_stopped and self.is_waiting and is_on and self._is_readable(version):
            # It never began, so a log that begins here has no gap.
            self.is_stopped, was_on = False, False
        is_moved = is_on and self.state.folder != self.folder and not is_held
        self.is_on, self.folder = is_on, self.folder if is_held else self.state.folder
        if not is_on and not was_on:
            self.is_stopped = False
            return None
        if self.is_stopped and not is_moved:
            self.is_stopped = is_on
            return None
        self.is_stopped = False
        reason = reason_against(version.definition) if is_on else ""
        reason = reason or self.state.reason or self.state.reason_against_files()
        if not reason:
            try:
                is_again = was_on and is_moved
                return self._written(name, version, actions, is_new=not was_on, is_moved=is_again)
            except UnpublishableError as error:
                reason = str(error)
        self.is_stopped = True
        self.is_waiting = not was_on
        return StoppedTable(version.table, name, self._number(version.version), reason)

    def lost(self, name: str, cuts: Sequence[Cut]) -> LostVersions | None:
        """Return what cuts take from the log above its newest version, None if it is not on."""
        if not self.is_on or not cuts:
            return None
        return LostVersions(
            self.state.table, name, self.folder, self.newest, self.ledger, tuple(cuts)
        )

    def _is_readable(self, version: CommittedVersion) -> bool:
        """Return whether a table is written anew, so that a log may begin."""
        has_removes = version.files is not None and bool(version.files.removes)
        state = self.state
        return (
            has_removes
            and state.shown is not None
            and not (
                reason_against(version.definition) or state.reason or state.reason_against_files()
            )
        )

    @property
    def newest(self) -> int:
        """The Delta version of the newest version of the table, written or not."""
        return self._number(self.state.version)

    def _number(self, version: int) -> int:
        """Return the Delta version of a version: the same, unless an adopted log began later."""
        return version + (self.adopted.first if self.adopted is not None else 0)

    def _held(self, name: str, version: CommittedVersion) -> DeltaVersion:
        """Return a version after which readers see what they saw before."""
        self.state.hold()
        return self._version(name, version, (), has_checkpoint=self._is_due(version))

    def _is_due(self, version: CommittedVersion) -> bool:
        interval = checkpoint_interval(self.metadata)
        return self.state.passes_lost or self._number(version.version) % interval == 0

    def _written(
        self,
        name: str,
        version: CommittedVersion,
        actions: Sequence[Action],
        *,
        is_new: bool,
        is_moved: bool,
    ) -> DeltaVersion:
        is_new = is_new or is_moved
        if is_new:
            self.adopted = adopted_as(version.definition)
            self.first = self._number(version.version), version.at
        protocol, metadata, is_taken_back = self._described(version, is_new=is_new)
        lines: list[Action] = []
        if is_new or protocol != self.protocol:
            lines.append({"protocol": protocol})
        if is_new or is_taken_back or metadata != self.metadata:
            lines.append({"metaData": metadata})
        self.protocol, self.metadata = protocol, metadata
        assert self.state.shown is not None, "what is held back is not written"
        shows = self._number(self.state.shown)
        self.waits_since = self.waits_since if shows == self.shows else 0
        self.shows = shows
        lines += self.state.show(actions, version.at)
        # The versions below are in the folder of an adopted table, but in no other folder.
        has_past = is_new and version.version > 0 and (self.adopted is None or is_moved)
        has_checkpoint = has_past if is_new else self._is_due(version)
        return self._version(name, version, lines, is_new=is_new, has_checkpoint=has_checkpoint)

    def _version(
        self,
        name: str,
        version: CommittedVersion,
        lines: Sequence[Action],
        *,
        is_new: bool = False,
        has_checkpoint: bool,
    ) -> DeltaVersion:
        number = self._number(version.version)
        shows = self.shows if self.shows != number else None
        self.waits_since = 0 if shows is None else self.waits_since or version.at
        info = {"commitInfo": commit_info(self.ledger, version, shows)}
        return DeltaVersion(
            version.table,
            name,
            self.folder,
            number,
            version.at,
            version.position,
            "".join(f"{compact(line)}\n" for line in (info, *lines)).encode(),
            is_new,
            self._log_state() if has_checkpoint else None,
            self.state.passes_lost and not is_new,
        )

    def _described(self, version: CommittedVersion, *, is_new: bool) -> tuple[Action, Action, bool]:
        """Return protocol and metaData of a version, and whether a promise is taken back.

        A log of an earlier release may have promised what is unset now.
        """
        state = self.state
        adopted = self.adopted
        extra = set(state.features)
        features = protocol_action(
            state.protocol, version.definition, extra=extra, is_released=not self.is_on
        )["writerFeatures"]
        metadata, before = self.metadata, state.before
        was_altered = state.unshown.is_altered
        is_altered = was_altered or version.definition is not before
        if is_new or is_altered or not set(self.protocol["writerFeatures"]) >= set(features):
            metadata = metadata_action(
                version.definition,
                state.widened,
                id=adopted.id if adopted is not None else delta_id(self.ledger, state.table),
                created_at=state.created_at,
                first=self.first if self.is_on else None,
                is_adopted=adopted is not None,
                features=features,
            )
        if TIMESTAMPS in metadata["configuration"]:
            extra.add(COMMIT_TIMES)
        protocol = protocol_action(
            state.protocol, version.definition, extra=extra, is_released=not self.is_on
        )
        is_taken_back = was_altered or (
            is_altered and before is not None and left_out(before) != left_out(version.definition)
        )
        return protocol, metadata, is_taken_back

    def _log_state(self) -> LogState:
        state = self.state
        return LogState(
            self.protocol,
            self.metadata,
            sorted(state.apps.items()),
            sorted(state.domains.items()),
            state.unshown.files_shown(state.live),
            state.places(self.folder),
        )
