"""Nothing a client sends can stop a ledger: any bytes are answered, by an event fit to be written.

What a client can send is bytes. Here they come from commands of every type with numbers and texts
at the end of their ranges, cut and changed on the way, and from nowhere at all.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.acceptance import Verdict, accept
from ledger.core.commands import Command, CommitTxn, OpenSession, SessionCommand
from ledger.core.decide.decide import decide
from ledger.core.decide.stamp import answer_control
from ledger.core.evolve.evolve import evolve
from ledger.core.invariants import assert_invariants
from ledger.core.limits import WINDOW
from ledger.log.checkpoints import dump, load
from ledger.log.wire.codec import (
    HEADER,
    MAGIC,
    decode_command,
    decode_event,
    encode_command,
    frame_event,
    read_control,
)
from ledger.log.wire.published_schemas import COMMAND_IDS
from tests.core.histories import QUICK
from tests.core.scene import Scene
from tests.driver import CATALOG, NEVER

ID_MAX = 2**63 - 1
NUMBERS = st.one_of(
    st.integers(0, 12), st.sampled_from([-1, 255, ID_MAX, -ID_MAX - 1]), st.integers(0, 60)
)
# A number of a command far ahead costs no more than one nearby, but one that did would take years.
ORDER = st.one_of(st.integers(1, 12), st.sampled_from([0, -1, WINDOW, WINDOW + 30, 10**6]))
TEXTS = st.sampled_from(["flights", "b", "", CATALOG, "x" * 300, "\0", "\U0001f6e9", "a:b"])
SCHEMAS = st.integers(COMMAND_IDS.start - 1, COMMAND_IDS.start + 12) | st.integers(0, 2**32 - 1)
MANY = settings(QUICK, max_examples=25)


def fields(record: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(record)
    drawn = {name: values(hint) for name, hint in hints.items()}
    asked = {"n": ORDER, "session": st.integers(3, 12), "not_after": st.just(NEVER)}
    return st.builds(record, **drawn | {name: asked[name] for name in asked.keys() & hints.keys()})


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a field by its annotation."""
    plain = {int: NUMBERS, str: TEXTS, bool: st.booleans(), bytes: st.binary(max_size=20)}
    if hint in plain:
        return plain[hint]
    if hasattr(hint, "_fields"):
        return fields(hint)
    options = get_args(hint)
    if type(None) in options:
        return st.none() | values(options[0])
    if get_origin(hint) not in (None, Union) and isinstance(options[0], str):
        return st.sampled_from(options)
    return st.lists(values(options[0]), max_size=6)


KINDS = [*get_args(SessionCommand), OpenSession]


@cache
def scene() -> bytes:
    """Return a checkpoint of a scene, in which every kind of command can have an effect."""
    made = Scene()
    return dump(made.state, made.head, 0)


def answer(sent: Iterable[bytes]) -> None:
    """Send bytes to the domain of a scene; each must be answered."""
    state, head, _ = load(scene())
    for framed in sent:
        command = decode_command(framed)
        body = decide(state, command, state.at)
        control = answer_control(state, head, command, body, state.at)
        _, record = frame_event(control, body, head.chain)
        assert accept(head, *read_control(record), record) is Verdict.ACCEPTED
        evolve(state, decode_event(record))
        assert_invariants(state)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@MANY
@given(data=st.data())
def test_any_command_is_answered(kind: type, data: st.DataObject) -> None:
    sent: list[Command] = data.draw(st.lists(fields(kind), min_size=1, max_size=8))

    answer([encode_command(command) for command in sent])


@MANY
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=8), SCHEMAS)
def test_any_bytes_are_answered(bodies: list[bytes], schema_id: int) -> None:
    answer(bodies + [HEADER.pack(MAGIC, schema_id) + body for body in bodies])


@MANY
@given(fields(CommitTxn), st.integers(0, 200), st.integers(0, 255))
def test_damaged_commands_are_answered(command: Command, at: int, byte: int) -> None:
    framed = encode_command(command)
    cut = at % len(framed)

    answer([framed[:cut], framed[:cut] + bytes([byte]) + framed[cut + 1 :], framed + b"more"])
