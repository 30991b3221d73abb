"""What is recorded of the place of a backup leads there from any folder, and tells no login."""

from contextlib import chdir
from pathlib import Path

import pytest

from ledger.backup.place import FolderPlace, open_place
from ledger.backup.s3_urls import without_login


@pytest.mark.parametrize(("given", "below"), [("bk", "bk"), ("./bk", "bk"), ("a/../bk", "a/../bk")])
def test_a_folder_is_named_from_the_root_on(tmp_path: Path, given: str, below: str) -> None:
    (tmp_path / "a").mkdir()
    with chdir(tmp_path):
        place = open_place(given)
        place.write("file", b"bytes")
    assert place.path == str(tmp_path / below)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    with chdir(elsewhere):
        assert open_place(place.path).read("file") == place.read("file") == b"bytes"
    assert isinstance(place, FolderPlace)


def test_a_folder_of_the_user_is_named_whole() -> None:
    assert open_place("~/bk").path == str(Path.home() / "bk")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("/backups/lake", "/backups/lake"),
        ("s3://bucket/lake/", "s3://bucket/lake"),
        ("s3://key:secret@bucket/lake", "s3://bucket/lake"),
        ("s3://key:se@cret@bucket", "s3://bucket"),
        ("s3://bucket/lake?region=eu-central-1", "s3://bucket/lake?region=eu-central-1"),
        (
            "s3://key:secret@bucket/p?scheme=http&endpoint_override=host:9000&secret_key=hidden",
            "s3://bucket/p?scheme=http&endpoint_override=host:9000",
        ),
    ],
)
def test_a_path_is_shown_without_a_login(given: str, shown: str) -> None:
    assert without_login(given) == shown
    assert without_login(shown) == shown
