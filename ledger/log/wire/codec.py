"""Bytes on the wire: Confluent framing around one Avro record schema per type.

A value is `0x00`, the schema id as 4 bytes big-endian, and the Avro body. The id alone identifies
the type: a union of types would cost several times more to write and to read. The ids and schemas
are part of the package, so no registry is needed. Every event begins with the fields of `Control`,
which can be read without the rest.

A type may have a second schema, which adds fields. A record that has no value in these fields keeps
the first one: its bytes stay as they were, and older readers take it.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from types import ModuleType
from typing import Any, Final, NamedTuple, cast, get_args, get_origin, get_type_hints

from ledger.core import commands
from ledger.core.acceptance import AFTER_CHAIN, CHAIN_AT, NO_CHAIN, RecordKind, next_chain
from ledger.core.commands import Command, TableDefinition, Unreadable
from ledger.core.events import events
from ledger.core.events.events import Body, Control, Event
from ledger.core.events.parts import CommittedPart
from ledger.core.limits import COMMAND_RECORD_BYTES_MAX
from ledger.errors import IncompatibleError
from ledger.log.wire.avro_rows import Write, longs_bytes, read_longs, row_writer
from ledger.log.wire.packed_definitions import packed, unpacked
from ledger.log.wire.published_schemas import COMMAND_IDS, EVENT_IDS, coding_schema, schema_ids

MAGIC = 0
HEADER = struct.Struct(">BI")
DEFINITION: Final = "definition"
SECOND: Final = ".2"
CONTROL_FIELDS: Final = len(Control._fields)

Convert = Callable[[Any], Any]
Row = tuple[Any, ...]

# fastavro's type says "any message"; a record is returned as the dict of its fields.
ReadFields = Callable[[BytesIO, Any, None], dict[str, Any]]


class UnreadableError(Exception):
    """Bytes that no schema of this package can decode."""


class Shape(NamedTuple):
    """The encoding of one type: its header, its Avro schema, and the fields with nested records.

    `read` reads everything after the header by `schema`. `write` encodes the type's own fields. The
    control fields of an event come before them: the chain, and then longs.
    """

    header: bytes
    schema: Any
    read: ReadFields
    write: Write
    make: Callable[..., Any]
    inward: tuple[tuple[int, Convert], ...]


def nested_record(annotation: Any) -> tuple[type | None, bool]:
    """Return the record type inside a field's annotation, and whether the field is a sequence."""
    if get_origin(annotation) is not None and getattr(get_origin(annotation), "__name__", "") == (
        "Sequence"
    ):
        inner, _ = nested_record(get_args(annotation)[0])
        return inner, True
    options = [each for each in get_args(annotation) if each is not type(None)]
    if options and hasattr(options[0], "_fields"):
        return options[0], False
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return annotation, False
    return None, False


def conversions(kind: type) -> list[tuple[int, Convert]]:
    """Return, by the index of a field, the conversion of its dicts to records."""
    inward: list[tuple[int, Convert]] = []
    for at, annotation in enumerate(get_type_hints(kind).values()):
        record, many = nested_record(annotation)
        if record is not None:
            convert = record_converter(record)
            inward.append((at, many_of(convert) if many else optional(convert)))
    return inward


def record_converter(record: type) -> Convert:
    """Return a function that turns the dict of one nested record into the record."""
    inward = conversions(record)
    if not inward:
        return lambda fields: record(*fields.values())
    if record is TableDefinition:
        return lambda fields: unpacked(TableDefinition(*converted(fields, inward)))

    def convert(fields: dict[str, Any]) -> Row:
        return cast("Row", record(*converted(fields, inward)))

    return convert


def converted(fields: dict[str, Any], inward: list[tuple[int, Convert]]) -> list[Any]:
    """Return the values of a record, with nested dicts converted to records."""
    values = [*fields.values()]
    for at, into in inward:
        # A first schema lacks the last fields.
        if at < len(values):
            values[at] = into(values[at])
    return values


def many_of(convert: Convert) -> Convert:
    """Return the conversion of a list, given the conversion of its members."""
    return lambda rows: [convert(row) for row in rows]


def optional(convert: Convert) -> Convert:
    """Return the conversion of a value that may be None."""
    return lambda row: None if row is None else convert(row)


