"""The pinned list, what counts as present, and fetching from the machine's own repository."""

import base64
import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest

from ledger.errors import JarsError
from ledger.machine.kafka.downloads import Jar
from ledger.machine.kafka.jars import (
    BROKER,
    SPARK,
    fetch,
    jar_paths,
    jars_folder,
    read_list,
    unchecked,
)

LOGIN = "Basic " + base64.b64encode(b"reader:secret").decode()


def jar(name: str, *, content: str | None = None) -> Jar:
    """Return a jar whose content is its name, unless the list is to name another content."""
    sha256 = hashlib.sha256((content or name).encode()).hexdigest()
    return Jar(BROKER, "org.example", name, "1.0", sha256)


JARS = [jar("one"), jar("two"), jar("three")]


@dataclass
class Repository:
    """A Maven repository on loopback that asks for a password and notes what was fetched."""

    root: Path
    url: str = ""
    fetched: list[str] = field(default_factory=list)
    withheld: str = ""

    def add(self, jar: Jar) -> None:
        """Serve a jar; its content is its name."""
        place = self.root / jar.group.replace(".", "/") / jar.artifact / jar.version
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{jar.artifact}-{jar.version}.jar").write_text(jar.artifact)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """Serve the three jars until the test ends."""
    repository = Repository(tmp_path / "repository")

    class Server(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if Path(self.path).name == repository.withheld:
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            elif self.headers["Authorization"] == LOGIN:
                repository.fetched.append(Path(self.path).name)
                super().do_GET()

        def send_head(self) -> BytesIO | BinaryIO | None:
            if self.headers["Authorization"] == LOGIN:
                return super().send_head()
            self.send_response(HTTPStatus.UNAUTHORIZED)
            self.send_header("WWW-Authenticate", 'Basic realm="Artifactory Realm"')
            self.end_headers()
            return None

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    for each in JARS:
        repository.add(each)
    serve = partial(Server, directory=str(repository.root))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        repository.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield repository
        server.shutdown()


@pytest.fixture
def environ(tmp_path: Path, repository: Repository) -> dict[str, str]:
    """Describe a machine whose Maven settings name the repository as mirror, with its login."""
    settings = tmp_path / ".m2/settings.xml"
    settings.parent.mkdir()
    settings.write_text(
        "<settings><mirrors><mirror><id>near</id><mirrorOf>*</mirrorOf>"
        f"<url>{repository.url}</url></mirror></mirrors><servers><server><id>near</id>"
        "<username>reader</username><password>${env.SECRET}</password></server></servers></settings>"
    )
    return {"HOME": str(tmp_path), "LAKELEDGER_CACHE": str(tmp_path / "c"), "SECRET": "secret"}


def test_list_is_pinned() -> None:
    """Every jar of the list has a sha256 of its own, and no two lie at the same path."""
    jars = read_list()
    assert {len(each.sha256) for each in jars} == {64}
    assert len({each.path for each in jars}) == len(jars)
    assert {each.purpose for each in jars} == {BROKER, SPARK}


def test_read_list_ignores_comments() -> None:
    """A list is five words a line; comments and empty lines say nothing."""
    text = "# why\n\nbroker org.example one 1.0 abc\n"
    assert read_list(text) == [Jar("broker", "org.example", "one", "1.0", "abc")]


def test_read_list_refuses_a_broken_line() -> None:
    """A line without a sha256 is an error that shows the line."""
    with pytest.raises(JarsError, match=r"broken line: broker org\.example one 1\.0"):
        read_list("broker org.example one 1.0")


def test_absent_jars_are_an_error_that_says_how_to_fetch(tmp_path: Path) -> None:
    """Asking for a class path before the jars were fetched names the command to run."""
    with pytest.raises(
        JarsError, match=r"4 of 4 jars for the spark.*python -m ledger\.machine\.kafka\.jars"
    ):
        jar_paths(SPARK, {"LAKELEDGER_CACHE": str(tmp_path)})


def test_kept_jars_need_no_network(tmp_path: Path) -> None:
    """Jars copied from elsewhere are compared with the list and taken as they are."""
    environ = {"LAKELEDGER_CACHE": str(tmp_path), "LAKELEDGER_MAVEN_REPO": "http://127.0.0.1:9"}
    (tmp_path / "jars/broker").mkdir(parents=True)
    (tmp_path / "jars" / JARS[0].path).write_text("one")
    assert fetch(JARS[:1], environ) == 0
    assert unchecked(JARS[:1], tmp_path / "jars") == []


def test_changed_jar_no_longer_counts(tmp_path: Path) -> None:
    """A jar that was written to after its check is not used."""
    test_kept_jars_need_no_network(tmp_path)
    (tmp_path / "jars" / JARS[0].path).write_text("one and a half")
    assert unchecked(JARS[:1], tmp_path / "jars") == JARS[:1]


@pytest.mark.parametrize("said", ["\xff", "[", "null", "[]", '{"broker/one-1.0.jar": [1]}'])
def test_damaged_records(tmp_path: Path, said: str) -> None:
    """Where it cannot be read what was checked before, jars are checked again."""
    test_kept_jars_need_no_network(tmp_path)
    (tmp_path / "jars/checked.json").write_text(said, encoding="latin-1")

    assert unchecked(JARS[:1], tmp_path / "jars") == JARS[:1]
    nowhere = {"LAKELEDGER_CACHE": str(tmp_path), "LAKELEDGER_MAVEN_REPO": "http://127.0.0.1:9"}
    assert fetch(JARS[:1], nowhere) == 0


def test_jars_of_an_image(tmp_path: Path) -> None:
    """Jars that were packed into an image, with times of whole seconds, are as they were."""
    test_kept_jars_need_no_network(tmp_path)
    jar = tmp_path / "jars" / JARS[0].path
    whole_s = jar.stat().st_mtime_ns // 10**9
    os.utime(jar, (whole_s, whole_s))
    assert unchecked(JARS[:1], tmp_path / "jars") == []
    os.utime(jar, (whole_s, whole_s + 1))
    assert unchecked(JARS[:1], tmp_path / "jars") == JARS[:1]


@pytest.mark.parametrize("cache", ["/proc/none", "/dev/null/none"])
def test_folder_that_cannot_be(cache: str) -> None:
    """A folder that the system does not let be used is named, and no raw error of the system."""
    environ = {"LAKELEDGER_CACHE": cache}
    for ask in (lambda: fetch(environ=environ), lambda: jar_paths(BROKER, environ)):
        with pytest.raises(JarsError, match=f"{cache}/jars"):
            ask()


def test_fetch_from_the_mirror_of_the_settings(
    repository: Repository, environ: dict[str, str]
) -> None:
    """Jars come from the mirror that Maven's settings name, with its login, and only once."""
    assert (fetch(JARS, environ), fetch(JARS, environ)) == (3, 0)
    assert sorted(repository.fetched) == ["one-1.0.jar", "three-1.0.jar", "two-1.0.jar"]
    folder = jars_folder(environ)
    assert sorted(path.name for path in folder.iterdir()) == ["broker", "checked.json", "lock"]


