"""The turns of one client: it draws an operation, does it, and notes the outcome, until the stop.

Only the standard library is imported, see `journal`.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event as Signal
from typing import Final, NamedTuple, Protocol

from tests.iceberg.clients.stress.journal import (
    APPEND,
    BOTH,
    COUNT,
    COUNTERS,
    DONE,
    REFUSED,
    STOP,
    UNKNOWN,
    Journal,
)

PAUSE_S: Final = 0.05
# A server that was killed is back after a while.
PAUSE_UNKNOWN_S: Final = 0.5


class Told(NamedTuple):
    """What the command line of a client says: its name, the server, and where journals lie."""

    name: str
    uri: str
    journals: Path
    seed: int
    rest: list[str]


class Worker(Protocol):
    """What a client can do; a refusal or an unknown outcome is an exception of its library."""

    def append(self, operation: str) -> object:
        """Append lines."""

    def count(self, operation: str, counter: int) -> object:
        """Count a row up by one."""

    def is_refused(self, error: Exception) -> bool:
        """Tell whether an error says for sure that nothing was committed."""


def told() -> Told:
    """Return what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--uri", default="")
    parser.add_argument("--journals", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    known, rest = parser.parse_known_args()
    return Told(known.name, known.uri, known.journals, known.seed, rest)


def take_turns(
    worker: Worker,
    where: Told,
    both: Callable[[str, int], object] | None = None,
    *,
    pause_s: float = PAUSE_S,
) -> None:
    """Work until the file `stop` lies beside the journals.

    `both` appends lines and counts a total up in one commit, where the client can do that. Between
    two turns are about `pause_s`: a quick client would leave the others no chance.
    """
    rest, stop = Signal(), where.journals / STOP
    chance = Random(f"{where.name}{where.seed}")
    kinds = (APPEND, APPEND, COUNT) if both is None else (APPEND, COUNT, BOTH)
    with Journal(where.journals, where.name) as journal:
        while not stop.exists():
            kind, counter = chance.choice(kinds), chance.randrange(COUNTERS)
            operation = journal.begin(kind)
            try:
                if kind == APPEND:
                    worker.append(operation)
                elif kind == COUNT:
                    worker.count(operation, counter)
                elif both is not None:
                    both(operation, counter)
            except Exception as error:  # noqa: BLE001 - each library has errors of its own
                outcome = REFUSED if worker.is_refused(error) else UNKNOWN
                journal.end(operation, outcome, f"{type(error).__name__}: {error}")
            else:
                outcome = DONE
                journal.end(operation, outcome)
            rest.wait(PAUSE_UNKNOWN_S if outcome == UNKNOWN else chance.uniform(0, 2 * pause_s))
