"""A look at a log in which everything is known, and the one that a follower shows."""

from threading import Event as Signal
from time import monotonic
from typing import Any, Final

import urllib3

from ledger.log.consumers import CACHE, PIN
from ledger.log.trim_notes import TrimNote
from ledger.machine.growth import Growth
from ledger.trimming.look import ConsumerSeen, ImageSeen, LastTrim, LogLook
from ledger.trimming.watch import LogSeen
from tests.web.lake import HOSTILE

AT: Final = 1_700_000_000_000
PATIENCE_S: Final = 60.0
TURN_S: Final = 0.1
HOUR_MS: Final = 60 * 60 * 1000
REFUSED: Final = "the newest image is damaged"


def consumer(role: str, name: str, position: int, age_s: int, host: str = "here") -> ConsumerSeen:
    return ConsumerSeen(role, name, host, position, 40 - position, AT - 1000 * age_s, age_s)


LOOK: Final = LogLook(
    AT,
    3,
    40,
    LastTrim(3, 2, 6, "/backups/lake", 30),
    ImageSeen("/backups/lake", 30, 28, 7_200),
    [
        consumer(CACHE, "metadata", 3, 8_000),
        consumer("follower", "rows-1", 38, 20),
        consumer(PIN, "audit", 4, 9_000),
        consumer("publisher", HOSTILE, 10, 5_000, HOSTILE),
    ],
    TrimNote(AT - HOUR_MS, 30.0, AT - 3 * HOUR_MS, REFUSED),
    Growth(1_000, 120_000, 40_000),
    AT,
    12.25,
)


def seen() -> LogSeen:
    """Return the look, as old as a minute."""
    return LogSeen(LOOK, 60)


def first_look(url: str) -> Any:
    """Return the first look that a follower shows at a URL, as fields."""
    until_s = monotonic() + PATIENCE_S
    while (found := urllib3.request("GET", f"{url}/v1/log").json()).get("look") is None:
        assert monotonic() < until_s, found
        Signal().wait(TURN_S)
    return found["look"]
