"""Commits file by file: what they are refused for, and what their parts say when they win.

Who loses against whom stands in `test_conflicts`. The refusals stand in the order they are checked.
"""

from typing import Any

import pytest

from ledger.core.commands import AppVersion, CommitTxn, TableWrite
from ledger.core.outcomes import Reason
from tests.core.parts import part
from tests.core.scene import MISSING, Refusal, Scene, check_refusal, last, row_name

AHEAD = 1_000_000


def commit(scene: Scene, txn: int, *parts: TableWrite, level: str = "") -> CommitTxn:
    """Return ada's commit of a txn."""
    return CommitTxn(*scene.asks(scene.ada), txn, parts, level)


def batch(table: int, version: int, **others: Any) -> TableWrite:
    """Return an append that records the progress of the loader."""
    return part(table, apps=[AppVersion("loader", version)], **others)


REFUSALS = [
    Refusal(
        Reason.COMMAND_INVALID,
        "'Dirty' is no isolation level",
        lambda s: commit(s, s.others, part(MISSING, read_at=AHEAD), level="Dirty"),
    ),
    Refusal(
        Reason.READ_AT_AHEAD,
        "which is the newest",
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
        Reason.TABLE_EXTERNAL,
        "table weather is external",
        lambda s: commit(s, 0, part(s.weather, remove=["a"])),
        lambda s: s.weather,
    ),
    Refusal(
        Reason.WRITE_ID_REQUIRED,
        "files of table planes lie under their write id",
        lambda s: commit(s, 0, part(s.planes, remove=["a"])),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.READ_AT_REQUIRED,
        "names the position it was planned from",
        lambda s: commit(s, 0, part(s.flights, remove=["a"])),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(s, 0, part(s.flights, read_at=s.floor - 1)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.APP_VERSIONS_DISAGREE,
        "some tables of this commit have the application's version already",
        lambda s: last(
            s.commit(s.ada, 0, batch(s.flights, 7)),
            commit(s, s.mine, batch(s.flights, 7), batch(s.planes, 7)),
        ),
    ),
]


@pytest.mark.parametrize("row", REFUSALS, ids=row_name)
def test_refused(row: Refusal) -> None:
    """A commit that may not be judged is refused with the first reason, and its txn stays open."""
    check_refusal(row)
