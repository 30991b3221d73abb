"""Imports of a Delta table that was replaced: it has another id since."""

from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.errors import TableExistsError
from tests.sdk.delta_logs import (
    PROTOCOL,
    TABLE_ID,
    Action,
    add,
    begin,
    info,
    metadata,
    write_checkpoint,
    write_log,
    write_version,
)

NAME = "flights"


def test_replaced(ledger: Ledger, tmp_path: Path) -> None:
    """It is known by the id that it has since, and by the first one while that is there."""
    replaced = metadata(table="another")
    log: list[list[Action]] = [begin(), [info("REPLACE TABLE", blind=False), replaced, add("a")]]
    import_delta(ledger, write_log(tmp_path, *log), NAME)
    write_checkpoint(tmp_path, f"{1:020}.checkpoint.parquet", [PROTOCOL, replaced, add("a")])
    for version in (0, 1):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()

    write_version(tmp_path, 2, [add("b")])
    cleaned = import_delta(ledger, tmp_path, NAME)
    write_version(write_log(tmp_path, *log), 3, [add("c")])
    whole = import_delta(ledger, tmp_path, NAME)

    assert [(each.versions, each.version) for each in (cleaned, whole)] == [(1, 2), (1, 3)]
    assert ledger.read(NAME).paths == ["a", "b", "c"]


@pytest.mark.parametrize("table", [TABLE_ID, "another"])
def test_checkpoint_is_ahead(ledger: Ledger, tmp_path: Path, table: str) -> None:
    """Clean-up may leave versions before the oldest checkpoint: an import goes on with those."""
    begun: list[Action] = [info("REPLACE TABLE", blind=False), metadata(table=table), add("a")]
    import_delta(ledger, write_log(tmp_path, begin(), begun), NAME)
    write_log(tmp_path, [add("b")], [add("c")], [add("d")], first=2)
    state = [PROTOCOL, metadata(table=table), *map(add, "abc")]
    write_checkpoint(tmp_path, f"{3:020}.checkpoint.parquet", state)
    for version in (0, 1):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()

    found = import_delta(ledger, tmp_path, NAME)

    assert (found.versions, found.version) == (3, 4)
    assert ledger.read(NAME).paths == ["a", "b", "c", "d"]


def test_made_anew(ledger: Ledger, tmp_path: Path) -> None:
    """Another table in its place is another one, though the first was replaced before."""
    import_delta(ledger, write_log(tmp_path, begin(), [metadata(table="another")]), NAME)
    write_log(tmp_path, begin(table="third"), [add("a")], [add("b")])

    with pytest.raises(TableExistsError, match=r"the log at .* would be .*third@0"):
        import_delta(ledger, tmp_path, NAME)


def test_made_anew_while_followed(ledger: Ledger, tmp_path: Path) -> None:
    """Also where it is made between two looks at a log that is followed."""
    stop = Signal()
    write_log(tmp_path, begin(), [add("a")])

    def make_anew(done: int, _newest: int) -> None:
        if done == 2:
            stop.set()
        if done == 1:
            (tmp_path / "_delta_log").rename(tmp_path / "before")
            write_log(tmp_path, begin(table="third"), [add("b")], [add("c")])

    with pytest.raises(TableExistsError, match=r"the log at .* would be .*third@0"):
        import_delta(
            ledger, tmp_path, NAME, follow=True, stop=stop, poll_s=0.01, progress=make_anew
        )

    assert ledger.read(NAME).paths == ["a"]
