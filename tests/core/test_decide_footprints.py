"""Commits file by file: what they are refused for, and what their parts say when they win.

Who loses against whom stands in `test_conflict_rules`. The refusals stand in the order they are
checked: what a row does wrong, the rows above it do wrong as well, as far as one command can.
"""

from typing import Any

import pytest

from ledger.core.commands import AppVersion, CommitTxn, TableWrite
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.core.events.parts import CommittedPart
from ledger.core.refusals import Reason
from tests.core.arena import UNPARTITIONED, Arena
from tests.core.parts import NOTHING, footprint, part, partition
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import write

AHEAD = 1_000_000
BROKEN: dict[str, Any] = {"adds": ["no partition"], "read_at": AHEAD}
ADDED = footprint(adds=["[]"])
REMOVED = footprint("DELETE", remove=["a"])
READ = footprint("", reads_whole=True)


def commit(scene: Scene, txn: int, *parts: TableWrite, level: str = "") -> CommitTxn:
    return CommitTxn(*scene.asks(scene.ada), txn, parts, level)


def batch(table: int, version: int, **others: Any) -> TableWrite:
    """Return an append that records the progress of the loader."""
    return part(table, apps=[AppVersion("loader", version)], **others)


def later(scene: Scene) -> Scene:
    """Return the scene with more winners than are remembered."""
    for _ in range(60):
        scene.commit(
            scene.bob, 0, write(scene.flights, operation="update", read_at=scene.position())
        )
    return scene


