"""Bytes on the wire: they are what they were, they come back whole, and damage is noticed."""

import json
from contextlib import suppress
from importlib.resources import files
from io import BytesIO
from itertools import pairwise
from typing import Any, get_args

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.core.acceptance import AFTER_CHAIN, RecordKind
from ledger.core.commands import Command, Unreadable
from ledger.core.events.events import Body, Control, Event, Fenced
from ledger.errors import IncompatibleError
from ledger.log.wire.codec import (
    UnreadableError,
    decode_command,
    decode_event,
    encode_command,
    frame_event,
    frame_fence,
    read_control,
    record_kind,
)
from ledger.log.wire.published_schemas import COMMAND_IDS, EVENT_IDS
from tests.core.scene import plain as listed
from tests.log.golden import (
    CHAIN_BEFORE,
    COMMANDS,
    CONTROL,
    EVENTS,
    EXAMPLES,
    SECOND,
    encoded,
    golden,
)
from tests.log.strategies import records_of

SCHEMAS = files("ledger.log").joinpath("schemas")
INDEX: dict[str, int] = json.loads(SCHEMAS.joinpath("index.json").read_text())
EVENT_TYPES = {kind.__name__: kind for kind in get_args(Body)}
COMMAND_TYPES = {kind.__name__: kind for kind in get_args(Command) if kind is not Unreadable}
# The types with a second schema, which adds fields at the end of some records.
# Opaque within events; its bytes have tests of their own.
FILE_LISTS = {"FileList", "FileList.2"}
SECOND_OF = {name.removesuffix(".2"): name for name in {*INDEX} - FILE_LISTS if name.endswith(".2")}
EVENT_TYPES |= {SECOND_OF[name]: EVENT_TYPES[name] for name in EVENT_TYPES.keys() & SECOND_OF}
COMMAND_TYPES |= {SECOND_OF[name]: COMMAND_TYPES[name] for name in COMMAND_TYPES.keys() & SECOND_OF}
ALL = {**EVENT_TYPES, **COMMAND_TYPES}
ORDINARY_EVENTS = sorted(EVENT_TYPES.keys() - {"Fenced"})
HEADER = 5
# A busy machine is no failure.
PATIENT = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def schema_of(name: str) -> Any:
    return json.loads(SCHEMAS.joinpath(f"{name}.avsc").read_text())


def event(name: str) -> Event:
    return decode_event(golden(name))


# Golden bytes.


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_fixed_value_of_each_type_has_the_bytes_it_always_had(name: str) -> None:
    assert encoded(EXAMPLES[name]).hex() == golden(name).hex()


@pytest.mark.parametrize("name", sorted(COMMAND_TYPES))
def test_the_bytes_of_each_command_give_the_value_they_were_made_of(name: str) -> None:
    decoded = decode_command(golden(name))
    assert (type(decoded), decoded) == (COMMAND_TYPES[name], EXAMPLES[name])


@pytest.mark.parametrize("name", ORDINARY_EVENTS)
def test_the_bytes_of_each_event_give_its_body(name: str) -> None:
    decoded = decode_event(golden(name))
    assert (type(decoded.body), decoded.body) == (EVENT_TYPES[name], EXAMPLES[name])
    assert decoded.control._replace(chain=bytes(8)) == CONTROL
    assert decoded == frame_event(CONTROL, EXAMPLES[name], CHAIN_BEFORE)[0]


def test_golden_fence_decodes() -> None:
    """A Fenced travels without a chain: its place is assigned by the reader."""
    assert decode_event(golden("Fenced")) == Event(CONTROL, EXAMPLES["Fenced"])


@pytest.mark.parametrize("name", sorted(ALL))
def test_any_avro_reader_that_has_the_published_schema_reads_the_bytes(name: str) -> None:
    schema = parse_schema(schema_of(name))
    body = BytesIO(golden(name)[HEADER:])
    written = BytesIO()
    schemaless_writer(written, schema, schemaless_reader(body, schema, None))
    assert written.getvalue() == golden(name)[HEADER:]
    assert int.from_bytes(golden(name)[:HEADER], "big") == INDEX[name]