def shape_of(name: str, header: bytes, kind: type, leading: tuple[str, ...]) -> Shape:
    """Return the shape of a type; `leading` names the control fields before its own."""
    from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 - loaded with the first schema

    whole = coding_schema(name)
    names = leading + cast("tuple[str, ...]", kind._fields)  # type: ignore[attr-defined]
    assert [field["name"] for field in whole["fields"]] == list(names), f"{name}.avsc differs"
    assert len(set(names)) == len(names), f"{name} repeats a control field"
    schema = cast("dict[str, Any]", parse_schema(whole))
    write = row_writer({**schema, "fields": schema["fields"][len(leading) :]})
    return Shape(
        header,
        schema,
        cast("ReadFields", schemaless_reader),
        packing(write) if DEFINITION in names else write,
        kind,
        tuple((len(leading) + at, convert) for at, convert in conversions(kind)),
    )


def packing(write: Write) -> Write:
    """Return the encoder of a record with a table definition, which packs a large definition."""
    return lambda row: write(row._replace(definition=packed(row.definition)))


def kinds_by_header(module: ModuleType, ids: range) -> dict[bytes, type]:
    """Return the types of a module whose schema ids are in a range, by their header."""
    return {
        HEADER.pack(MAGIC, schema_id): getattr(module, name.removesuffix(SECOND))
        for name, schema_id in schema_ids().items()
        if schema_id in ids
    }


EVENTS: Final = kinds_by_header(events, EVENT_IDS)
COMMANDS: Final = kinds_by_header(commands, COMMAND_IDS)
SECOND_HEADER_OF: Final = {
    getattr(module, name.removesuffix(SECOND)): HEADER.pack(MAGIC, schema_id)
    for module, ids in ((events, EVENT_IDS), (commands, COMMAND_IDS))
    for name, schema_id in schema_ids().items()
    if name.endswith(SECOND) and schema_id in ids
}
"""The header of the second schema of each type that has one."""

HEADER_OF: Final = {
    kind: header
    for header, kind in (EVENTS | COMMANDS).items()
    if header != SECOND_HEADER_OF.get(kind)
}
"""The header of the first schema of each type of event and command."""


class Shapes(dict[bytes, Shape]):
    """The shapes by header; a schema is parsed at its first use.

    Parsing all of them takes longer than most commands run.
    """

    def __missing__(self, header: bytes) -> Shape:
        kind = EVENTS.get(header) or COMMANDS[header]
        leading = Control._fields if header in EVENTS else ()
        is_second = header == SECOND_HEADER_OF.get(kind)
        name = f"{kind.__name__}{SECOND}" if is_second else kind.__name__
        shape = self[header] = shape_of(name, header, kind, leading)
        return shape


SHAPES: Final = Shapes()
KINDS: Final = {
    events.Fenced: RecordKind.FENCED,
    events.CommandsMoved: RecordKind.COMMANDS_MOVED,
    events.LogCut: RecordKind.LOG_CUT,
}
SPECIAL: Final = {HEADER_OF[kind]: role for kind, role in KINDS.items()}


def shape_for(record: Any) -> Shape:
    """Return the shape of a command or of the body of an event: the first one that holds it."""
    kind = type(record)
    if kind in SECOND_HEADER_OF and any(map(has_rows, NESTED[kind](record))):
        return SHAPES[SECOND_HEADER_OF[kind]]
    return SHAPES[HEADER_OF[kind]]


def has_rows(part: Any) -> bool:
    """Return whether the part of a table says anything row by row."""
    footprint: commands.Footprint | None = part.footprint
    if footprint is not None and footprint.rows is not None:
        return True
    return isinstance(part, CommittedPart) and bool(part.translated or part.left_out)


NESTED: Final[Mapping[type, Callable[[Any], Sequence[Any]]]] = {
    commands.CommitTxn: lambda command: command.tables,
    commands.StageWrites: lambda command: (command,),
    events.WritesStaged: lambda body: (body,),
    events.TxnCommitted: lambda body: [*body.parts, *body.reads],
    events.TxnAborted: lambda body: body.attempted,
}
"""What may have rows in the types with a second schema."""


