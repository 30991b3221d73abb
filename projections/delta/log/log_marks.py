"""Whose a published log is: each version names the ledger and the table that committed it.

A log belongs to a table while its protocol has the feature that keeps other writers out. Versions
of the own table whose events a cut of the ledger's log removed are lost: no event has their place.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.decide.cut import OPERATION as LOST_BY_CUT
from ledger.core.state.domain import Cut
from projections.delta.actions.checkpoint_file import protocols_in
from projections.delta.actions.protocol_action import OWN_FEATURE
from projections.delta.log.log_folder import LAST_CHECKPOINT, LogFiles

NAMED: Final = re.compile(r"(\d{20})\.(?:json|checkpoint\..*)")


class Mark(NamedTuple):
    """The table that committed a version, its ledger, and the position of the commit."""

    ledger: str
    table: int
    position: int = 0

    def is_of(self, other: "Mark | None") -> bool:
        """Return whether another version is of the same table."""
        return other is not None and self[:2] == other[:2]

    def __str__(self) -> str:
        """Return the table in words."""
        return f"table {self.table} of ledger {self.ledger}"


class LostVersions(NamedTuple):
    """What cuts take from the log of a table: versions above `version` of positions that are lost.

    They may be of another table, which was lost as a whole.
    """

    table: int
    name: str
    folder: str
    version: int
    ledger: str
    cuts: Sequence[Cut]

    @property
    def aside(self) -> str:
        """The folder within the log for what is lost; no reader looks there."""
        return f"_lost_by_cut_{self.cuts[-1].position}"

    def has(self, data: bytes) -> bool:
        """Return whether these are the bytes of a lost version."""
        mark = mark_of(data)
        if mark is None or mark.ledger != self.ledger:
            return False
        return any(cut.base < mark.position < cut.position for cut in self.cuts)

    def set_aside(self, folder: LogFiles) -> list[str]:
        """Move lost versions out of a log, with their checkpoints; return where they are now.

        The newest go first, and what names them before them: readers always find a whole log.
        """
        named = [(each, NAMED.fullmatch(each)) for each in reversed(folder.names())]
        above = [name for name, each in named if each and int(each[1]) > self.version]
        lost = []
        for name in filter(is_version, above):
            if not self.has(folder.read(name) or b""):
                break
            lost.append(name)
        if not lost:
            return []
        checkpoints = [each for each in above if not is_version(each)]
        if hinted(folder) > self.version:
            checkpoints = [LAST_CHECKPOINT, *checkpoints]
        return [folder.set_aside(each, self.aside) for each in (*checkpoints, *lost)]


def is_version(name: str) -> bool:
    """Return whether a file of a log is one of its versions."""
    return NAMED.fullmatch(name) is not None and name.endswith(".json")


def mark_of(data: bytes) -> Mark | None:
    """Return the mark in the commitInfo of a version, None for a foreign one."""
    try:
        own = json.loads(data.partition(b"\n")[0])["commitInfo"]["lakeledger"]
        return Mark(str(own["ledger"]), int(own["table"]), int(own["position"]))
    except (ValueError, KeyError, TypeError):
        return None


def owner_of(folder: LogFiles) -> Mark | None:
    """Return the table that a log belongs to, None if any program may write to it."""
    mark = None
    for name in reversed(folder.names()):
        if not is_version(name):
            continue
        data = folder.read(name) or b""
        mark = mark or mark_of(data)
        for protocol in actions_of(data, "protocol"):
            return mark if OWN_FEATURE in (protocol.get("writerFeatures") or ()) else None
    return mark


def features_in(folder: LogFiles) -> Sequence[str]:
    """Return the features that the newest version of a log has, none for a log without versions."""
    for name in reversed(folder.names()):
        if NAMED.fullmatch(name):
            data = folder.read(name) or b""
            is_file = name.endswith(".parquet")
            for protocol in protocols_in(data) if is_file else actions_of(data, "protocol"):
                return sorted(protocol.get("writerFeatures") or ())
    return ()


def actions_of(data: bytes, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the actions of a kind in a version, without lines that are damaged."""
    for line in data.splitlines():
        try:
            found = json.loads(line)[kind]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(found, dict):
            yield found


def writer_of(data: bytes) -> str:
    """Return in words what a version of a log says of its writer, "" if it says nothing."""
    mark = mark_of(data)
    if mark is not None:
        return f", but of {mark} at position {mark.position}"
    for info in actions_of(data, "commitInfo"):
        operation = info.get("operation", "an unknown operation")
        return f", but {operation} by {info.get('engineInfo', 'an unknown engine')}"
    return ""


def passes_lost(data: bytes) -> bool:
    """Return whether a version stands above versions that a cut of the ledger's log left out."""
    return any(each.get("operation") == LOST_BY_CUT for each in actions_of(data, "commitInfo"))


def hinted(folder: LogFiles) -> int:
    """Return the version that `_last_checkpoint` names, -1 if it names none."""
    found = folder.read(LAST_CHECKPOINT)
    try:
        return int(json.loads(found)["version"]) if found else -1
    except (ValueError, KeyError, TypeError):
        return -1
