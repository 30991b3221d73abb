"""Health: whether this process lives, and whether what it answers is of use; by named checks."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from ledger.errors import LedgerError
from projections.follower import Follower, Lag
from projections.web.waiting import Waiting

# Whoever asks more often is told the same again: each look asks the broker.
LOOK_S: Final = 0.5

Followed = Callable[[], Follower | None]
"""The follower of this process, None until its state is loaded."""


class Check(NamedTuple):
    """One thing that must hold, and what was found."""

    is_up: bool
    detail: str

    def form(self) -> dict[str, str]:
        """Return it as fields."""
        return {"status": "UP" if self.is_up else "DOWN", "detail": self.detail}


class Health:
    """Checks the rows and the follower; in a thread of its own, so that no request is in its way.

    `lag_max_s` is how far behind the log the rows may be.
    """

    def __init__(self, waiting: Waiting, followed: Followed, *, lag_max_s: float) -> None:
        self._waiting = waiting
        self._followed = followed
        self._lag_max_s = lag_max_s
        self._thread = ThreadPoolExecutor(1, "lakeledger-web-health")
        self._looked_s = float("-inf")
        self._lag: Lag | LedgerError | None = None

    async def checks(self) -> Mapping[str, Check]:
        """Return every check by its name."""
        return {
            "store": await self._store(),
            "position": self._position(),
            "lag": self._lag_check(await self.lag()),
        }

    async def lag(self) -> Lag | LedgerError | None:
        """Return the lag, why nobody knows it, or None before there is anything to know."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._looked_s > LOOK_S:
            self._lag = await loop.run_in_executor(self._thread, self._look)
            self._looked_s = loop.time()
        return self._lag

    def close(self) -> None:
        """End the thread; a look at a broker that is away is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> Lag | LedgerError | None:
        follower = self._followed()
        try:
            return None if follower is None else follower.lag()
        except LedgerError as problem:
            return problem

    async def _store(self) -> Check:
        try:
            return Check(is_up=True, detail=f"open, at position {await self._waiting.position()}")
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

    def _lag_check(self, lag: Lag | LedgerError | None) -> Check:
        if not isinstance(lag, Lag):
            return Check(is_up=False, detail=f"unknown: {lag or 'nothing was read yet'}")
        text = f"{lag.records} records and {lag.behind_ms} ms, bound {self._lag_max_s} s"
        return Check(lag.behind_ms <= self._lag_max_s * 1000, text)


def readiness(checks: Mapping[str, Check]) -> dict[str, Any]:
    """Return checks as fields, UP if all of them are."""
    is_up = all(each.is_up for each in checks.values())
    named = {name: each.form() for name, each in checks.items()}
    return {"status": "UP" if is_up else "DOWN", "checks": named}
