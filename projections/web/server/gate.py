"""The gate: checks of every request before its path is read.

The Host header must be a name of this server, and the head must be short enough. Otherwise a page
of another site could let its own name point here (DNS rebinding), and read what a browser of this
host may read. A server with tokens also wants one of them. Probes pass: they reveal nothing, and
use any address.
"""

from collections.abc import Collection
from ipaddress import ip_address
from socket import gethostname
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.config.address import is_address, is_loopback
from ledger.log_lines import LogLines
from ledger.machine.endpoints import Endpoint
from projections.web.answers.problems import (
    FAULT,
    FAULT_TEXT,
    HEAD_TOO_LONG,
    UNKNOWN_HOST,
    ProblemForm,
    answer_problem,
    problem_form,
)
from projections.web.server.doors import Doors, NotLetIn
from projections.web.server.limits import WebLimits
from projections.web.server.slots import Turns

PROBES: Final = frozenset({"/livez", "/readyz"})
# Requests that show why others are not answered must not wait behind them.
FIRST: Final = PROBES | {"/metrics"}
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
ANY_HOST: Final = "*"
VISITOR: Final = "lakeledger.token"
"""The key under which a scope has the token of its request, absent where none is required."""

log_lines = LogLines("lakeledger.web")


class Hosts:
    """The names of a server: those of loopback, its own, and those of a setting.

    A server that listens at every address of the machine accepts any address: another site cannot
    point an address here. Beyond loopback the machine's own name counts too.
    """

    def __init__(self, endpoint: Endpoint, more: Collection[str] = ()) -> None:
        own = () if is_loopback(endpoint.host) else (gethostname(),)
        self._names = {each.lower() for each in (*LOOPBACK_NAMES, endpoint.host, *own, *more)}
        self._takes_addresses = is_unspecified(endpoint.host)
        self._takes_all = ANY_HOST in more

    def know(self, header: str) -> bool:
        """Return whether a Host header names this server."""
        name = host_of(header)
        if self._takes_all or name in self._names:
            return True
        return self._takes_addresses and is_address(name)


def host_of(header: str) -> str:
    """Return the name in a Host header, without its port and without brackets."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name = text.rpartition(":")[0] if text.count(":") == 1 else text
    return name.removesuffix(".")


def is_unspecified(host: str) -> bool:
    """Return whether a host stands for every address of the machine."""
    return is_address(host) and ip_address(host).is_unspecified


class Gate:
    """Passes requests to an application, or answers why not, in the `form` of its problems.

    `setting` names more hosts. A request that shows a token takes it along in its scope.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Hosts,
        limits: WebLimits,
        doors: Doors,
        *,
        setting: str,
        form: ProblemForm = problem_form,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._doors = doors
        self._limits = limits
        self._setting = setting
        self._form = form
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, also one that fails."""
        if scope["path"] not in FIRST:
            await self._turns.turn()
        if head_bytes(scope) > self._limits.head_bytes_max:
            bound = f"the head of a request must have at most {self._limits.head_bytes_max} bytes"
            text = f"{bound}; ask for less at once"
            await self._problem(431, HEAD_TOO_LONG, text)(scope, receive, send)
            return
        hosts = [text.decode("latin-1") for name, text in scope["headers"] if name == b"host"]
        if scope["path"] not in PROBES and not all(map(self._hosts.know, hosts)):
            text = (
                f"this server has no name {hosts[0]!r}. Use its address, or add the name "
                f"to the setting {self._setting}"
            )
            await self._problem(421, UNKNOWN_HOST, text)(scope, receive, send)
            return
        token = None if scope["path"] in PROBES else self._doors.look_at(scope["headers"])
        if isinstance(token, NotLetIn):
            await token.response(self._form)(scope, receive, send)
            return
        await self._answer(scope if token is None else {**scope, VISITOR: token}, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if has_begun:
                raise  # The connection is cut, so that no client takes the part for the whole.
            log_lines.exception("fault", path=scope["path"])
            await self._problem(500, FAULT, FAULT_TEXT)(scope, receive, send)

    def _problem(self, status: int, error: str, message: str) -> Response:
        return answer_problem(status, error, message, form=self._form)


def head_bytes(scope: Scope) -> int:
    """Return about how many bytes the head of a request has."""
    headers = sum(len(name) + len(text) for name, text in scope["headers"])
    return headers + len(scope["raw_path"]) + len(scope["query_string"])
