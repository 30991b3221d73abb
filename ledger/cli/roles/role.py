"""The frame of a role as a command: it runs until it is stopped, and ends with an exit code."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from typing import NoReturn, Protocol, TypeVar

import typer

from ledger.backup.images.starting import StartImages
from ledger.cli.answers import Output
from ledger.cli.failures import tell
from ledger.config.config import Loaded, load
from ledger.config.settings import OFF
from ledger.definitions.client_reads import open_store
from ledger.log.port import Log, Topic
from ledger.log_lines import LogLines
from ledger.machine.process import interruptible, role_process
from ledger.reads.port import Reads
from ledger.tracing import switch_on

log_lines = LogLines("lakeledger.cli")
Part = TypeVar("Part")


class Server(Protocol):
    """Answers HTTP at `url` until it is closed."""

    url: str

    def close(self) -> None:
        """End, after the questions under way."""


def run_role(
    role: str, run: Callable[[Signal], None], *, with_parent: bool, output: Output
) -> NoReturn:
    """Run a role to its end, and end the command with its code.

    The role's log has the reason of its end; with JSON output it is the object of a failure.
    """
    switch_on(load().settings.trace)
    report = (lambda error: tell(error, as_json=True)) if output is Output.JSON else None
    raise typer.Exit(role_process(role, run, with_parent=with_parent, report=report))


def images_of(loaded: Loaded) -> StartImages:
    """Return where a role looks for an image; one that a flag names is an error if unusable."""
    return StartImages(loaded.settings.log.archive, loaded.origins["log.archive"] == "flag")


@contextmanager
def answering(http: str, serve: Callable[[], Server]) -> Iterator[None]:
    """Answer HTTP while the block runs, if an address is configured; `serve` loads the server."""
    if http == OFF:
        yield
        return
    with closing(serve()) as server:
        log_lines.info("answering HTTP", url=server.url)
        yield


def first_of(parts: Sequence[Part]) -> Callable[[], Part | None]:
    """Return a call that returns what a role runs, None until it is started."""
    return lambda: parts[0] if parts else None


def wait_for_broker(log: Log) -> None:
    """Return when the broker answers; before that there is no role to stop, so a signal ends it."""
    with interruptible():
        log.topic_id(Topic.EVENTS)


def opened_reads(loaded: Loaded) -> Reads:
    """Return the rows at the URL of a follower, else those of this host.

    Raises SettingsError if neither is set, and StoreMissingError while no rows are there.
    """
    found = loaded.settings
    if found.reads_url is not None:
        from ledger.reads.remote.http import HttpReads  # noqa: PLC0415 - loads the HTTP client

        return HttpReads(found.reads_url)
    return open_store(Path(loaded.required("store")))
