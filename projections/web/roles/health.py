"""Health: whether this process lives, and whether its answers are of use; by named checks."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, NamedTuple, TypedDict

from ledger.errors import LedgerError
from ledger.reads.amounts import amount
from projections.fold.lag import Lag
from projections.fold.registering import Registration
from projections.web.server.waiting import PositionWaiting

# More frequent requests get the same answer again: each look asks the broker.
LOOK_S: Final = 0.5

UpDown = Literal["UP", "DOWN"]


class CheckForm(TypedDict):
    """A check as fields."""

    status: UpDown
    detail: str


class HealthForm(TypedDict):
    """The health of a process: UP if all of its checks are. `role` says what the process does."""

    status: UpDown
    role: str
    checks: dict[str, CheckForm]


class Check(NamedTuple):
    """One condition that must hold, and what was found."""

    is_up: bool
    detail: str

    def form(self) -> CheckForm:
        """Return the check as fields."""
        return {"status": "UP" if self.is_up else "DOWN", "detail": self.detail}


def registered_check(*entries: Registration | None) -> Check:
    """Return whether trims of the log know how far this process is.

    Its answers are right either way, so it is up without that.
    """
    known = [each for each in entries if each is not None]
    problem = next((each.problem for each in known if each.problem), "")
    if known and not problem:
        return Check(is_up=True, detail="trims of the log wait for this process")
    why = f": {problem}" if problem else ""
    return Check(is_up=True, detail=f"no trim of the log waits for this process{why}")


LagSeen = Lag | LedgerError | None
"""The lag, the error that hides it, or None before anything was read."""


class Look(NamedTuple):
    """What a check goes by: the position of the answers or the error that hides it, and the lag."""

    position: int | LedgerError
    lag: LagSeen


Checks = Mapping[str, Callable[[Look], Check]]


class Health:
    """Named checks of a process, in a thread of its own, so that no request delays them.

    Attributes:
        role: what the process does, such as `follower`.
        waiting: the position of the answers.
    """

    def __init__(
        self,
        role: str,
        waiting: PositionWaiting[Any],
        checks: Checks,
        measure: Callable[[], Lag | None],
    ) -> None:
        self.role = role
        self.waiting = waiting
        self._checks = checks
        self._measure = measure
        self._thread = ThreadPoolExecutor(1, "lakeledger-web-health")
        self._looking: asyncio.Task[None] | None = None
        self._looked_s = float("-inf")
        self._lag: LagSeen = None

    async def checks(self) -> Mapping[str, Check]:
        """Return every check by its name."""
        look = Look(*await asyncio.gather(self._position(), self.lag()))
        return {name: check(look) for name, check in self._checks.items()}

    async def lag(self) -> LagSeen:
        """Return the lag as of now, or as of a look that ended less than `LOOK_S` ago.

        A request during a look gets the result of that look: if the broker hangs, one look after
        another would take longer than a probe waits.
        """
        loop = asyncio.get_running_loop()
        is_looking = self._looking is not None and not self._looking.done()
        if not is_looking and loop.time() - self._looked_s > LOOK_S:
            self._looking = loop.create_task(self._look_again())
        if self._looking is not None:
            await asyncio.shield(self._looking)
        return self._lag

    def close(self) -> None:
        """End the thread, without waiting for a look at a broker that is away."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _position(self) -> int | LedgerError:
        try:
            return await self.waiting.position()
        except LedgerError as problem:
            return problem

    async def _look_again(self) -> None:
        loop = asyncio.get_running_loop()
        self._lag = await loop.run_in_executor(self._thread, self._look)
        self._looked_s = loop.time()

    def _look(self) -> LagSeen:
        try:
            return self._measure()
        except LedgerError as problem:
            return problem


def lag_check(lag: LagSeen, lag_max_s: float) -> Check:
    """Return whether a lag is within a bound."""
    if not isinstance(lag, Lag):
        return Check(is_up=False, detail=f"unknown: {lag or 'no event was read yet'}")
    text = f"{amount(lag.records, 'record')} and {lag.behind_ms} ms, bound {lag_max_s} s"
    return Check(lag.behind_ms <= lag_max_s * 1000, text)


def readiness(role: str, checks: Mapping[str, Check]) -> HealthForm:
    """Return the checks of a process as fields, with UP if all are up."""
    is_up = all(check.is_up for check in checks.values())
    named = {name: each.form() for name, each in checks.items()}
    return {"status": "UP" if is_up else "DOWN", "role": role, "checks": named}
