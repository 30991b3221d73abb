"""Law: a damaged Delta log is imported with the live files that deltalake lists, or is refused.

Logs that deltalake wrote are damaged as crashed writers, clean-up jobs and copies damage them. What
deltalake reads is imported, with the same files live. What it refuses is refused by a file of the
log, or imported with the files that the version had before the damage.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.delta.importer import import_delta
from ledger.errors import DeltaLogError
from ledger.testing import InMemoryLedger
from tests.sdk.damaged_logs import LOGS, VERSIONS, Damage, damages, log_of

Files = list[str]


@pytest.fixture(scope="module", params=sorted(LOGS))
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a table without damage."""
    table = tmp_path_factory.mktemp("table")
    LOGS[request.param](table)
    assert DeltaTable(table).version() == VERSIONS - 1
    return table


def names(paths: Sequence[str]) -> Files:
    """Return the names of files, which writers make up once for each."""
    return sorted(unquote(path).rpartition("/")[2] for path in paths)


def listed(table: Path, version: int | None = None) -> tuple[int, Files] | None:
    """Return the version and the files that deltalake reads, None if it refuses the table."""
    try:
        found = DeltaTable(table, version=version)
        return found.version(), names(found.file_uris())
    except (DeltaError, TableNotFoundError, OSError):
        return None


def imported(table: Path) -> tuple[int, Files] | DeltaLogError:
    """Return the version and the files of an import into a new ledger, or its refusal."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        try:
            report = import_delta(ledger, table, "t")
        except DeltaLogError as error:
            return error
        return report.delta_version, names(ledger.read("t").paths)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_an_import_agrees_with_deltalake_or_names_a_file(whole: Path, data: st.DataObject) -> None:
    befell = data.draw(st.lists(damages(log_of(whole)), min_size=1, max_size=3))
    with TemporaryDirectory() as folder:
        table = shutil.copytree(whole, Path(folder) / "t")
        for each in befell:
            each.do(log_of(table))
        theirs, ours = listed(table), imported(table)

        if theirs is None:
            check_refusal(whole, table, befell, ours)
        else:
            assert not isinstance(ours, DeltaLogError), f"{ours}, and deltalake reads {theirs}"
            # A newest version that is empty is not there yet for an import: it has no files.
            assert ours[1] == theirs[1]
            assert ours[0] <= theirs[0]


def check_refusal(
    whole: Path, table: Path, befell: Sequence[Damage], ours: tuple[int, Files] | DeltaLogError
) -> None:
    """See that an import of what deltalake refuses names a file, or has the files of before."""
    if isinstance(ours, DeltaLogError):
        assert Path(ours.file).is_relative_to(table)
    elif not any(each.name.startswith(("append", "cut")) for each in befell):
        assert listed(whole, ours[0]) == ours
