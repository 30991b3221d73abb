"""Definitions of tables on the wire: large ones are packed, and come back as they were."""

import zlib
from base64 import b64encode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.core.commands import Column, CreateTable, Property, TableDefinition, Unreadable
from ledger.core.events.events import TableCreated
from ledger.core.limits import COMMAND_RECORD_BYTES_MAX, DEFINITION_BYTES_MAX
from ledger.log.wire.codec import decode_command, decode_event, encode_command, frame_event
from ledger.log.wire.packed_definitions import PACK_FROM_CHARS, PACKED_KEY, packed, unpacked
from tests.log.golden import CONTROL

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
COLUMNS = st.lists(st.builds(Column, TEXTS, TEXTS, st.booleans(), st.integers(0, 9), TEXTS))
KEYS = TEXTS | st.just(PACKED_KEY)
PROPERTIES = st.lists(st.builds(Property, KEYS, TEXTS | st.just("é" * PACK_FROM_CHARS)), max_size=3)


def defined(columns: list[Column], properties: list[Property]) -> TableDefinition:
    return TableDefinition("managed", "listed", "file:///t", columns, [], properties)


def created(definition: TableDefinition) -> CreateTable:
    return CreateTable(1, 2, 3, 0, 0, "main", "t", definition)


# A busy machine is no finding.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(COLUMNS, PROPERTIES)
def test_comes_back(columns: list[Column], properties: list[Property]) -> None:
    """Whatever a definition says is the same behind the wire, also by the key of packed ones."""
    command = created(defined(columns, properties))
    body = TableCreated(1, 1, 1, 0, "main", "t", command.definition)
    event, framed = frame_event(CONTROL, body, bytes(8))

    assert decode_command(encode_command(command)) == command
    assert decode_event(framed) == event


def test_a_table_of_20_000_commented_columns_takes_a_fraction_of_a_record() -> None:
    comment = '{"comment": "lorem ipsum dolor sit amet, "}'
    columns = [
        Column(f"column_number_{n}", "string", nullable=True, id=n, metadata=comment)
        for n in range(20_000)
    ]
    framed = encode_command(created(defined(columns, [])))

    assert len(framed) < 500_000
    assert decode_command(framed) == created(defined(columns, []))


def test_small_ones_travel_as_they_are() -> None:
    small = defined([Column("a", "int", nullable=True, id=1)], [Property("k", "v")])
    huge = defined([], [Property("k", "x" * (DEFINITION_BYTES_MAX + 1))])

    assert packed(small) is small
    assert packed(huge) is huge


def packed_json(text: str) -> str:
    """Return the value of the property under which a definition of this JSON travels."""
    return b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "text",
    [
        "%",
        "",
        b64encode(b"no zlib").decode(),
        packed_json("no json"),
        packed_json("[]"),
        packed_json("[[],[[1,2]]]"),
        packed_json("[[],[[1]]]"),
        packed_json('[[["a","int",1,1,""]],[]]'),
        packed_json('[[["a","int",true,9223372036854775808,""]],[]]'),
        packed_json('[[["\\ud800","int",true,1,""]],[]]'),
        packed_json(f'[[],[["k","{"x" * DEFINITION_BYTES_MAX}"]]]'),
    ],
)
def test_no_packed_definition(text: str) -> None:
    odd = defined([], [Property(PACKED_KEY, text)])
    almost = encode_command(created(defined([], [Property(PACKED_KEY.upper(), text)])))

    with pytest.raises(ValueError, match="is malformed"):
        unpacked(odd)
    found = decode_command(almost.replace(PACKED_KEY.upper().encode(), PACKED_KEY.encode()))
    assert isinstance(found, Unreadable)


def test_a_command_that_is_larger_than_its_topic_allows_once_unpacked_is_not_decoded() -> None:
    framed = encode_command(created(defined([], []))) + bytes(COMMAND_RECORD_BYTES_MAX)
    told = f"a command must have {COMMAND_RECORD_BYTES_MAX} bytes at most, got {len(framed)}"
    assert decode_command(framed) == Unreadable(0, 0, 0, told)
