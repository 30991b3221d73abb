"""How many calls something takes: a reader, too, has to walk through all of them."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple, TypeVar

from tests.sources import PRODUCT, lies_in

Answer = TypeVar("Answer")
Call = tuple[str, str]


class Walk(NamedTuple):
    """The calls of the product's functions in one thread, by module and name.

    `moves` counts the steps from one module to another.
    """

    calls: Counter[Call]
    moves: int

    def count(self, *rooms: str) -> int:
        """Return the number of calls of functions in some rooms, without a name in all."""
        return sum(self.calls_in(*rooms).values())

    def calls_in(self, *rooms: str) -> Counter[Call]:
        """Return the calls of functions in some rooms, without a name in all."""
        seen = {call: n for call, n in self.calls.items() if lies_in(call[0], *(rooms or PRODUCT))}
        return Counter(seen)

    @property
    def modules(self) -> set[str]:
        """The modules whose functions were called."""
        return {module for module, _ in self.calls}

    def parses(self) -> int:
        """Return how often a text of SQL was parsed."""
        return sum(n for (module, name), n in self.calls.items() if is_parser(module, name))


def is_parser(module: str, name: str) -> bool:
    """Return whether a function is the door of the parser of SQL."""
    return module == "sqlglot" and name in {"parse_one", "parse"}


def calls_of(asks: Callable[[], Answer]) -> tuple[Answer, Counter[str]]:
    """Return what a function returns, and how often each function of Python was called for it."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] += 1

    answer = profiled(asks, count)
    return answer, calls


def walk_of(asks: Callable[[], Answer]) -> tuple[Answer, Walk]:
    """Return what a function returns, and the walk through the product's modules for it."""
    calls: Counter[Call] = Counter()
    moves, last = 0, ""

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal moves, last
        if event != "call":
            return
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if lies_in(module, *PRODUCT) or is_parser(module, name):
            calls[module, name] += 1
            moves, last = moves + (module != last), module

    answer = profiled(asks, count)
    return answer, Walk(calls, moves)


def profiled(asks: Callable[[], Answer], count: Callable[[FrameType, str, object], None]) -> Answer:
    """Return what a function returns while each call in this thread is counted."""
    sys.setprofile(count)
    try:
        return asks()
    finally:
        sys.setprofile(None)
