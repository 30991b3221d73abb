"""Delta logs whose files the system does not let be read, or that are of a newer Delta."""

from pathlib import Path

import pytest

from ledger.delta.log import DeltaLog
from ledger.errors import DeltaLogError, IncompatibleError
from tests.sdk.delta_logs import Action, begin, write_log

VERSION = "00000000000000000001.json"
CHECKPOINT = "00000000000000000001.checkpoint.5f7c2c1e-0000-4000-8000-00000000000a.json"


@pytest.mark.parametrize("name", [VERSION, CHECKPOINT])
def test_an_unreadable_file_is_named_with_its_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / "_delta_log" / name).mkdir(parents=True)
    if name != CHECKPOINT:
        write_log(tmp_path, begin())

    with pytest.raises(DeltaLogError, match=r"it cannot be read: .* Is a directory") as raised:
        list(DeltaLog.open(tmp_path).versions())

    assert raised.value.file.endswith(name)


def test_an_unreadable_folder_is_named_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(DeltaLogError, match=r"it cannot be read: .* File name too long"):
        DeltaLog.open(tmp_path / ("long" * 100))


@pytest.mark.parametrize(
    ("protocol", "what"),
    [
        ({"minReaderVersion": 4, "minWriterVersion": 8}, "protocol version 4, 3 is known"),
        (
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["v2Checkpoint", "b", "a"],
            },
            "not known here: a, b. Take",
        ),
    ],
)
def test_newer_protocol(tmp_path: Path, protocol: Action, what: str) -> None:
    """A table that asks of its readers what is not known is not guessed at, nor called damaged."""
    with pytest.raises(IncompatibleError, match=what):
        list(DeltaLog.open(write_log(tmp_path, begin(), [{"protocol": protocol}])).versions())
