"""Delta logs whose files are there, and that the operating system does not let be read."""

from pathlib import Path

import pytest

from ledger.delta_log import DeltaLog
from ledger.errors import DeltaLogError
from tests.sdk.delta_logs import begin, write_log

VERSION = "00000000000000000001.json"
CHECKPOINT = "00000000000000000001.checkpoint.5f7c2c1e-0000-4000-8000-00000000000a.json"


@pytest.mark.parametrize("name", [VERSION, "_last_checkpoint", CHECKPOINT])
def test_unreadable_files(tmp_path: Path, name: str) -> None:
    """A file that the operating system does not let be read is named, with its reason."""
    (tmp_path / "_delta_log" / name).mkdir(parents=True)
    if name != CHECKPOINT:
        write_log(tmp_path, begin())

    with pytest.raises(DeltaLogError, match=r"it cannot be read: .* Is a directory") as raised:
        list(DeltaLog.open(tmp_path).versions())

    assert raised.value.file.endswith(name)


def test_unreadable_folder(tmp_path: Path) -> None:
    """A folder that the operating system does not let be looked at is named, with its reason."""
    with pytest.raises(DeltaLogError, match=r"it cannot be read: .* File name too long"):
        DeltaLog.open(tmp_path / ("long" * 100))
