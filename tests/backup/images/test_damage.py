"""Damaged and foreign images: each is refused by name, and no row of it is used."""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ledger.backup.errors import BackupError, ImageDamagedError, ImageForeignError
from ledger.backup.images.manifest import ROWS, ImageManifest
from ledger.backup.images.reading import checkpoint_of, verified
from ledger.backup.images.rows_file import digest_of, open_rows_file, rows_bytes, rows_name
from ledger.backup.images.starting import BY_TRIM, NO_IMAGES, StartImages
from ledger.backup.manifest import checksum
from ledger.errors import IncompatibleError, LogTrimmedError, SettingsError
from ledger.machine.exit_codes import ExitCode, exit_code
from projections.cache.following import FollowedEntries
from projections.errors import StoreMissingError
from projections.fold.fold import Fold
from projections.images.beginning import begun_rows, open_begun
from projections.rows.keys import LOG
from projections.store.port import FORMAT_VERSION
from projections.store.rocks_reader import RocksReader
from tests.backup.benches import commit, grow
from tests.backup.images.benches import Host, followed_at, imaged

Damage = Callable[[Path, ImageManifest], None]


def files(image: ImageManifest) -> list[str]:
    return [file.name for file in image.sections[ROWS].files]


def missing(path: Path, image: ImageManifest) -> None:
    (path / files(image)[1]).unlink()


def shortened(path: Path, image: ImageManifest) -> None:
    name = path / files(image)[1]
    name.write_bytes(name.read_bytes()[:-9])


