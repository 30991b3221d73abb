"""How values of records are written: JSON, and Avro in the framing of a schema registry.

Both give the same objects: msgspec checks the fields against the types of columns.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, Protocol

import msgspec

from ledger.ingest.values.avro import AvroSchemas, FramedAvro
from ledger.ingest.values.field_types import exact, read_from_text
from ledger.ingest.values.row_trial import OF_ROWS

AS_THEY_ARE: Final = (bytes, datetime, date, time, Decimal)

Misfit: Final = (*OF_ROWS, msgspec.MsgspecError)
"""What a value raises that does not fit; errors of text and of Arrow are among them."""


class ValueFormat(Protocol):
    """A form of values."""

    def reader(self, kind: Any) -> Callable[[bytes], Any]:
        """Return a function that reads one value of a kind; it raises one of `Misfit`."""

    def fields(self, data: bytes) -> Mapping[str, Any]:
        """Return the fields of a value, whatever they are."""


class JsonFormat(ValueFormat):
    """Values of JSON."""

    def reader(self, kind: Any) -> Callable[[bytes], Any]:
        decode = msgspec.json.Decoder(kind, dec_hook=exact, float_hook=Decimal).decode

        def read(data: bytes) -> Any:
            # The decoder passes over what it does not need, whatever its bytes are.
            if not data.isascii():
                data.decode()
            return decode(data)

        return read

    def fields(self, data: bytes) -> Mapping[str, Any]:
        return msgspec.json.decode(data, type=dict[str, Any])


class TextFormat(ValueFormat):
    """A text that is one value, such as the number 12 or a date."""

    def reader(self, kind: Any) -> Callable[[bytes], Any]:
        return lambda data: msgspec.convert(
            data.decode(), kind, strict=False, dec_hook=read_from_text
        )

    def fields(self, data: bytes) -> Mapping[str, Any]:
        raise ValueError(f"a text has no fields, got {data[:80]!r}")


class AvroFormat(ValueFormat):
    """Values of Avro, each with the id of its schema."""

    def __init__(self, schemas: AvroSchemas) -> None:
        self._records = FramedAvro(schemas)

    def reader(self, kind: Any) -> Callable[[bytes], Any]:
        read = self._records.read
        return lambda data: msgspec.convert(
            read(data), kind, builtin_types=AS_THEY_ARE, dec_hook=exact
        )

    def fields(self, data: bytes) -> Mapping[str, Any]:
        return msgspec.convert(self._records.read(data), dict[str, Any], builtin_types=AS_THEY_ARE)


def format_named(name: str, schemas: AvroSchemas | None) -> ValueFormat:
    """Return a form by its name."""
    if name == "avro":
        assert schemas is not None, "a mapping with avro names its schemas"
        return AvroFormat(schemas)
    return JsonFormat() if name == "json" else TextFormat()