def test_fetch_only_what_is_missing(repository: Repository, environ: dict[str, str]) -> None:
    """A jar that was lost is fetched again, alone."""
    fetch(JARS, environ)
    repository.fetched.clear()
    (jars_folder(environ) / JARS[1].path).unlink()
    assert fetch(JARS, environ) == 1
    assert repository.fetched == ["two-1.0.jar"]


def test_fetch_twice_at_once(repository: Repository, environ: dict[str, str]) -> None:
    """Of two that fetch at the same time one fetches, and the other finds the work done."""
    with ThreadPoolExecutor() as pool:
        fetched = list(pool.map(fetch, [JARS, JARS], [environ, environ]))
    assert sorted(fetched) == [0, 3]
    assert len(repository.fetched) == len(JARS)


def test_other_bytes_are_thrown_away(repository: Repository, environ: dict[str, str]) -> None:
    """A repository that serves other bytes than the list names is refused by name."""
    with pytest.raises(JarsError, match=rf"broker/two-1\.0\.jar as served by {repository.url}"):
        fetch([JARS[0], jar("two", content="other")], environ)
    assert [path.name for path in jars_folder(environ).iterdir()] == ["lock"]


def test_what_arrived_is_kept(repository: Repository, environ: dict[str, str]) -> None:
    """After a fetch that failed half-way, the next one asks only for what is still missing."""
    repository.withheld = "three-1.0.jar"
    with pytest.raises(JarsError, match="what has arrived is kept"):
        fetch(JARS, environ)
    repository.withheld = ""
    assert fetch(JARS, environ) == len(JARS)
    assert repository.fetched == ["one-1.0.jar", "two-1.0.jar", "three-1.0.jar"]


def test_unreachable_repository(environ: dict[str, str]) -> None:
    """Without a network the error names the repository, the reason and what to do."""
    nowhere = environ | {"LAKELEDGER_MAVEN_REPO": "http://127.0.0.1:9"}
    with pytest.raises(
        JarsError, match=r"from http://127\.0\.0\.1:9: .*refused.*Check the network"
    ):
        fetch(JARS, nowhere)
