"""A backup in S3: the same promises as a folder, over a server of moto on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Signal
from uuid import uuid4

import pytest

from ledger.backup.contents import manifest_in
from ledger.backup.errors import BackupDamagedError, BackupError
from ledger.backup.place import open_place
from ledger.backup.restoring import Restore, check_backup
from ledger.backup.taking import take
from ledger.errors import SettingsError
from ledger.log.memory import MemoryLog
from ledger.log.replay import verify
from tests.backup.benches import NEVER, TOPICS, another_topic, content, grow
from tests.driver import Driver
from tests.lost_end import domain

pytest.importorskip("moto", reason="the S3 server of the tests is not installed")
pytest.importorskip("flask", reason="the S3 server of the tests is not installed")

LOGIN = "key:hidden"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run an S3 server, and return its address."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - not installed everywhere

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"{host}:{port}"
    finally:
        server.stop()


@pytest.fixture
def url(server: str) -> str:
    """Return the URL of an empty prefix in a bucket of its own."""
    from pyarrow import fs  # noqa: PLC0415 - an extra

    bucket = f"bucket-{uuid4().hex[:8]}"
    query = f"?region=us-east-1&scheme=http&endpoint_override={server}"
    system, _ = fs.FileSystem.from_uri(f"s3://{LOGIN}@{bucket}{query}&allow_bucket_creation=true")
    system.create_dir(bucket)
    return f"s3://{LOGIN}@{bucket}/backups/lake{query}"


def test_runs_add_what_is_new_and_a_restore_gives_the_same_log(url: str) -> None:
    driver, place = domain(), open_place(url)
    for _ in range(3):
        grow(driver, [Driver.open_session] * 9)
        take(driver.log, place, TOPICS, stop=NEVER, file_bytes=600)
    manifest = manifest_in(open_place(url))
    assert place.names() == {"backup.json", *(file.name for file in manifest.files)}
    assert len(manifest.files) > 2
    log = another_topic(MemoryLog())
    assert check_backup(place, manifest, NEVER)
    assert Restore(log, place, manifest).run(Signal()) == (len(driver.records), True)
    assert content(log) == content(driver.log)
    assert verify(log) == verify(driver.log)


def test_the_path_of_a_place_leads_there_and_has_no_login(url: str) -> None:
    """The mark of a trim has this path, and its readers have their login from the environment."""
    driver, place = domain(), open_place(url)
    taken = take(driver.log, place, TOPICS, stop=NEVER)
    assert LOGIN.partition(":")[2] not in place.path
    with logged_in(*LOGIN.split(":")):
        again = open_place(place.path)
        assert again.path == place.path
        assert manifest_in(again) == taken.manifest


@contextmanager
def logged_in(user: str, password: str) -> Iterator[None]:
    """Give this process the variables of a login while the block runs."""
    given = {"AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": password}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def test_a_small_last_object_is_replaced_by_a_longer_one(url: str) -> None:
    driver, place = domain(), open_place(url)
    for _ in range(4):
        driver.open_session("bob")
        take(driver.log, place, TOPICS, stop=NEVER)
    assert len(place.names()) == 2


def test_an_object_that_is_missing_or_changed_is_named(url: str) -> None:
    driver, place = domain(), open_place(url)
    file = take(driver.log, place, TOPICS, stop=NEVER).manifest.files[0]
    data = place.read(file.name)
    assert data is not None
    place.write(file.name, data[:-1])
    with pytest.raises(BackupDamagedError, match=f"{file.name}: it has {len(data) - 1} bytes"):
        check_backup(place, manifest_in(place), NEVER)
    place.remove(file.name)
    with pytest.raises(BackupDamagedError, match=f"{file.name}: the file is missing"):
        check_backup(place, manifest_in(place), NEVER)


def test_a_bucket_that_is_absent_is_named_without_login_and_query(url: str) -> None:
    place = open_place(url.replace("@bucket", "@absent"))
    with pytest.raises(BackupError, match=r"^s3://absent") as found:
        take(domain().log, place, TOPICS, stop=NEVER)
    assert "endpoint_override" not in str(found.value)
    assert "hidden" not in str(found.value)


@pytest.mark.parametrize("path", ["s3:", "s3:bucket", "s3:///prefix", "s3://"])
def test_what_names_no_bucket_is_a_wrong_usage(path: str) -> None:
    with pytest.raises(SettingsError, match="must be s3://bucket/prefix"):
        open_place(path)
