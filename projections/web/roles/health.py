"""Health: whether this process lives, and whether its answers are of use; by named checks."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

from ledger.errors import LedgerError
from ledger.reads.amounts import amount
from projections.fold.follower import Follower
from projections.fold.lag import Lag
from projections.web.server.waiting import PositionWaiting

# More frequent requests get the same answer again: each look asks the broker.
LOOK_S: Final = 0.5

Followed = Callable[[], Follower | None]
"""The follower of this process, None until its state is loaded."""


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


class Health(ABC):
    """Named checks of a process, in a thread of its own, so that no request delays them.

    Attributes:
        role: what the process does, such as `follower`.
        waiting: the position of the answers.
    """

    role: ClassVar[str]

    def __init__(self, waiting: PositionWaiting[Any]) -> None:
        self.waiting = waiting
        self._thread = ThreadPoolExecutor(1, "lakeledger-web-health")
        self._looking: asyncio.Task[None] | None = None
        self._looked_s = float("-inf")
        self._lag: Lag | LedgerError | None = None

    @abstractmethod
    async def checks(self) -> Mapping[str, Check]:
        """Return every check by its name."""

    async def lag(self) -> Lag | LedgerError | None:
        """Return the lag, the error that hides it, or None before anything was read.

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

    @abstractmethod
    def _measure(self) -> Lag | None:
        """Return the lag as of now; raises LedgerError if it cannot be measured."""

    async def _look_again(self) -> None:
        loop = asyncio.get_running_loop()
        self._lag = await loop.run_in_executor(self._thread, self._look)
        self._looked_s = loop.time()

    def _look(self) -> Lag | LedgerError | None:
        try:
            return self._measure()
        except LedgerError as problem:
            return problem


class FollowerHealth(Health):
    """Checks the rows and their follower; `lag_max_s` is how far behind the log they may be."""

    role = "follower"

    def __init__(
        self, waiting: PositionWaiting[Any], followed: Followed, *, lag_max_s: float
    ) -> None:
        super().__init__(waiting)
        self._followed = followed
        self._lag_max_s = lag_max_s

    async def checks(self) -> Mapping[str, Check]:
        """Return whether the rows can be read, are complete, and how far behind they are."""
        store, lag = await asyncio.gather(self._store(), self.lag())
        return {
            "store": store,
            "position": self._position(),
            "lag": lag_check(lag, self._lag_max_s),
        }

    def _measure(self) -> Lag | None:
        follower = self._followed()
        return None if follower is None else follower.lag()

    async def _store(self) -> Check:
        try:
            return Check(is_up=True, detail=f"open, at position {await self.waiting.position()}")
        except LedgerError as problem:
            return Check(is_up=False, detail=str(problem))

    def _position(self) -> Check:
        follower = self._followed()
        if follower is None:
            return Check(is_up=False, detail="the state is being loaded")
        position = follower.fold.mark.position
        if not follower.is_caught_up:
            return Check(is_up=False, detail=f"catching up, at position {position}")
        return Check(position > 0, f"events up to position {position} are applied")


def lag_check(lag: Lag | LedgerError | None, lag_max_s: float) -> Check:
    """Return whether a lag is within a bound."""
    if not isinstance(lag, Lag):
        return Check(is_up=False, detail=f"unknown: {lag or 'no event was read yet'}")
    text = f"{amount(lag.records, 'record')} and {lag.behind_ms} ms, bound {lag_max_s} s"
    return Check(lag.behind_ms <= lag_max_s * 1000, text)


def readiness(role: str, checks: Mapping[str, Check]) -> HealthForm:
    """Return the checks of a process as fields, with UP if all are up."""
    is_up = all(each.is_up for each in checks.values())
    named = {name: each.form() for name, each in checks.items()}
    return {"status": "UP" if is_up else "DOWN", "role": role, "checks": named}
