"""The fold of the metadata cache: what is kept, what is let go, and whom it refuses."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.core.commands import Property, TableDefinition
from ledger.core.limits import DROPS_REMEMBERED_MAX
from ledger.core.state.domain import DomainState
from ledger.reads.metadata import OBJECT_PREFIX, TABLE, Name, Reason, TableMetadata, objects_of
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.entry import EXACT_MAX, Entry
from projections.cache.entries.ids import NO_IDS, ReaderIds, lowered
from projections.cache.entries.steps import Changed, ChangedAtOnce, Effect, Ended
from projections.cache.fold import VERSIONS_MAX, CacheState
from projections.cache.ports import EntryRead, StoreAnswer
from tests.driver import CATALOG
from tests.projections.cache_play import MultiVersion, OneVersion
from tests.projections.followed import Followed

T: Name = (CATALOG, "t")


def made(word: str) -> TableDefinition:
    return TableDefinition("managed", "listed", word, (), (), ())


def ids(hwm: int, *exceptions: int) -> ReaderIds:
    return lowered(hwm, exceptions)


class Scene:
    """A domain with one managed table, and a cache that has all of it."""

    def __init__(self) -> None:
        self.domain = Followed()
        self.session = self.domain.open_session()
        self.table = self.domain.create_table(self.session, "t", made=made("v0"))
        self.cache = bootstrap(DomainState())
        self.catch_up()

    def catch_up(self) -> None:
        """Apply every event; those applied before are passed over."""
        for event in self.domain.events:
            self.cache.apply(event)

    def alter(self, word: str, *, txn: int = 0) -> None:
        self.domain.alter_table(self.session, self.table, made(word), "ALTER", txn=txn)

    def read(self, reader: ReaderIds | None, **how: Any) -> tuple[str | None, Reason]:
        answer = self.cache.read(EntryRead(T, reader, **how))
        found = answer.value
        place = found.definition.location if isinstance(found, TableMetadata) else None
        return place, answer.reason

    def stored(self, word: str, **how: Any) -> StoreAnswer:
        """Return what a store says of the table."""
        found: dict[str, Any] = {
            "position": self.domain.head.position,
            "is_settled": True,
            "is_current": True,
            "name": T,
            "objects": objects_of(made(word)),
        }
        return StoreAnswer(table=self.table, **{**found, **how})


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_applying_an_event_names_the_tables_with_new_metadata(scene: Scene) -> None:
    txn = scene.domain.open_txn(scene.session)
    scene.domain.allocate(scene.session, [txn], [scene.table])
    scene.alter("v1", txn=txn)
    scene.domain.commit(scene.session, txn)
    new = scene.domain.events[-4:]

    assert [scene.cache.apply(event) for event in new] == [set(), set(), {1}, {1}]
    assert [scene.cache.apply(event) for event in new] == [set()] * 4


def test_who_cannot_be_answered_is_told_why(scene: Scene) -> None:
    writer = scene.domain.open_txn(scene.session)
    scene.alter("v1", txn=writer)
    scene.alter("v2")
    scene.catch_up()
    later = scene.domain.head.position + 1

    assert scene.read(ids(2)) == (None, "pending")
    assert scene.read(ids(3, 1)) == (None, "ahead_of_cache")
    assert scene.read(ids(3, 1, 2)) == (None, "incomparable")
    assert scene.read(ids(2, 1), token=later) == (None, "token")
    assert scene.read(ids(2, 1), table=7) == (None, "id_mismatch")
    assert scene.read(None) == (None, "null_list")
    assert scene.read(ids(2, 1), what="partition:day=1") == (None, "absent")
    assert scene.read(ids(2, 1)) == ("v2", "hit")


def test_an_id_that_has_lost_its_name_is_refused(scene: Scene) -> None:
    """The id may be right and the name of another time: then the store is to say."""
    scene.domain.rename_table(scene.session, scene.table, "r")
    scene.catch_up()

    assert scene.read(ids(0), table=scene.table) == (None, "id_mismatch")
    assert scene.read(ids(0)) == (None, "absent")


@pytest.mark.parametrize(
    "refused", [{"is_settled": False}, {"position": 1}, {"name": None}, {"objects": None}]
)
def test_what_may_be_wrong_is_not_kept(scene: Scene, refused: dict[str, Any]) -> None:
    scene.cache.evict(scene.table)

    kept = scene.cache.fill(EntryRead(T, NO_IDS), scene.stored("v0", **refused))

    assert not kept
    assert scene.read(NO_IDS) == (None, "absent")


def test_what_its_owner_sees_is_not_kept(scene: Scene) -> None:
    scene.cache.evict(scene.table)

    assert not scene.cache.fill(EntryRead(T, ids(1), own_txn=1, token=1), scene.stored("v1"))
    assert scene.read(ids(1)) == (None, "absent")


def test_what_is_current_begins_an_entry(scene: Scene) -> None:
    waiting = scene.domain.open_txn(scene.session)
    scene.alter("v1", txn=waiting)
    scene.alter("v2")
    scene.cache.evict(scene.table)
    kept = scene.cache.fill(EntryRead(T, ids(2, 1)), scene.stored("v2"))
    scene.catch_up()
    before = scene.read(ids(2, 1))
    scene.domain.tidy(txns=[waiting])
    scene.alter("v3")
    scene.catch_up()

    assert kept
    assert before == ("v2", "hit")
    assert scene.read(ids(3, 1)) == ("v3", "hit")
    assert scene.read(ids(2, 1)) == ("v2", "hit_old_version")


def test_what_is_old_is_kept_for_its_list_alone(scene: Scene) -> None:
    """Events between the cache and the store would not fit what a list between them sees."""
    scene.alter("v1")
    scene.alter("v2")
    scene.cache.evict(scene.table)
    kept = scene.cache.fill(EntryRead(T, ids(1)), scene.stored("v1", is_current=False))
    scene.catch_up()

    assert kept
    assert scene.read(ids(1)) == ("v1", "hit")
    assert scene.read(ids(2)) == (None, "absent")


def test_what_is_kept_for_lists_is_bounded(scene: Scene) -> None:
    scene.cache.evict(scene.table)
    for hwm in range(1, EXACT_MAX + 2):
        scene.cache.fill(EntryRead(T, ids(hwm)), scene.stored(f"v{hwm}", is_current=False))
    found = [scene.read(ids(hwm))[0] for hwm in (1, 2, EXACT_MAX + 1)]
    scene.cache.evict(scene.table)

    assert found == [None, "v2", f"v{EXACT_MAX + 1}"]
    assert scene.read(ids(2)) == (None, "absent")


def test_an_old_name_is_an_old_version(scene: Scene) -> None:
    txn = scene.domain.open_txn(scene.session)
    scene.domain.rename_table(scene.session, scene.table, "r", txn=txn)
    scene.domain.commit(scene.session, txn)
    scene.catch_up()

    assert scene.read(NO_IDS) == ("v0", "hit_old_version")


def test_a_change_at_once_ends_what_was_kept(scene: Scene) -> None:
    scene.cache.evict(scene.table)
    scene.cache.fill(EntryRead(T, ids(1)), scene.stored("v1", is_current=False))
    scene.domain.rename_table(scene.session, scene.table, "r")
    scene.catch_up()

    assert scene.cache.read(EntryRead(None, ids(1), scene.table)).reason == "absent"


def test_old_versions_are_cut(scene: Scene) -> None:
    for word in ("v1", "v2", "v3"):
        scene.alter(word)
    scene.catch_up()
    scene.cache.cut(scene.table, ids(2))

    found = [scene.read(ids(hwm)) for hwm in range(4)]

    assert found == [
        (None, "before_floor"),
        (None, "before_floor"),
        ("v2", "hit_old_version"),
        ("v3", "hit"),
    ]


def test_a_table_altered_ever_again_keeps_its_newest_versions(scene: Scene) -> None:
    for number in range(1, VERSIONS_MAX + 11):
        scene.alter(f"v{number}")
    scene.catch_up()

    assert scene.read(ids(VERSIONS_MAX + 10)) == (f"v{VERSIONS_MAX + 10}", "hit")
    assert scene.read(ids(11)) == ("v11", "hit_old_version")
    assert scene.read(ids(10)) == (None, "before_floor")


def test_eviction_keeps_what_cannot_be_read_again(scene: Scene) -> None:
    txn = scene.domain.open_txn(scene.session)
    scene.alter("v1", txn=txn)
    scene.catch_up()
    scene.cache.evict(scene.table)
    scene.cache.fill(EntryRead(T, ids(1, 1)), scene.stored("v0"))
    scene.domain.commit(scene.session, txn)
    scene.catch_up()

    assert scene.read(ids(1)) == ("v1", "hit")
    assert scene.read(NO_IDS) == ("v0", "hit_old_version")


def test_a_creation_that_is_aborted_leaves_nothing(scene: Scene) -> None:
    txn = scene.domain.open_txn(scene.session)
    created = scene.domain.create_table(scene.session, "u", txn=txn, made=made("u0"))
    scene.catch_up()
    before = created in scene.cache.entries
    scene.domain.abort(scene.session, txn)
    scene.catch_up()

    assert before
    assert created not in scene.cache.entries


def test_dropped_tables_are_forgotten_in_the_end() -> None:
    cache = CacheState()
    create = Effect(T, objects_of(made("v0")), creates=True)
    told: list[frozenset[int]] = []
    for table in range(1, DROPS_REMEMBERED_MAX + 3):
        cache.apply_step(2 * table, ChangedAtOnce(table, create))
        told.append(cache.apply_step(2 * table + 1, ChangedAtOnce(table, Effect(drops=True))))

    last = DROPS_REMEMBERED_MAX + 2
    assert told[-3:] == [{last - 2}, {last - 1, 1}, {last, 2}]
    assert len(cache.entries) == DROPS_REMEMBERED_MAX
    assert cache.names.takers(T) == ()


def cut_behind(scene: Scene) -> None:
    """Let go of what the table was before its newest version."""
    entry = scene.cache.entries[scene.table]
    scene.cache.cut(scene.table, ReaderIds.of(entry.ids.listed()))


def filled_anew(scene: Scene) -> None:
    scene.cache.evict(scene.table)
    assert scene.cache.fill(
        EntryRead(None, ids(1), scene.table), scene.stored("v0", name=(CATALOG, "r"))
    )


@pytest.mark.parametrize("renew", [cut_behind, filled_anew])
def test_names_go_with_the_history(scene: Scene, renew: Callable[[Scene], None]) -> None:
    txn = scene.domain.open_txn(scene.session)
    scene.domain.rename_table(scene.session, scene.table, "r", txn=txn)
    scene.domain.commit(scene.session, txn)
    scene.catch_up()
    renew(scene)
    found = [scene.cache.names.takers((CATALOG, name)) for name in ("t", "r")]
    scene.cache.remove(scene.table)

    assert found == [(), (scene.table,)]
    assert scene.read(ids(1)) == (None, "absent")


def anew(scene: Scene) -> MultiVersion:
    """Return a cache that begins after the table was dropped."""
    return MultiVersion(scene.domain.state)


def anew_with_one_version(scene: Scene) -> OneVersion:
    return OneVersion(scene.domain.state)


def forgetful(scene: Scene) -> MultiVersion:
    """Return a cache that let go of the table in the end."""
    cache = MultiVersion(DomainState())
    for event in scene.domain.events:
        cache.apply(event)
    cache.cache.remove(scene.table)
    return cache


@pytest.mark.parametrize("begun", [anew, anew_with_one_version, forgetful])
def test_ids_of_a_table_that_is_gone_are_passed_over(
    scene: Scene, begun: Callable[[Scene], MultiVersion | OneVersion]
) -> None:
    txns = [scene.domain.open_txn(scene.session) for _ in range(3)]
    scene.domain.allocate(scene.session, txns, [scene.table])
    scene.domain.drop_table(scene.session, scene.table)
    subject = begun(scene)
    for txn in reversed(txns):
        subject.apply(scene.domain.abort(scene.session, txn))

    assert subject.cache.entries == {}


def test_changes_without_objects_are_missed(scene: Scene) -> None:
    late = CacheState()
    late.apply_step(9, Changed(scene.table, 5, 1, 1, Effect(objects=objects_of(made("v1")))))
    late.apply_step(10, Ended(scene.table, 5, 1, 1, committed=True))
    create = Effect(T, objects_of(made("v0")), creates=True)
    late.apply_step(3, ChangedAtOnce(scene.table, create))

    assert late.read(EntryRead(T, ids(1))).reason == "absent"


def test_objects_that_a_change_leaves_take_up_no_memory(scene: Scene) -> None:
    stats = Property(OBJECT_PREFIX + "stats:a", "long ago")
    for word in ("v1", "v2"):
        definition = made(word)._replace(properties=[stats])
        scene.domain.alter_table(scene.session, scene.table, definition, "ALTER")
    scene.catch_up()
    states = scene.cache.entries[scene.table].states
    assert states is not None
    first, second = (version.content for version in states.versions[-2:])

    assert first is not None
    assert second is not None
    assert first["stats:a"] is second["stats:a"]
    assert first[TABLE] != second[TABLE]


@pytest.mark.parametrize(
    "key", ["object.", "object.table", "object.name", "object.a\0b", "subject"]
)
def test_other_properties_stay_with_the_table(key: str) -> None:
    definition = made("v0")._replace(properties=[Property(key, "x")])

    assert objects_of(definition) == {TABLE: definition._replace(properties=(Property(key, "x"),))}


def test_an_empty_entry_answers_nobody() -> None:
    assert Entry(1).find(TABLE, NO_IDS, 0).reason == "absent"