def read_framed(shape: Shape, framed: bytes) -> list[Any]:
    """Return the field values of a framed record in schema order; raises UnreadableError."""
    body = BytesIO(framed)
    body.seek(HEADER.size)
    try:
        values = [*shape.read(body, shape.schema, None).values()]
    except Exception as error:
        name = shape.make.__name__
        raise UnreadableError(f"{len(framed)} bytes are no {name}: {error!r}") from error
    if body.tell() != len(framed):
        raise UnreadableError(f"{len(framed) - body.tell()} bytes follow a {shape.make.__name__}")
    try:
        for at, convert in shape.inward:
            values[at] = convert(values[at])
    except ValueError as error:
        name = shape.make.__name__
        raise UnreadableError(f"{len(framed)} bytes are no {name}: {error}") from error
    return values


def schema_id_of(framed: bytes) -> int:
    """Return the schema id of a framed value; raises UnreadableError."""
    if len(framed) < HEADER.size or framed[0] != MAGIC:
        raise UnreadableError(f"{len(framed)} bytes do not begin with the header of a record")
    return int.from_bytes(framed[1:5], "big")


def encode_command(command: Command) -> bytes:
    """Return the framed bytes of a command."""
    shape = shape_for(command)
    return shape.header + shape.write(command)


def decode_command(framed: bytes) -> Command:
    """Return the command, or `Unreadable` for bytes that cannot be decoded; never raises."""
    if len(framed) > COMMAND_RECORD_BYTES_MAX:
        # The topic bounds a record as it is kept; a packed one may be far larger.
        most = f"a command must have {COMMAND_RECORD_BYTES_MAX} bytes at most"
        return Unreadable(0, 0, 0, f"{most}, got {len(framed)}")
    kind = COMMANDS.get(framed[: HEADER.size])
    try:
        if kind is None:
            return unreadable(framed, f"schema {schema_id_of(framed)} is no known command")
        command: Command = kind(*read_framed(SHAPES[framed[: HEADER.size]], framed))
    except UnreadableError as error:
        return unreadable(framed, str(error))
    return command


def unreadable(framed: bytes, reason: str) -> Unreadable:
    """Return an unreadable command, with session and number if these first fields are readable."""
    try:
        if schema_id_of(framed) not in COMMAND_IDS:
            return Unreadable(0, 0, 0, reason)
        session, n, not_after = read_longs(framed, HEADER.size, 3)
    except (UnreadableError, IndexError, OverflowError):
        return Unreadable(0, 0, 0, reason)
    return Unreadable(session, n, not_after, reason)


def frame_event(control: Control, body: Body, chain: bytes) -> tuple[Event, bytes]:
    """Return the event with its chain after `chain`, and its framed bytes."""
    shape = shape_for(body)
    behind_chain = control[1:]
    rest = longs_bytes(behind_chain) + shape.write(body)
    own = next_chain(chain, shape.header, rest)
    return Event(Control(own, *behind_chain), body), shape.header + own + rest


def frame_fence(control: Control, body: events.Fenced) -> bytes:
    """Return the framed bytes of a Fenced; the fold assigns its position and chain."""
    shape = shape_for(body)
    return shape.header + NO_CHAIN + longs_bytes(control[1:]) + shape.write(body)


def read_control(framed: bytes) -> tuple[Control, RecordKind]:
    """Return the control fields of an event, also of an unknown type in the range of events.

    Raises UnreadableError for any other bytes.
    """
    schema_id = schema_id_of(framed)
    if schema_id not in EVENT_IDS:
        raise UnreadableError(f"schema {schema_id} is not an event")
    try:
        longs = read_longs(framed, AFTER_CHAIN, CONTROL_FIELDS - 1)
    except (IndexError, OverflowError) as error:
        raise UnreadableError(f"{len(framed)} bytes are too few for an event: {error!r}") from error
    return Control(framed[CHAIN_AT:AFTER_CHAIN], *longs), record_kind(framed)


def decode_event(framed: bytes) -> Event:
    """Return the event with the control fields that the record holds.

    Raises UnreadableError for damaged bytes, IncompatibleError for a type of a later version.
    """
    kind = EVENTS.get(framed[: HEADER.size])
    if kind is None:
        control, _ = read_control(framed)
        raise IncompatibleError(
            f"the event at position {control.position} has schema {schema_id_of(framed)}, which "
            "this version does not know; update this reader"
        )
    values = read_framed(SHAPES[framed[: HEADER.size]], framed)
    return Event(Control(*values[:CONTROL_FIELDS]), kind(*values[CONTROL_FIELDS:]))


def record_kind(framed: bytes) -> RecordKind:
    """Return the kind of a framed event for the accept rule."""
    return SPECIAL.get(framed[: HEADER.size], RecordKind.ORDINARY)
