"""What a Kafka client is told beside its answers, and what waiting does not mend.

A client reports a refused login to a callback while its caller waits for an answer that does not
come. What was heard is kept here, so that the caller can end its wait and name the reason. Names of
errors are librdkafka's.
"""

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Protocol

import structlog

UNKNOWN_HERE: Final = "_UNKNOWN_PARTITION"
NO_TOPIC: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", UNKNOWN_HERE})
NO_LOGIN: Final = frozenset({"_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL"})
NO_RIGHT: Final = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
# The client looks for the coordinator of its group by itself. No group is ever joined, so a broker
# that refuses to name it takes nothing away.
NO_GROUP: Final = "GROUP_AUTHORIZATION_FAILED"
NOT_CONNECTED: Final = "_ALL_BROKERS_DOWN"
# The name of what no client reports as an error: the broker took the connection and closed it.
CLOSED: Final = "CLOSED_AT_ONCE"
CLOSED_WORD: Final = "Disconnected"
FAILED_LINE: Final = "FAIL"
# Waiting does not mend these: a reader that meets one raises instead of returning nothing.
REFUSALS: Final = NO_TOPIC | NO_LOGIN | NO_RIGHT
# A record that ended so was not written: the broker said no, or it never left this process.
NOT_WRITTEN: Final = NO_RIGHT | {"_PURGE_QUEUE"}
# One broker of several may refuse alone; for so long the others may still answer.
STANDING_S: Final = 0.6

log_lines = structlog.get_logger("lakeledger.kafka")


class ClientError(Protocol):
    """What is asked of a `KafkaError`."""

    def name(self) -> str:
        """Return librdkafka's name of it."""
        ...

    def str(self) -> str:
        """Return the client's own words."""
        ...

    def fatal(self) -> bool:
        """Tell whether the client that met it is of no more use."""
        ...


class ClientMessage(Protocol):
    """What is asked of a message that was not delivered."""

    def value(self) -> bytes | None:
        """Return what it held."""
        ...


@dataclass(frozen=True, slots=True)
class Closed:
    """The error of a connection that the broker closed before it answered anything."""

    words: str

    def name(self) -> str:
        """Return its name."""
        return CLOSED

    def str(self) -> str:
        """Return the client's own words."""
        return self.words

    def fatal(self) -> bool:
        """Tell that the client tries again."""
        return False


@dataclass(slots=True)
class Trouble:
    """What a client was told by error_cb since its last success, and what it did not deliver.

    `last` is the newest of all, and says why something timed out; `refusal` the newest of those
    that waiting does not mend, `refused_s` when the first of them came. `undelivered` is the error
    of the first record that was not delivered and stays for ever, `because` what had been heard by
    then; `unwritten` counts the values that were surely not written. That is not known of what is
    under way while a connection fails (`was_cut`). Nothing here refers to the client, so that one
    that is dropped goes at once and not with some later collection.
    """

    user: str = ""
    protocol: str = ""
    last: ClientError | None = None
    refusal: ClientError | None = None
    refused_s: float | None = None
    closed: Closed | None = None
    has_answered: bool = False
    undelivered: ClientError | None = None
    because: ClientError | None = None
    was_cut: bool = False
    unwritten: Counter[bytes] = field(default_factory=Counter)

    def __call__(self, error: ClientError) -> None:
        """Note an error; called by the client, from inside its own calls only."""
        name = error.name()
        if name == NO_GROUP:
            return
        if name in REFUSALS:
            self.refusal = error
            self._begin()
        # That all brokers are down is said beside the reason why each of them is.
        if name != NOT_CONNECTED or self.last is None:
            self.last = error
        if name != NOT_CONNECTED and CLOSED_WORD not in error.str():
            self.closed = None

    def note_line(self, line: str) -> None:
        """Note what the client logs: that a connection failed stands nowhere else."""
        if not line.startswith(FAILED_LINE):
            return
        self.was_cut = True
        if CLOSED_WORD in line and not self.has_answered:
            self.closed = Closed(f"security.protocol is {self.protocol}; {line}")
            self._begin()

    def note_delivery(self, error: ClientError | None, record: ClientMessage | None = None) -> None:
        """Note a record that was not delivered; those after the first are not relied on."""
        if error is None:
            return
        if record is not None and error.name() in NOT_WRITTEN and not self.was_cut:
            self.unwritten[record.value() or b""] += 1
        if self.undelivered is None:
            self.undelivered, self.because = error, self.last

    def standing(self) -> ClientError | None:
        """Return the refusal that stood for a while, during which nobody else has answered."""
        if self.refused_s is None or monotonic() - self.refused_s < STANDING_S:
            return None
        return self.refusal or self.closed

    def clear(self) -> None:
        """Forget what was heard: something succeeded."""
        self.last = self.refusal = self.refused_s = self.closed = None
        self.has_answered = True

    def _begin(self) -> None:
        if self.refused_s is None:
            self.refused_s = monotonic()


class ClientLines:
    """Takes what librdkafka would print; debug lines, and only where structlog was set up.

    Its own default would print every line of a library nobody asked about.
    """

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def log(self, level: int, pattern: str, *parts: object) -> None:
        """Take one line."""
        line = pattern % parts
        self._trouble.note_line(line)
        if structlog.is_configured():
            log_lines.debug("client", level=level, text=line)
