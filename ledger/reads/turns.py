"""Turns: how a read model answers several threads, from one state each, none in another's way."""

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
    """What has a lock, a reentrant one: one answer may be made of others."""

    @property
    def _turn(self) -> AbstractContextManager[Any]: ...


Model = TypeVar("Model", bound=TakesTurns)


def in_turn(
    method: Callable[Concatenate[Model, Asked], Found],
) -> Callable[Concatenate[Model, Asked], Found]:
    """Let one thread answer at a time: another would move under an answer what that is made of."""

    @wraps(method)
    def answer(self: Model, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Found:
        with self._turn:
            return method(self, *args, **kwargs)

    return answer


def wait_for(look: Callable[[], int], position: int, timeout_ms: int) -> int:
    """Return the position that a look tells as soon as it is at least `position`.

    Nobody tells that there is more, and a turn is taken for each look alone: it is looked again
    after 2 ms, then ever more rarely, down to every 20 ms. Raises ReaderBehindError after
    `timeout_ms`.
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
