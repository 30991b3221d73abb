"""The whole state of a published table at a version: what a checkpoint of its log holds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from projections.delta.actions.file_actions import Action, FileKey, FilePlaces, LiveFile
from projections.delta.table_state import app_fields

INTERVAL: Final = "delta.checkpointInterval"
INTERVAL_DEFAULT: Final = 100
INTERVAL_DIGITS: Final = 9


class LogState(NamedTuple):
    """The state of a table; its files are not copied, as they never change.

    A checkpoint has them in the order of their keys: a publisher that starts again with its kept
    state does not know in which order they came.
    """

    protocol: Action
    metadata: Action
    apps: Sequence[tuple[str, tuple[int, int]]]
    domains: Sequence[tuple[str, str]]
    files: Sequence[tuple[FileKey, LiveFile]]
    places: FilePlaces

    def actions(self) -> Iterator[Action]:
        """Yield the actions of a checkpoint."""
        yield {"protocol": self.protocol}
        yield {"metaData": self.metadata}
        for app, (number, at) in self.apps:
            yield {"txn": app_fields(app, number, at)}
        for domain, said in self.domains:
            yield {"domainMetadata": {"domain": domain, "configuration": said, "removed": False}}
        for _, file in sorted(self.files):
            # A checkpoint changes no data.
            yield {"add": {**self.places.placed(file.fields), "dataChange": False}}


def checkpoint_interval(metadata: Mapping[str, Any]) -> int:
    """Return after how many versions a table has a checkpoint, by its Delta property."""
    text = metadata["configuration"].get(INTERVAL, "")
    is_number = text.isdecimal() and len(text) <= INTERVAL_DIGITS and int(text) > 0
    return int(text) if is_number else INTERVAL_DEFAULT
