"""What a look at a log says of the image in its archive, and of an archive that is not there."""

from pathlib import Path

import pytest

from ledger.backup.errors import BackupError
from ledger.backup.images.reading import newest_image
from ledger.backup.place import FolderPlace
from ledger.cli.machine.log_shown import image_text
from ledger.machine.room import NO_PLACES
from ledger.trimming.look import LogLook, Whereabouts, look_at
from ledger.trimming.watch import LogSeen
from projections.web.roles.log_seen import log_metrics
from tests.backup.benches import backed_up
from tests.backup.images.benches import Host

NOW_MS = 2_000_000_000_000


def looked(host: Host, archive: Path | None) -> LogLook:
    where = Whereabouts("lake", NO_PLACES, None if archive is None else str(archive))
    return look_at(host.log, where, NOW_MS)


def unreadable(look: LogLook) -> list[float]:
    found = {metric.name: metric.samples for metric in log_metrics(LogSeen(look))}
    return [each.value for each in found.get("lakeledger_image_unreadable", ())]


@pytest.mark.parametrize("is_trimmed", [False, True])
def test_an_archive_that_is_not_mounted_is_a_problem(tmp_path: Path, *, is_trimmed: bool) -> None:
    """By the setting, and after a trim by its mark too."""
    host, away = Host(tmp_path), tmp_path / "away"
    host.driver.open_session()
    image = host.back_up()
    if is_trimmed:
        host.driver.open_session()
        host.trim()
    archive = tmp_path / "backup"
    look = looked(host, archive)
    assert look.image is not None
    assert (look.image.position, look.image.problem, unreadable(look)) == (image.position, "", [0])
    archive.rename(away)
    for named in (archive, *([None] if is_trimmed else [])):
        look = looked(host, named)
        assert look.image is not None
        assert f"there is no backup in {archive}" in look.image.problem
        assert unreadable(look) == [1]
        assert image_text(look) == look.image.problem
    archive.mkdir()
    assert unreadable(looked(host, archive)) == [1]


def test_a_backup_without_images_is_none(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.driver.open_session()
    with pytest.raises(BackupError):
        newest_image(FolderPlace(tmp_path / "backup"))
    backed_up(host.log, tmp_path / "backup")
    look = looked(host, tmp_path / "backup")
    assert (look.image, unreadable(look), image_text(look)) == (None, [], None)