REFUSALS = [
    Refusal(
        Reason.COMMAND_INVALID,
        "got 'Dirty'",
        lambda s: commit(s, s.others, part(MISSING, **BROKEN), level="Dirty"),
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: commit(s, s.others, part(MISSING, **BROKEN)),
        lambda s: s.others,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "a partition must be a JSON array",
        lambda s: commit(s, s.reading, part(MISSING, **BROKEN)),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "without a txn must write",
        lambda s: commit(s, 0, part(MISSING, "", read_at=AHEAD)),
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: commit(s, s.reading, part(MISSING, read_at=AHEAD)),
        lambda s: s.reading,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "read_at must be 0 or more, got -1",
        lambda s: commit(s, 0, part(MISSING, read_at=-1)),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.READ_AT_AHEAD,
        "the newest position 30, got",
        lambda s: commit(s, 0, part(MISSING, read_at=s.position() + 1)),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: commit(s, 0, part(MISSING, remove=["a"])),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: commit(s, s.reading, part(MISSING, "", reads_whole=True)),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.TABLE_EXTERNAL,
        "weather is an external table",
        lambda s: commit(s, 0, part(s.weather, remove=["a"])),
        lambda s: s.weather,
    ),
    Refusal(
        Reason.WRITE_ID_REQUIRED,
        "files of table planes",
        lambda s: commit(s, 0, part(s.planes, remove=["a"])),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.READ_AT_REQUIRED,
        "read_at",
        lambda s: commit(s, 0, part(s.flights, remove=["a"])),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.READ_AT_REQUIRED,
        "read_at",
        lambda s: commit(s, 0, part(s.flights, reads=["null"])),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.READ_AT_REQUIRED,
        "read_at",
        lambda s: commit(s, 0, part(s.flights, adds=["[]"], not_blind=True)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.READ_AT_REQUIRED,
        "read_at",
        lambda s: commit(s, 0, part(s.flights), part(s.planes, "", reads_whole=True)),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(s, 0, part(s.flights, read_at=s.floor - 1)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(s, s.mine, part(s.planes, "", reads=["null"], read_at=s.floor - 1)),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(later(s), s.mine, part(s.flights)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.APP_VERSIONS_DISAGREE,
        "got both",
        lambda s: last(
            s.commit(s.ada, 0, batch(s.flights, 7)),
            commit(s, s.mine, batch(s.flights, 7), batch(s.planes, 7)),
        ),
    ),
    Refusal(
        Reason.APP_VERSIONS_DISAGREE,
        "got both",
        lambda s: last(
            s.commit(s.ada, 0, batch(s.flights, 7)),
            commit(s, 0, part(s.flights, apps=[AppVersion("loader", 6), AppVersion("other", 1)])),
        ),
    ),
]
test_refused = refuses(REFUSALS)


def flights(scene: Scene, read_at: int, said: Any, **others: Any) -> CommittedPart:
    """Return the second version of flights, under its second write id."""
    made = CommittedPart(scene.flights, read_at, 2, 2, 0, [], "WriteSerializable", footprint=said)
    return made._replace(**others)


def of_flights(scene: Scene, said: Any, read_at: int = 0) -> TableWrite:
    return TableWrite(scene.flights, read_at, [], said)


ACCEPTED = [
    Accepted(
        "a blind append names no base",
        lambda s: s.commit(s.ada, 0, of_flights(s, ADDED)),
        lambda s: TxnCommitted("default", one_shot=True, parts=[flights(s, 0, ADDED, blind=True)]),
    ),
    Accepted(
        "a blind append in a txn is planned from its snapshot",
        lambda s: s.commit(s.ada, s.mine, of_flights(s, ADDED)),
        lambda s: TxnCommitted(
            "default", one_shot=False, parts=[flights(s, s.snapshot, ADDED, blind=True)]
        ),
    ),
    Accepted(
        "a delete at the floor of what is remembered",
        lambda s: s.commit(s.ada, 0, of_flights(s, REMOVED, s.floor)),
        lambda s: TxnCommitted("default", one_shot=True, parts=[flights(s, s.floor, REMOVED)]),
    ),
    Accepted(
        "a level asked for, in any case",
        lambda s: s.commit(s.ada, 0, of_flights(s, REMOVED, s.seen), level="SERIALIZABLE"),
        lambda s: TxnCommitted(
            "default",
            one_shot=True,
            parts=[flights(s, s.seen, REMOVED, level="Serializable")],
            level="Serializable",
        ),
    ),
    Accepted(
        "a level below that of the table is asked for in vain",
        lambda s: s.commit(s.ada, 0, of_flights(s, ADDED), level="SnapshotIsolation"),
        lambda s: TxnCommitted(
            "default",
            one_shot=True,
            parts=[flights(s, 0, ADDED, blind=True)],
            level="SnapshotIsolation",
        ),
    ),
    Accepted(
        "what only rearranges is judged at the weakest level, whatever is asked for",
        lambda s: s.commit(
            s.ada,
            0,
            of_flights(s, REMOVED._replace(operation="OPTIMIZE", data_change=False), s.seen),
            level="Serializable",
        ),
        lambda s: TxnCommitted(
            "default",
            one_shot=True,
            parts=[
                flights(
                    s,
                    s.seen,
                    REMOVED._replace(operation="OPTIMIZE", data_change=False),
                    level="SnapshotIsolation",
                )
            ],
            level="Serializable",
        ),
    ),
    Accepted(
        "a table only read is no part: it gets no version and no write id",
        lambda s: s.commit(
            s.ada, s.mine, of_flights(s, ADDED), TableWrite(s.planes, s.seen, [], READ)
        ),
        lambda s: TxnCommitted(
            "default",
            one_shot=False,
            parts=[flights(s, s.snapshot, ADDED, blind=True)],
            reads=[TableWrite(s.planes, s.seen, [], READ)],
        ),
    ),
    Accepted(
        "a read-only txn may say what it read",
        lambda s: s.commit(s.ada, s.reading, TableWrite(s.flights, s.seen, [], READ)),
        lambda s: TxnCommitted(
            "read_only", one_shot=False, parts=[], reads=[TableWrite(s.flights, s.seen, [], READ)]
        ),
    ),
    Accepted(
        "a table read in which it holds a write id is a part",
        lambda s: last(
            s.allocate(s.ada, [s.mine], [s.flights]), s.commit(s.ada, s.mine, of_flights(s, READ))
        ),
        lambda s: TxnCommitted("default", one_shot=False, parts=[flights(s, s.snapshot, READ)]),
    ),
    Accepted(
        "units and files in one part",
        lambda s: s.commit(
            s.ada, s.mine, write(s.flights, operation="update")._replace(footprint=ADDED)
        ),
        lambda s: TxnCommitted(
            "default",
            one_shot=False,
            parts=[
                flights(s, s.snapshot, ADDED, writes=write(s.flights, operation="update").writes)
            ],
        ),
    ),
    Accepted(
        "progress that is new",
        lambda s: last(
            s.commit(s.bob, 0, batch(s.planes, 7)), s.commit(s.ada, 0, batch(s.flights, 7))
        ),
        lambda s: TxnCommitted(
            "default",
            one_shot=True,
            parts=[flights(s, 0, batch(s.flights, 7).footprint, blind=True)],
        ),
    ),
]
test_accepted = accepts(ACCEPTED)


def test_files_of_reads_are_not_kept() -> None:
    scene = Scene()
    body: Any = scene.commit(
        scene.ada, scene.reading, of_flights(scene, READ._replace(files=b"some"))
    ).body

    assert body.reads[0].footprint == READ


@pytest.mark.parametrize(
    "said",
    [{"adds": ["[]"]}, {"remove": ["a"]}, {"rows_added": 1}, {"apps": [AppVersion("loader", 1)]}],
)
def test_a_read_does_nothing_else(said: dict[str, Any]) -> None:
    scene = Scene()
    body: Any = scene.commit(scene.ada, scene.mine, part(scene.flights, "", **said)).body

    assert getattr(body, "parts", ["refused"])


def test_nothing_at_all_is_a_version() -> None:
    scene = Scene()
    said = NOTHING._replace(operation="VACUUM END")
    body: Any = scene.commit(scene.ada, 0, of_flights(scene, said, scene.seen)).body

    assert [each.version for each in body.parts] == [2]


@pytest.mark.parametrize("values", [(), ("1", "2")])
def test_files_have_a_value_for_each_partition_column(values: tuple[str, ...]) -> None:
    arena = Arena()
    refused = arena.follows(arena.part(adds=[partition(*values)]))

    assert (refused.reason, refused.subject) == (Reason.COMMAND_INVALID, arena.table)
    assert "partition columns (day)" in refused.message
    assert isinstance(arena.follows(arena.part(adds=[partition("1")])), TxnCommitted)


def test_who_planned_for_other_partition_columns_lost_to_their_change() -> None:
    arena = Arena()
    arena.alters(UNPARTITIONED)
    lost = arena.follows(arena.part(adds=[partition("1")]))

    assert isinstance(lost, TxnAborted)
    assert lost.evidence is not None
    assert lost.evidence.exception == "MetadataChanged"
