"""The log folder of a broker that lost power: segments that end at a batch of their records.

What a broker flushed is what it says itself in its recovery points. Indices and producers'
snapshots go too, because it makes them anew.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

POINTS: Final = "recovery-point-offset-checkpoint"
# Where these are, the broker believes that it was stopped in good order.
GOOD_ORDER: Final = (POINTS, "replication-offset-checkpoint", ".kafka_cleanshutdown")
MADE_ANEW: Final = ("*.index", "*.timeindex", "*.snapshot", ".kafka_cleanshutdown")
HEADER_BYTES: Final = 61
LENGTH_END: Final = 12
LAST_DELTA_AT: Final = 23
POINTS_BEGIN: Final = 2


class Batch(NamedTuple):
    """A batch of records in a segment: its end in the file, and the offset behind its last one."""

    end: int
    next_offset: int


def batches(segment: Path) -> Iterator[Batch]:
    """Yield the whole batches of a segment."""
    data, at = segment.read_bytes(), 0
    while at + HEADER_BYTES <= len(data):
        base, length = struct.unpack_from(">qi", data, at)
        end = at + LENGTH_END + length
        if length <= 0 or end > len(data):
            break
        yield Batch(end, base + struct.unpack_from(">i", data, at + LAST_DELTA_AT)[0] + 1)
        at = end


def segments(log: Path, topic: str) -> list[Path]:
    """Return the segments of a topic with one partition, oldest first."""
    return sorted((log / f"{topic}-0").glob("*.log"))


def places(log: Path, topic: str) -> list[int]:
    """Return the offsets behind each batch of a topic, and its beginning."""
    found = [batch.next_offset for part in segments(log, topic) for batch in batches(part)]
    return [0, *found]


def recovery_points(log: Path) -> dict[str, int]:
    """Return the offsets up to which the broker says that it has flushed, by topic."""
    try:
        lines = (log / POINTS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    rows = (line.rsplit(" ", 2) for line in lines[POINTS_BEGIN:])
    return {topic: int(offset) for topic, _, offset in rows}


def cut_topic(log: Path, topic: str, offset: int) -> None:
    """Remove the batches of a topic that hold records from an offset on."""
    for segment in segments(log, topic):
        if int(segment.stem) >= offset and int(segment.stem):
            segment.unlink()
            continue
        kept = [batch.end for batch in batches(segment) if batch.next_offset <= offset]
        os.truncate(segment, max(kept, default=0))
    for pattern in MADE_ANEW:
        for file in (log / f"{topic}-0").glob(pattern):
            file.unlink()


def forget_good_order(log: Path) -> None:
    """Let the broker look through all segments at its next start, as behind a power cut."""
    for name in GOOD_ORDER:
        (log / name).unlink(missing_ok=True)
