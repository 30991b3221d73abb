"""Turns: a read model answers several threads one after the other, each from one state."""

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


def wait_for(look: Callable[[], int], position: int, timeout_ms: int) -> int:
    """Return the result of `look` as soon as it is at least `position`.

    Polls every 2 ms, backing off to 20 ms; the lock is released between polls. Raises
    ReaderBehindError after `timeout_ms`.
    """
    until_s = monotonic() + timeout_ms / 1000
    pause_s = PAUSE_MIN_S
    while (applied := look()) < position:
        left_s = until_s - monotonic()
        if left_s <= 0:
            raise ReaderBehindError(applied, position, timeout_ms)
        sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, PAUSE_MAX_S)
    return applied
