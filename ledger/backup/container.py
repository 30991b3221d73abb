"""The data files: Avro object container files, one Avro record for each record of the topic.

Any reader of Avro can open them. `key` and `value` are the bytes in Kafka, so they hold the framing
of the ledger. `position` and `chain` are the log's after the record; a record that does not count
changes neither.
"""

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any, Final, NamedTuple, cast

from fastavro import parse_schema, reader, writer

SYNC_BYTES: Final = 16
BLOCK_BYTES: Final = 1024 * 1024
# Events are small and alike: the quickest level already halves them.
DEFLATE_LEVEL: Final = 1
SCHEMA: Final = parse_schema(
    {
        "type": "record",
        "namespace": "io.lakeledger",
        "name": "BackupRecord",
        "doc": "One record of the events topic of a ledger.",
        "fields": [
            {"name": "offset", "type": "long", "doc": "Its offset in the topic it was read from."},
            {
                "name": "timestamp",
                "type": "long",
                "doc": "When the broker appended it, in milliseconds since 1970.",
            },
            {"name": "key", "type": "bytes"},
            {"name": "value", "type": "bytes"},
            {
                "name": "position",
                "type": "long",
                "doc": "The position of the log behind this record.",
            },
            {
                "name": "chain",
                "type": {"type": "fixed", "name": "Chain", "size": 8},
                "doc": "The chain of the log behind this record.",
            },
        ],
    }
)
LEDGER_KEY: Final = "lakeledger.ledger"
FIRST_KEY: Final = "lakeledger.first_position"


class Copied(NamedTuple):
    """One record of the topic, and the log's position and chain after it."""

    offset: int
    timestamp: int
    key: bytes
    value: bytes
    position: int
    chain: bytes


class Opened(NamedTuple):
    """The header of a data file, and the records in it."""

    ledger: str
    first_position: int
    records: list[Copied]


def container_bytes(
    ledger: str, first_position: int, marker: bytes, records: Sequence[Copied]
) -> bytes:
    """Return a data file; equal records and marker give equal bytes."""
    data = BytesIO()
    rows: Iterable[dict[str, Any]] = (record._asdict() for record in records)
    writer(
        data,
        SCHEMA,
        rows,
        codec="deflate",
        sync_interval=BLOCK_BYTES,
        metadata={LEDGER_KEY: ledger, FIRST_KEY: str(first_position)},
        sync_marker=marker[:SYNC_BYTES].ljust(SYNC_BYTES, b"\0"),
        codec_compression_level=DEFLATE_LEVEL,
    )
    return data.getvalue()


def open_container(data: bytes) -> Opened:
    """Return the content of a data file; raises ValueError for other bytes."""
    try:
        opened = reader(BytesIO(data))
        ledger, first_position = opened.metadata[LEDGER_KEY], int(opened.metadata[FIRST_KEY])
        records = [Copied(**cast("dict[str, Any]", row)) for row in opened]
    except Exception as error:
        raise ValueError(f"its bytes are not a data file of a backup ({error!r})") from error
    return Opened(ledger, first_position, records)
