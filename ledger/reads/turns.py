"""Turns and waits: one thread at a time reads, each from one state, and may wait for a position."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from time import monotonic, sleep
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from ledger.errors import ReaderBehindError

PAUSE_MIN_S: Final = 0.002
PAUSE_MAX_S: Final = 0.020

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


class TakesTurns(Protocol):
    """An object with a reentrant lock: one answer may be made of others."""

    @property
    def _turn(self) -> AbstractContextManager[Any]: ...


Model = TypeVar("Model", bound=TakesTurns)


def in_turn(
    method: Callable[Concatenate[Model, Asked], Found],
) -> Callable[Concatenate[Model, Asked], Found]:
    """Run one call at a time: a second thread could refresh the rows under a running answer."""

    @wraps(method)
    def answer(self: Model, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Found:
        with self._turn:
            return method(self, *args, **kwargs)

    return answer


def in_time(
    ask: Callable[[float], Found],
    wait_ms: int,
    *,
    until_s: float | None = None,
    rest: Callable[[float], object] = sleep,
) -> Found:
    """Return the result of `ask` as soon as it does not raise ReaderBehindError.

    `ask` gets the seconds left. It is called every 2 ms at first, then every 20 ms; between two
    calls no lock is held, and `rest` passes the time. Raises ReaderBehindError after `wait_ms`, or
    at `until_s` if part of the wait is over.
    """
    until_s = monotonic() + wait_ms / 1000 if until_s is None else until_s
    pause_s = PAUSE_MIN_S
    while True:
        try:
            return ask(max(0.0, until_s - monotonic()))
        except ReaderBehindError as behind:
            left_s = until_s - monotonic()
            if left_s <= 0:
                raise ReaderBehindError(behind.applied, behind.wanted, wait_ms) from None
        rest(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, PAUSE_MAX_S)


def wait_for(
    look: Callable[[], int], position: int, timeout_ms: int, rest: Callable[[float], object] = sleep
) -> int:
    """Return the result of `look` as soon as it is at least `position`; raises as `in_time`."""

    def ask(_left_s: float) -> int:
        if (applied := look()) < position:
            raise ReaderBehindError(applied, position, timeout_ms)
        return applied

    return in_time(ask, timeout_ms, rest=rest)
