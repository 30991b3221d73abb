"""A disk that is full, or refuses otherwise: each verb says so by name, and leaves no file behind.

The disks are real: a small one is mounted, or made read only, in a process of its own.
"""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from ledger.errors import DiskFullError, StorageError
from ledger.errors.storage import refusals_named
from tests.sources import ROOT
from tests.tables.refusing_disk import FAULTS, VERBS

MOUNTING: Final = ("unshare", "--mount", "--map-root-user")
UNABLE: Final = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
SAID: Final[Mapping[str, Sequence[str]]] = {
    "full": ("No space left on device", "Make room"),
    "read-only": ("Read-only file system", "Mount the disk for writing"),
    "rights": ("Permission denied", "Give this user rights"),
    "size": ("File too large", "ulimit -f"),
}
ROWS: Final = {"append": 10, "insert": 10, "overwrite": 4, "delete": 6}
"""The rows of a table after a verb; other verbs keep the 8 rows."""


@cache
def ran(fault: str) -> Mapping[str, Any]:
    """Return what a program tells that met a fault, verb by verb; skip if it cannot be made."""
    needs = {"full": MOUNTING, "read-only": MOUNTING, "rights": UNABLE}.get(fault, ())
    if fault == "rights" and os.getuid():
        needs = ()
    if needs:
        works = which(needs[0]) and not subprocess.run([*needs, "true"], check=False).returncode
        if not works:
            pytest.skip(f"this user may not run {needs[0]}")
    with TemporaryDirectory() as folder:
        command = [*needs, sys.executable, "-m", "tests.tables.refusing_disk", fault, folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fault", "verb"), [(fault, verb) for fault in FAULTS for verb in ("append", *VERBS)]
)
def test_the_error_names_the_file_the_table_and_what_is_safe(fault: str, verb: str) -> None:
    told = ran(fault)[verb]
    assert told["error"] == ("DiskFullError" if fault == "full" else "StorageError"), told["said"]
    what, advice = SAID[fault]
    for each in (f"/{verb}/part=", ".parquet", what, advice):
        assert each in told["said"]
    if verb == "append":
        assert "for table db.append, and nothing was committed" in told["said"]
    else:
        assert f"for table db.{verb}, and txn {told['txn']} has nothing of" in told["said"]
    assert told.get("status", "open") == "open"
    assert told["left"] == []
    assert told["rows"] == ROWS.get(verb, 8)


@pytest.mark.integration
@pytest.mark.parametrize("fault", FAULTS)
def test_a_publisher_stops_a_table_by_name_and_tries_again(fault: str) -> None:
    told = ran(fault)["publish"]
    for each in ("/published/_delta_log/0000", *SAID[fault], "goes on by itself"):
        assert each in told["said"]
    assert (told["is_retried"], told["left"]) == (True, [])
    assert told["stopped"] == []
    assert [each[:21] for each in told["log"]] == [
        *(["00000000000000000005."] * 2),
        "_last_checkpoint",
    ]


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.ENOSPC, DiskFullError, "No space left"),
        (errno.EDQUOT, DiskFullError, "quota"),
        (errno.EROFS, StorageError, "Mount"),
        (errno.EPERM, StorageError, "rights"),
        (errno.EACCES, StorageError, "rights"),
        (errno.EMFILE, StorageError, "ulimit -n"),
        (errno.ENFILE, StorageError, "fs.file-max"),
        (errno.EFBIG, StorageError, "ulimit -f"),
        (errno.EIO, StorageError, "the disk"),
        (errno.ENOTDIR, StorageError, "endpoint"),
    ],
)
def test_numbers(number: int, kind: type[StorageError], said: str) -> None:
    """Each refusal of the operating system has its class and its advice."""
    with (
        pytest.raises(kind, match=rf"^/lake/f cannot be .*{said}") as found,
        refusals_named("/lake/f"),
    ):
        raise OSError(number, os.strerror(number), "/lake/f")
    assert type(found.value) is kind
    assert found.value.place == "/lake/f"
