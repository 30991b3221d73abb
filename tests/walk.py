"""How many calls something takes: a reader, too, has to walk through all of them."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

Answer = TypeVar("Answer")


def calls_of(asks: Callable[[], Answer]) -> tuple[Answer, Counter[str]]:
    """Return what a function returns, and how often each function of Python was called for it."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        answer = asks()
    finally:
        sys.setprofile(None)
    return answer, calls
