"""What a conformance suite is made of, and how it says that a case failed or does not apply."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

Case = Mapping[str, Any]


class Mismatch(Exception):  # noqa: N818 - it is a finding of the run, not an error of it
    """The product answered a step of a case (numbered from 1) otherwise than expected."""

    def __init__(self, step: int, expected: object, got: object) -> None:
        super().__init__(f"step {step}: expected {expected} got {got}")


class Skipped(Exception):  # noqa: N818 - likewise
    """The case does not apply to this product; its tag says why."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


@dataclass(frozen=True)
class Suite:
    """How to run one case, and what all cases of a run share.

    `run(case, resource)` returns if the case passed, else raises Mismatch or Skipped. `resource`
    turns the name of the log, `memory` or `kafka`, into what `run` gets, for as long as the run
    lasts: a broker, for example. Without one, `run` gets the name itself.
    """

    run: Callable[[Case, Any], None]
    resource: Callable[[str], AbstractContextManager[Any]] = nullcontext


def require_known(step: int, fields: Collection[str], known: Collection[str]) -> None:
    """Raise Mismatch if a case or step has a field that the suite would silently ignore."""
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise Mismatch(step, f"only fields of {sorted(known)}", f"also {unknown}")


@contextmanager
def at_step(step: int) -> Iterator[None]:
    """Turn an exception that no case expects into the Mismatch of this step."""
    try:
        yield
    except (Mismatch, Skipped):
        raise
    except Exception as error:
        raise Mismatch(step, "an answer", f"{type(error).__name__}: {error}") from error
