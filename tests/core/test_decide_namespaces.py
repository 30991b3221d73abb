"""What becomes of namespaces, as tables of refusals and of answers."""

from collections.abc import Sequence

import pytest

from ledger.core.commands import ChangeNamespace, NamespaceAct, Property
from ledger.core.events.events import Event, NamespaceChanged
from ledger.core.limits import NAMESPACE_PROPERTIES_MAX, NAMESPACES_MAX, PROPERTY_CHARS_MAX
from ledger.core.refusals import Reason
from ledger.core.state.namespaces import Namespace
from tests.core.scene import Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import CATALOG

WORDS = [Property("comment", "of the air")]
AHEAD = 1_000_000


def change(
    scene: Scene,
    act: NamespaceAct,
    name: str = "air",
    said: Sequence[Property] = (),
    *,
    read_at: int = 0,
    catalog: str = CATALOG,
) -> ChangeNamespace:
    return ChangeNamespace(*scene.asks(scene.ada), read_at, catalog, name, act, said)


def made(scene: Scene, name: str = "air") -> Event:
    return scene.ask(change(scene, "create", name, WORDS))


REFUSALS = [
    Refusal(
        Reason.READ_AT_AHEAD,
        "the newest position",
        lambda s: change(s, "create", "", read_at=AHEAD, catalog="elsewhere"),
    ),
    Refusal(
        Reason.UNKNOWN_CATALOG,
        "'elsewhere'",
        lambda s: change(s, "create", "", catalog="elsewhere"),
    ),
    *(
        Refusal(
            Reason.COMMAND_INVALID,
            f"got {bad!r}",
            lambda s, bad=bad: change(s, "create", bad),  # type: ignore[misc]
        )
        for bad in ("", "a:b", "a$b", "a\0b", ".", "a.", ".a", "a..b")
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "ascend by key",
        lambda s: change(s, "create", said=[Property("b", ""), Property("a", "")]),
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "must differ",
        lambda s: change(s, "create", said=[Property("a", "1"), Property("a", "2")]),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "100 properties at most",
        lambda s: change(
            s, "create", said=[Property(f"{n:03}", "") for n in range(NAMESPACE_PROPERTIES_MAX + 1)]
        ),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "values of 1000 characters",
        lambda s: change(s, "create", said=[Property("a", "x" * (PROPERTY_CHARS_MAX + 1))]),
    ),
    Refusal(
        Reason.NAMESPACE_EXISTS,
        "there is a namespace air already",
        lambda s: last(made(s), change(s, "create", "AIR")),
    ),
    Refusal(Reason.UNKNOWN_NAMESPACE, "no namespace air", lambda s: change(s, "alter")),
    Refusal(Reason.UNKNOWN_NAMESPACE, "no namespace air", lambda s: change(s, "drop")),
    Refusal(
        Reason.NAMESPACE_NOT_EMPTY,
        "table air.flights is in it",
        lambda s: last(made(s), s.create_table(s.ada, "air.flights"), change(s, "drop")),
    ),
    Refusal(
        Reason.NAMESPACE_NOT_EMPTY,
        "namespace air.north is in it",
        lambda s: last(made(s), made(s, "air.north"), change(s, "drop", "Air")),
    ),
    Refusal(
        Reason.METADATA_CHANGED,
        "read it again",
        lambda s: last(made(s), change(s, "alter", read_at=s.position() - 1)),
    ),
]
test_refusals = refuses(REFUSALS)

ANSWERS = [
    Accepted(
        "a new namespace",
        lambda s: made(s, "air.north"),
        lambda _: NamespaceChanged(0, CATALOG, "air.north", "create", WORDS),
    ),
    Accepted(
        "a namespace that is altered keeps the letters of its name",
        lambda s: last(made(s, "Air"), s.ask(change(s, "alter", "AIR"))),
        lambda _: NamespaceChanged(0, CATALOG, "Air", "alter", []),
    ),
    Accepted(
        "a namespace of a table becomes one of its own when it is altered",
        lambda s: last(s.create_table(s.ada, "air.flights"), s.ask(change(s, "alter", said=WORDS))),
        lambda _: NamespaceChanged(0, CATALOG, "air", "alter", WORDS),
    ),
    Accepted(
        "a dropped namespace has no properties",
        lambda s: last(made(s), s.ask(change(s, "drop", said=WORDS))),
        lambda _: NamespaceChanged(0, CATALOG, "air", "drop", []),
    ),
    Accepted(
        "a table whose name only begins alike lies elsewhere",
        lambda s: last(made(s), s.create_table(s.ada, "airport.flights"), s.ask(change(s, "drop"))),
        lambda _: NamespaceChanged(0, CATALOG, "air", "drop", []),
    ),
]
test_answers = accepts(ANSWERS)


def test_a_ledger_has_a_bounded_number_of_namespaces() -> None:
    scene = Scene()
    for number in range(NAMESPACES_MAX):
        scene.state.namespaces.put(Namespace(CATALOG, f"n{number}", (), 1))

    assert made(scene).body.reason == Reason.LIMIT_EXCEEDED.value  # type: ignore[union-attr]


@pytest.mark.parametrize("act", ["create", "alter"])
def test_a_dropped_namespace_can_be_created_and_not_altered(act: NamespaceAct) -> None:
    scene = Scene()
    made(scene)
    scene.ask(change(scene, "drop"))
    answer = scene.ask(change(scene, act)).body

    assert isinstance(answer, NamespaceChanged) == (act == "create")
