"""A vacuum deletes no file because it knew too little: old rows, clocks, other mounts."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.definitions.client_reads import open_log
from ledger.files.storage import storage_at
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic, records_between
from ledger.tables.appending import AppendTarget, NewRows
from ledger.tables.vacuum import BATCH, Vacuum
from ledger.testing import InMemoryLedger, open_channel
from tests.tables.cleaned_files import TABLE, Files, Watched, in_words

DAYS_MS = 8 * 24 * 3_600_000


@pytest.fixture
def files(ledger: Ledger, tmp_path: Path) -> Files:
    return Files(ledger, tmp_path / "flights")


def test_rows_that_stay_behind(memory: InMemoryLedger, files: Files) -> None:
    """A vacuum over rows that do not reach the end of the log stops, says so, deletes nothing."""
    files.put("a.parquet")
    then = MemoryLog()
    end = memory.log.ends(Topic.EVENTS)[1]
    writer = then.writer(Topic.EVENTS)
    for each in records_between(memory.log, Topic.EVENTS, 0, end):
        writer.append(each.key, each.value)
    stale = open_log(then)
    files.add("a.parquet")

    impatient = ClientSettings(timeout_s=0.5)
    for is_all in (False, True):
        cleaner = Ledger(
            memory.log, open_reads=lambda: stale, settings=impatient, open_channel=open_channel
        )
        with cleaner, pytest.warns(UserWarning, match="the vacuum stopped"):
            found = (
                cleaner.vacuum_all(older_than_h=0.0)
                if is_all
                else [cleaner.vacuum(files.row, older_than_h=0.0)]
            )
        assert isinstance(found[0].stopped_by, errors.ReaderBehindError)
        assert not found[0].files
    stale.close()
    assert files.names() == {"a.parquet"}


def test_a_commit_after_the_list(files: Files) -> None:
    """The rows come to the end of the log after the list: what is committed by then stays."""
    names = [files.put(f"{number}.parquet") for number in range(3)]
    looks = iter(range(9))

    def look() -> int:
        if next(looks) == 0:
            files.add(names[1])
        return 0

    found = Vacuum(files.ledger.reads(), files.row, 0, look=look).run(dry_run=True)
    assert [file.path for file in found.files] == [names[0], names[2]]


@pytest.mark.parametrize("batch", range(3))
def test_a_commit_between_choice_and_delete(files: Files, batch: int) -> None:
    names = [files.put(f"{number:04}.parquet") for number in range(2 * BATCH + 1)]
    wanted = names[min(len(names) - 1, batch * BATCH + BATCH // 2)]
    looks = iter(range(9))

    def look() -> int:
        # The first look comes before the choice, and one before each batch.
        if next(looks) == batch + 1:
            files.add(wanted)
        return 0

    gone = Vacuum(files.ledger.reads(), files.row, 0, look=look).run()
    assert wanted in files.names()
    assert [file.path for file in gone.files] == [name for name in names if name != wanted]


def test_a_dry_run_does_not_show_a_file_that_is_committed_meanwhile(files: Files) -> None:
    names = [files.put(f"{number}.parquet") for number in range(4)]
    live: set[str] = set()

    def commit(called: str) -> None:
        if called == "file_paths" and not live:
            live.update(names[:3])
            files.add(*live)

    reads: Any = Watched(files.ledger.reads(), commit)
    found = Vacuum(reads, files.row, 0).run(dry_run=True)
    assert in_words(found) == [(names[3], "orphan")]


@pytest.mark.parametrize("hours", [0.0, 168.0])
def test_an_append_under_way_keeps_its_file_from_a_vacuum(files: Files, hours: float) -> None:
    old = files.put("old.parquet")
    later = files.ledger.begin("read_only").opened_at + DAYS_MS
    target = AppendTarget(files.row, "", lambda *_: range(0))
    under_way = NewRows(target, target.batches([{"tail": "N1"}]), "")

    found = Vacuum(files.ledger.reads(), files.row, hours, later).run()
    assert in_words(found) == [(old, "orphan")]
    assert "differ by 192." in found.note
    files.ledger.append(TABLE, under_way.files)
    assert files.ledger.scan(TABLE).count() == 1


def test_ages_are_counted_from_the_earlier_of_two_clocks(files: Files) -> None:
    for name in ("removed.parquet", "orphan.parquet"):
        files.put(name, 48 * 3_600)
    files.add("removed.parquet")
    files.remove("removed.parquet")
    now = files.ledger.begin("read_only").opened_at
    work = Vacuum(files.ledger.reads(), files.row, 0, look=lambda: now - DAYS_MS)
    assert in_words(work.run()) == []


def test_names_that_are_not_text(files: Files) -> None:
    (files.folder / "inner").mkdir()
    for folder in (files.folder, files.folder / "inner"):
        with open(os.path.join(os.fsencode(folder), b"a\xff.parquet"), "wb"):  # noqa: PTH118, PTH123
            pass
    orphan = files.put("orphan.parquet")

    assert in_words(files.vacuum()) == [(orphan, "orphan")]
    assert len(list(files.folder.rglob("a*.parquet"))) == 2
    with pytest.raises(errors.UnreadableTableError, match="must be UTF-8"):
        list(storage_at(files.location).list())


MOUNTED = """
import os, subprocess, sys, tempfile
from pathlib import Path
from ledger.testing import InMemoryLedger

folder = Path(sys.argv[1])
def mounted(source, target):
    for each in (source, target):
        (folder / each).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", folder / source, folder / target], check=True)

mounted("a", "other")
mounted("b", "c/inner")
with InMemoryLedger() as memory:
    ledger = memory.connect()
    made = {"same": "a", "alias": "other", "inside": "other/sub", "far": "b/t", "around": "c"}
    for name, place in made.items():
        ledger.create_table(name, [("id", "bigint")], location=str(folder / place))
        ledger.append(name, [{"id": 1}])
    for each in folder.rglob("*.parquet"):
        os.utime(each, (0, 0))
    gone = [file for each in made for file in ledger.vacuum(each, older_than_h=0.0).files]
    gone += [file for each in ledger.vacuum_all(older_than_h=0.0) for file in each.files]
    rows = sum(ledger.scan(each).count() for each in made)
    print(rows, "rows", gone)
"""


@pytest.mark.integration
def test_live_files_stay_where_two_locations_are_one_folder(tmp_path: Path) -> None:
    enter = ["unshare", "--mount", "--map-root-user"]
    if which("unshare") is None or subprocess.run([*enter, "true"], check=False).returncode:
        pytest.skip("this user may not mount")
    command = [*enter, sys.executable, "-c", MOUNTED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["5 rows []"], done.stderr