def test_every_type_has_all_it_needs() -> None:
    suffixes = {"avsc": SCHEMAS, "hex": files("tests.log").joinpath("golden")}
    found = {
        suffix: {
            each.name.removesuffix(f".{suffix}")
            for each in folder.iterdir()
            if each.name.endswith(f".{suffix}")
        }
        for suffix, folder in suffixes.items()
    }
    assert found["avsc"] == set(INDEX) == {*ALL, *FILE_LISTS}
    assert found["hex"] == set(EXAMPLES) == set(ALL)


# Round trips of any value.


@pytest.mark.parametrize("name", sorted(COMMAND_TYPES))
@PATIENT
@given(data=st.data())
def test_any_command_comes_back(name: str, data: st.DataObject) -> None:
    command = data.draw(records_of(COMMAND_TYPES[name]))
    decoded = decode_command(encode_command(command))
    assert (type(decoded), decoded) == (type(command), command)


@pytest.mark.parametrize("name", ORDINARY_EVENTS)
@PATIENT
@given(data=st.data(), control=records_of(Control), before=st.binary(min_size=8, max_size=8))
def test_any_event_comes_back(
    name: str, data: st.DataObject, control: Control, before: bytes
) -> None:
    body = data.draw(records_of(EVENT_TYPES[name]))
    made, framed = frame_event(control, body, before)
    # A first schema lacks the last fields of a part: they are the empty tuples of its type.
    assert listed(decode_event(framed)) == listed(made)
    assert made == Event(control._replace(chain=made.control.chain), body)
    assert read_control(framed) == (made.control, record_kind(framed))


@PATIENT
@given(control=records_of(Control), body=records_of(Fenced))
def test_any_fence_comes_back(control: Control, body: Fenced) -> None:
    assert decode_event(frame_fence(control, body)) == Event(control._replace(chain=bytes(8)), body)


@pytest.mark.parametrize("name", ORDINARY_EVENTS)
def test_the_chain_changes_with_body_control_and_what_came_before(name: str) -> None:
    body = EXAMPLES[name]
    changes: list[dict[str, Any]] = [{field: 2} for field in Control._fields[1:]]
    framings = [
        (CONTROL, body, CHAIN_BEFORE),
        (CONTROL, body, bytes(8)),
        (CONTROL, EXAMPLES["Resigned"]._replace(sequencer="other"), CHAIN_BEFORE),
        *[(CONTROL._replace(**change), body, CHAIN_BEFORE) for change in changes],
    ]
    chains = {frame_event(*framing)[0].control.chain for framing in framings}
    assert len(chains) == len(framings)


# Damage.


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_an_event_that_lost_its_end_however_little_is_unreadable(name: str) -> None:
    framed = golden(name)
    for length in range(len(framed)):
        with pytest.raises(UnreadableError):
            decode_event(framed[:length])


@pytest.mark.parametrize("name", sorted(COMMAND_TYPES))
def test_a_command_that_lost_its_end_is_unreadable_with_its_asker(name: str) -> None:
    framed, asker = golden(name), EXAMPLES[name][:3]
    cut = [decode_command(framed[:length]) for length in range(len(framed))]
    assert {type(each) for each in cut} == {Unreadable}
    askers = [tuple(each[:3]) for each in cut]
    assert askers == sorted(askers, key=lambda found: found == asker)
    assert askers[0] == (0, 0, 0)
    assert askers[-1] == asker or name == "CloseSession"


def unreadable(name: str, reason: str) -> Unreadable:
    """Return what becomes of a command of which only the asker can be read."""
    session, n, not_after = EXAMPLES[name][:3]
    return Unreadable(session, n, not_after, reason)


def test_bytes_behind_a_record_are_damage_too_in_events_and_commands_alike() -> None:
    with pytest.raises(UnreadableError, match="1 bytes follow a TxnCommitted"):
        decode_event(golden("TxnCommitted") + b"\0")
    found = decode_command(golden("CommitTxn") + b"\0")
    assert found == unreadable("CommitTxn", "1 bytes follow a CommitTxn")


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
@given(data=st.data())
@PATIENT
def test_changed_events(name: str, data: st.DataObject) -> None:
    """An event with a changed byte is unreadable, of no known type, or read; the chain judges."""
    damaged = bytearray(golden(name))
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    with suppress(UnreadableError, IncompatibleError):
        assert isinstance(decode_event(bytes(damaged)), Event)


