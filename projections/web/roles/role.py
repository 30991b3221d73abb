"""The frame of a role over HTTP: what it answers, its named health checks, and its metrics.

A role answers from threads of its own and never makes what it runs wait.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from ledger.config.settings import UNLOCKED, WebSettings, hosts_of
from ledger.machine.endpoints import Endpoint
from projections.fold.lag import Lag
from projections.web.answers.problems import ProblemForm, problem_form
from projections.web.answers.questions import Question
from projections.web.answers.registry import Endpoint as PathAnswer
from projections.web.app import WebPages
from projections.web.roles.health import Checks, Health
from projections.web.roles.metrics import Measures, Metrics
from projections.web.server.limits import LIMITS, WebLimits
from projections.web.server.readers import LONG_THREADS, THREADS, Readers, Source
from projections.web.server.server import WebServer
from projections.web.server.waiting import PositionWaiting

Whole = TypeVar("Whole")


class HttpAddress(Protocol):
    """The settings of a role that say where it answers."""

    @property
    def http(self) -> str:
        """The `host:port` to answer at."""

    @property
    def hosts(self) -> str:
        """Further names of the host, with commas between them."""


@dataclass(frozen=True)
class Role(Generic[Source]):
    """What a role shows of itself.

    Attributes:
        name: the role, such as `follower`.
        source: opens what its questions are answered from.
        checks: its health, by the name of each check.
        lag: how far it is behind the log now, None before anything was read.
        measures: its metrics.
        questions: what it answers besides its position, health and metrics.
        beside: further answers by path, short and always at hand.
        problem_form: the form in which requests that reach no answer are refused.
        tells_position: whether its position is one of its answers.
    """

    name: str
    source: Callable[[], Source]
    checks: Checks
    lag: Callable[[], Lag | None]
    measures: Measures
    questions: Sequence[Question[Source]] = ()
    threads: int = THREADS
    long_threads: int = LONG_THREADS
    beside: Mapping[str, PathAnswer] = field(default_factory=dict)
    problem_form: ProblemForm = problem_form
    tells_position: bool = True

    def pages(self, limits: WebLimits = LIMITS) -> WebPages[Source]:
        """Return the application that answers for the role."""
        readers = Readers(self.source, self.threads, self.long_threads)
        health = Health(self.name, PositionWaiting(readers), self.checks, self.lag)
        metrics = Metrics(self.measures)
        return WebPages(
            *(readers, self.questions, health, metrics, limits),
            beside=self.beside,
            problem_form=self.problem_form,
            tells_position=self.tells_position,
        )

    def serve(self, address: HttpAddress, doors: WebSettings = UNLOCKED) -> WebServer:
        """Answer HTTP; raises SettingsError if it cannot listen at the address."""
        return serve_pages(self.name, self.pages(), address, doors)


class ProcessPart(Generic[Whole]):
    """A part of this process as the source of answers; the role ends it, not its readers."""

    def __init__(self, whole: Whole, position: Callable[[], int]) -> None:
        self.whole = whole
        self.position = position

    def close(self) -> None:
        """Leave the part as it is."""


def serve_pages(
    role: str, pages: WebPages[Any], address: HttpAddress, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Answer with the pages of a role; raises SettingsError if it cannot listen at the address."""
    endpoint, hosts = Endpoint.parse(address.http), hosts_of(address.hosts)
    return WebServer.start(pages, endpoint, hosts=hosts, setting=f"{role}.hosts", doors=doors)
