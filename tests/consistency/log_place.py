"""The last position of a log, read from the broker's files by the rule that docs/events.md states.

It is there to judge a cut by something else than what `lakeledger recover` answers, so it takes no
code of the ledger. Chains are not computed: the files are of a broker that no program damaged.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.integration.power.segments import HEADER_BYTES, LENGTH_END, segments

SCHEMAS: Final = Path(__file__).parents[2] / "ledger/log/schemas/index.json"
ATTRIBUTES_AT: Final = 21
COUNT_AT: Final = 57
CONTROL_BATCH: Final = 0x20
BODY_AT: Final = 5
CHAIN_BYTES: Final = 8


def last_position(log: Path, topic: str) -> int:
    """Return the position of the last record of the events that counts, 0 for none."""
    ids = json.loads(SCHEMAS.read_text(encoding="utf-8"))
    epoch = position = 0
    for segment in segments(log, topic):
        for value in values(segment.read_bytes()):
            kind = int.from_bytes(value[1:BODY_AT], "big")
            its_epoch, at = varint(value, BODY_AT + CHAIN_BYTES)
            its_position, _ = varint(value, at)
            if kind == ids["Fenced"]:
                if its_epoch > epoch:
                    epoch, position = its_epoch, position + 1
            elif kind == ids["LogCut"]:
                if its_epoch > epoch and its_position > position:
                    epoch, position = its_epoch, its_position
            elif (its_epoch, its_position) == (epoch, position + 1):
                position += 1
    return position


def values(data: bytes) -> Iterator[bytes]:
    """Yield the values of the records of a segment; a batch that is not whole ends it."""
    begin = 0
    while begin + HEADER_BYTES <= len(data):
        [length] = struct.unpack_from(">i", data, begin + LENGTH_END - 4)
        end = begin + LENGTH_END + length
        if length <= 0 or end > len(data):
            return
        [attributes] = struct.unpack_from(">h", data, begin + ATTRIBUTES_AT)
        [number] = struct.unpack_from(">i", data, begin + COUNT_AT)
        at = begin + HEADER_BYTES
        for _ in range(0 if attributes & CONTROL_BATCH else number):
            bytes_of_record, at = varint(data, at)
            yield value_of(data, at)
            at += bytes_of_record
        begin = end


def value_of(data: bytes, at: int) -> bytes:
    """Return the value of the record whose fields begin at a place."""
    _, at = varint(data, at + 1)  # One byte of attributes, then the time.
    _, at = varint(data, at)  # The offset.
    for _ in range(2):  # The key, then the value; -1 is null.
        length, at = varint(data, at)
        found, at = data[at : at + max(length, 0)], at + max(length, 0)
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, as Kafka and Avro write it, and the place behind it."""
    shift = found = 0
    while True:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
        shift += 7