@settings(PATIENT, max_examples=500)
@given(
    schema_id=st.one_of(st.sampled_from(sorted(INDEX.values())), st.integers(0, 2**32 - 1)),
    magic=st.sampled_from([b"\0", b"\1", b""]),
    body=st.binary(max_size=200),
)
def test_random_bytes(schema_id: int, magic: bytes, body: bytes) -> None:
    """Whatever bytes come, a command is returned, and an event or one of two errors."""
    framed = magic + schema_id.to_bytes(4, "big") + body
    assert isinstance(decode_command(framed), get_args(Command))
    with suppress(UnreadableError, IncompatibleError):
        assert isinstance(decode_event(framed), Event)


@pytest.mark.parametrize(
    "framed",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0\x0b", id="too-short"),
        pytest.param(b"\1" + golden("TxnCommitted")[1:], id="other-framing"),
        pytest.param(golden("CommitTxn"), id="a-command"),
        pytest.param(b'{"type": "commit"}', id="json"),
    ],
)
def test_what_is_no_event_of_a_ledger_is_unreadable_its_control_fields_too(framed: bytes) -> None:
    with pytest.raises(UnreadableError):
        decode_event(framed)
    with pytest.raises(UnreadableError):
        read_control(framed)


def with_id(framed: bytes, schema_id: int) -> bytes:
    """Return a framed record under another schema id."""
    return framed[:1] + schema_id.to_bytes(4, "big") + framed[HEADER:]


def test_an_unknown_type_in_the_range_of_events_asks_for_an_update() -> None:
    framed = with_id(golden("TxnCommitted"), EVENT_IDS[-1])
    with pytest.raises(IncompatibleError, match=f"position 1000 has schema {EVENT_IDS[-1]}"):
        decode_event(framed)
    assert read_control(framed) == (event("TxnCommitted").control, RecordKind.ORDINARY)


def test_an_unknown_type_in_the_range_of_commands_is_answered_to_its_session() -> None:
    found = decode_command(with_id(golden("CommitTxn"), COMMAND_IDS[-1]))
    reason = f"schema {COMMAND_IDS[-1]} is no known command"
    assert found == unreadable("CommitTxn", reason)


@pytest.mark.parametrize("rest", [b"", b"\xff\xff", b"\xff" * 10 + bytes(60)])
def test_first_numbers_that_cannot_be_read(rest: bytes) -> None:
    found = decode_command(golden("CommitTxn")[:HEADER] + rest)

    assert isinstance(found, Unreadable)
    assert found[:3] == (0, 0, 0)
    with pytest.raises(UnreadableError):
        read_control(golden("TxnCommitted")[:AFTER_CHAIN] + rest)


def test_an_unknown_schema_id_names_no_asker() -> None:
    found = decode_command(with_id(golden("CommitTxn"), 5))
    assert found == Unreadable(0, 0, 0, "schema 5 is no known command")


SPECIAL = {
    "Fenced": RecordKind.FENCED,
    "CommandsMoved": RecordKind.COMMANDS_MOVED,
    "LogCut": RecordKind.LOG_CUT,
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [*SPECIAL.items()]
    + [(name, RecordKind.ORDINARY) for name in ORDINARY_EVENTS if name not in SPECIAL],
)
def test_the_schema_id_alone_tells_how_an_event_takes_part(name: str, kind: RecordKind) -> None:
    assert record_kind(golden(name)) is kind
    assert read_control(golden(name))[1] is kind


def test_no_two_examples_have_the_same_bytes() -> None:
    framings = sorted(golden(name) for name in EXAMPLES)
    assert all(left != right for left, right in pairwise(framings))
    assert len(framings) == len(COMMANDS) + len(EVENTS) + len(SECOND)