def one_bit(path: Path, image: ImageManifest) -> None:
    name = path / files(image)[1]
    data = bytearray(name.read_bytes())
    data[len(data) // 2] ^= 1
    name.write_bytes(bytes(data))


def swapped(path: Path, image: ImageManifest) -> None:
    first, second = (path / name for name in files(image)[:2])
    first.write_bytes(second.read_bytes())


def no_checkpoint(path: Path, image: ImageManifest) -> None:
    (path / image.sections[ROWS].checkpoint.file.name).unlink()


def rewritten(path: Path, image: ImageManifest) -> dict[str, object]:
    fields = json.loads((path / image.file).read_text())
    del fields["sha256"]
    return dict(fields)


def written(path: Path, image: ImageManifest, fields: dict[str, object]) -> None:
    """Write a manifest with a checksum that fits, as only a person would."""
    text = json.dumps({**fields, "sha256": checksum(fields)})
    (path / image.file).write_text(text)


def out_of_order(path: Path, image: ImageManifest) -> None:
    fields = rewritten(path, image)
    fields["sections"]["rows"]["files"].reverse()  # type: ignore[index]
    written(path, image, fields)


def one_file_less(path: Path, image: ImageManifest) -> None:
    fields = rewritten(path, image)
    fields["sections"]["rows"]["files"].pop(1)  # type: ignore[index]
    written(path, image, fields)


def other_checkpoint(path: Path, image: ImageManifest) -> None:
    fields = rewritten(path, image)
    rows = fields["sections"]["rows"]  # type: ignore[index]
    rows["checkpoint"]["file"] = rows["files"][0]
    written(path, image, fields)


def changed_manifest(path: Path, image: ImageManifest) -> None:
    text = (path / image.file).read_text()
    (path / image.file).write_text(text.replace(image.ledger, "ledger-9"))


def no_json(path: Path, image: ImageManifest) -> None:
    (path / image.file).write_bytes(b"\xff{")


def renamed(path: Path, image: ImageManifest) -> None:
    (path / image.file).rename(path / image.file.replace("-0", "-1", 1))


DAMAGES = (
    *(missing, shortened, one_bit, swapped, no_checkpoint, out_of_order, one_file_less),
    *(other_checkpoint, changed_manifest, no_json, renamed),
)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    grow(made.driver, [commit] * 8)
    made.back_up()
    return made


def names_of(error: Exception) -> str:
    return getattr(error, "file", "")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_image_is_named(host: Host, tmp_path: Path, damage: Damage) -> None:
    path = tmp_path / "backup"
    damage(path, host.image())
    with pytest.raises(ImageDamagedError) as refused:
        verified(host.place, host.image())
    assert names_of(refused.value) in str(refused.value)
    assert exit_code(refused.value) is ExitCode.UNHEALTHY
    asked = StartImages(host.place.path, is_asked=True)
    with pytest.raises(ImageDamagedError):
        open_begun(host.log, tmp_path / "new", asked)
    with RocksReader.open(tmp_path / "new") as rows:
        assert rows.get(LOG) is None


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_trimmed_log_says_why_it_cannot_be_read(
    host: Host, tmp_path: Path, damage: Damage
) -> None:
    mark = host.trim()
    damage(tmp_path / "backup", host.image())
    with pytest.raises(LogTrimmedError, match=mark.archive) as refused:
        begun_rows(host.log, tmp_path / "new", BY_TRIM)
    assert isinstance(refused.value.__cause__, ImageDamagedError)
    assert "--image" in str(refused.value)
    with pytest.raises(StoreMissingError):
        RocksReader.open(tmp_path / "new")


def replaced(path: Path, form: dict[str, Any], *, with_digest: bool) -> None:
    """Let a file of rows hold another value in its last row, as a person would who may write."""
    *rows, (key, value) = open_rows_file((path / form["name"]).read_bytes())
    forged = [*rows, (key, value + b" ")]
    data = rows_bytes(forged)
    form["size"], form["sha256"] = len(data), sha256(data).hexdigest()
    if with_digest:
        form["digest"] = digest_of(forged)
        form["name"] = rows_name(form["digest"])
    (path / form["name"]).write_bytes(data)


def forge(
    path: Path, image: ImageManifest, *, with_digest: bool = True, checkpoint: bool = False
) -> None:
    """Forge an image so that all checksums in the backup fit."""
    fields: dict[str, Any] = rewritten(path, image)
    rows = fields["sections"]["rows"]
    if checkpoint:
        replaced(path, rows["checkpoint"]["file"], with_digest=with_digest)
    else:
        replaced(path, rows["files"][0], with_digest=with_digest)
        digests = "".join(file["digest"] for file in rows["files"])
        rows["digest"] = sha256(digests.encode()).hexdigest()
    written(path, image, fields)


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("with_digest", [False, True])
def test_no_image_takes_the_place_of_the_one_that_a_trim_verified(
    host: Host, tmp_path: Path, *, checkpoint: bool, with_digest: bool
) -> None:
    host.trim()
    with open_begun(host.log, tmp_path / "honest", BY_TRIM) as rows:
        assert rows.get(LOG) is not None
    forge(tmp_path / "backup", host.image(), with_digest=with_digest, checkpoint=checkpoint)
    with pytest.raises(LogTrimmedError, match="another digest than"):
        begun_rows(host.log, tmp_path / "new", BY_TRIM)
    with pytest.raises(StoreMissingError):
        RocksReader.open(tmp_path / "new")
    if checkpoint:
        with pytest.raises(LogTrimmedError, match="another digest than"):
            FollowedEntries(host.log).start()


def test_an_image_later_than_the_trim_is_taken(host: Host, tmp_path: Path) -> None:
    host.trim()
    grow(host.driver, [commit] * 8)
    newest = host.back_up().position
    with open_begun(host.log, tmp_path / "new", BY_TRIM) as rows:
        assert Fold.load(rows, host.log).mark.position == newest


@pytest.mark.parametrize("damage", [missing, one_bit, out_of_order, no_json])
def test_the_image_before_a_damaged_one_is_taken(
    host: Host, tmp_path: Path, damage: Damage
) -> None:
    former = host.image()
    grow(host.driver, [commit] * 40)
    newest = host.back_up()
    # Both lose what they share.
    assert files(newest)[1] not in files(former)
    damage(tmp_path / "backup", newest)
    with open_begun(host.log, tmp_path / "new", StartImages(host.place.path)) as rows:
        assert rows.get(LOG) is not None


def test_without_a_trim_an_unusable_image_costs_time_only(host: Host, tmp_path: Path) -> None:
    missing(tmp_path / "backup", host.image())
    for path in (str(tmp_path / "backup"), str(tmp_path / "nowhere"), "gs://no/place"):
        assert begun_rows(host.log, tmp_path / "new", StartImages(path)) is None
        with pytest.raises((BackupError, SettingsError)):
            begun_rows(host.log, tmp_path / "new", StartImages(path, is_asked=True))
    assert begun_rows(host.log, tmp_path / "new", NO_IMAGES) is None


def test_an_image_of_another_ledger(host: Host, tmp_path: Path) -> None:
    """Its topic is another one; in one cluster with the same id, its checkpoint says so."""
    host.log.recreate(next(iter(t for t in host.log.topics if t == "events")))
    asked = StartImages(host.place.path, is_asked=True)
    with pytest.raises(ImageForeignError, match="events topic"):
        begun_rows(host.log, tmp_path / "new", asked)
    other = replace(host.image(), ledger="ledger-2")
    with pytest.raises(ImageForeignError, match="of ledger ledger-1"):
        checkpoint_of(host.place, other)
    with pytest.raises(ImageForeignError, match="of ledger ledger-2"):
        verified(host.place, other)


def test_an_image_of_another_history(host: Host) -> None:
    section = host.image().sections[ROWS]
    other = replace(host.image(), sections={ROWS: section._replace(chain=b"12345678")})
    with pytest.raises(ImageForeignError, match=b"12345678".hex()):
        verified(host.place, other)


def test_an_image_of_a_later_version(host: Host, tmp_path: Path) -> None:
    path, image = tmp_path / "backup", host.image()
    asked = StartImages(host.place.path, is_asked=True)
    fields = rewritten(path, image)
    fields["sections"]["rows"]["format"] = FORMAT_VERSION + 1  # type: ignore[index]
    written(path, image, fields)
    with pytest.raises(IncompatibleError, match=f"reads {FORMAT_VERSION}"):
        begun_rows(host.log, tmp_path / "new", asked)
    written(path, image, {**fields, "format": 2})
    with pytest.raises(IncompatibleError, match="has format 2"):
        begun_rows(host.log, tmp_path / "new", asked)


def test_a_damaged_file_is_written_again_once_it_is_removed(host: Host, tmp_path: Path) -> None:
    image = host.image()
    missing(tmp_path / "backup", image)
    assert imaged(host.place, host.root).written == 1
    assert verified(host.place, host.image())[ROWS] == image.sections[ROWS].rows


def test_an_image_below_the_beginning_of_the_log(host: Host, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for name in host.names():
        (old / name).write_bytes((tmp_path / "backup" / name).read_bytes())
    grow(host.driver, [commit] * 3)
    host.back_up()
    host.trim()
    with pytest.raises(LogTrimmedError, match="begins behind it"):
        begun_rows(host.log, tmp_path / "new", StartImages(str(old)))
    followed_at(host.log, host.root)
