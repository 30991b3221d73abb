"""Downloads a list of exact jars from a repository in Maven's layout.

Every jar is requested by its coordinates: no POM, no metadata, no search for versions. `jars`
decides which jars to fetch and where they go, and checks their sha256.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from rich.progress import track
from urllib3 import PoolManager, ProxyManager, Retry, Timeout, make_headers
from urllib3.exceptions import HTTPError

from ledger.errors import JarsError
from ledger.machine.kafka.maven import VARIABLES, Repository

CENTRAL: Final = Repository("https://repo1.maven.org/maven2")
TIMEOUT: Final = Timeout(connect=10, read=60)
# A mirror may keep its files elsewhere; the login goes to the mirror only.
REDIRECTS: Final = Retry(connect=0, read=0, status=0, other=0, redirect=5)


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar by its Maven coordinates; `purpose` names the class path it is for."""

    purpose: str
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def path(self) -> str:
        """Where it lies below the folder of jars."""
        return f"{self.purpose}/{self.artifact}-{self.version}.jar"

    @property
    def address(self) -> str:
        """Where it lies below the URL of a repository."""
        file = Path(self.path).name
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{file}"


def download(jars: Sequence[Jar], folder: Path, repository: Repository | None) -> None:
    """Bring each jar to its `path` below a folder, unless it is there; None is Maven Central.

    Raises:
        JarsError: the repository did not give a jar.
    """
    source = repository or CENTRAL
    with pool_for(source.url) as pool:
        for jar in track([each for each in jars if not (folder / each.path).exists()], "jars"):
            try:
                download_one(pool, jar, folder / jar.path, source)
            except HTTPError as problem:
                raise not_given(source, getattr(problem, "reason", problem)) from problem


def download_one(pool: PoolManager, jar: Jar, place: Path, source: Repository) -> None:
    """Bring one jar to a place, whole or not at all."""
    login = f"{source.username}:{source.password}" if source.username else None
    url = f"{source.url.rstrip('/')}/{jar.address}"
    headers = make_headers(basic_auth=login)
    with pool.request("GET", url, headers=headers, preload_content=False) as answer:
        if answer.status != HTTPStatus.OK:
            raise not_given(source, f"{url} was answered with {answer.status} {answer.reason}")
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_suffix(".draft")
        with draft.open("wb") as file:
            shutil.copyfileobj(answer, file)
        draft.replace(place)


def pool_for(url: str) -> PoolManager:
    """Return the connections to a repository, through the proxy that the environment names."""
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
    proxy = None if proxy_bypass(host) else getproxies().get(scheme)
    if proxy is None:
        return PoolManager(retries=REDIRECTS, timeout=TIMEOUT)
    return ProxyManager(proxy, retries=REDIRECTS, timeout=TIMEOUT)


def not_given(source: Repository, reason: object) -> JarsError:
    """Return the error for a jar that did not come."""
    name = "Maven Central" if source is CENTRAL else source.url
    return JarsError(
        f"The jars could not be fetched from {name}: {reason}. Check the network, or set"
        f" {VARIABLES[0]} to a repository this machine can reach, and run again: what has arrived"
        " is kept."
    )
