"""The errors that a Kafka client reports to callbacks, and the ones that waiting does not mend.

A client reports a refused login to a callback while its caller waits for an answer in vain. The
errors are kept here, so that the caller can end its wait and name the reason. Names of errors are
librdkafka's.
"""

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Protocol

from ledger.log_lines import LogLines, is_set_up

UNKNOWN_HERE: Final = "_UNKNOWN_PARTITION"
NO_TOPIC: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", UNKNOWN_HERE})
NO_LOGIN: Final = frozenset({"_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL"})
NO_RIGHT: Final = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
# The client looks up the coordinator of its group by itself. No group is ever joined, so a refusal
# of the broker to name it does no harm.
NO_GROUP: Final = "GROUP_AUTHORIZATION_FAILED"
NOT_CONNECTED: Final = "_ALL_BROKERS_DOWN"
# Our own name for a case without an error name: the broker accepted the connection and closed it.
CLOSED: Final = "CLOSED_AT_ONCE"
CLOSED_WORD: Final = "Disconnected"
FAILED_LINE: Final = "FAIL"
# Waiting does not mend these: a reader that meets one raises instead of returning nothing.
REFUSALS: Final = NO_TOPIC | NO_LOGIN | NO_RIGHT
# A record with such an error was not written: the broker refused, or it never left this process.
NOT_WRITTEN: Final = NO_RIGHT | {"_PURGE_QUEUE"}
# One broker of several may refuse alone; the others have this long to answer.
STANDING_S: Final = 0.6

log_lines = LogLines("lakeledger.kafka")


class ClientError(Protocol):
    """The part of `KafkaError` that is used here."""

    def name(self) -> str:
        """Return librdkafka's name of the error."""
        ...

    def str(self) -> str:
        """Return the client's message."""
        ...

    def fatal(self) -> bool:
        """Tell whether the client cannot be used any more."""
        ...


class ClientMessage(Protocol):
    """The part of an undelivered message that is used here."""

    def value(self) -> bytes | None:
        """Return the value of the message."""
        ...


@dataclass(frozen=True, slots=True)
class Closed:
    """The error of a connection that the broker closed before it answered anything."""

    words: str

    def name(self) -> str:
        """Return the word for a connection that was closed at once."""
        return CLOSED

    def str(self) -> str:
        """Return the client's own words."""
        return self.words

    def fatal(self) -> bool:
        """Tell that the client tries again."""
        return False


@dataclass(slots=True)
class Trouble:
    """The errors from error_cb since the last success of a client, and its undelivered records.

    `last` is the newest error, which explains a time-out. `refusal` is the newest error that
    waiting does not mend, `refused_s` the time of the first one. `undelivered` is the error of the
    first undelivered record, which is never cleared, and `because` is `last` at that time.
    `unwritten` counts the values that were certainly not written; records in flight while a
    connection fails are not certain (`was_cut`). Nothing here refers to the client, so that a
    dropped client is freed at once and not by a later garbage collection.
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
        """Note an error; the client calls this, only inside its own calls."""
        name = error.name()
        if name == NO_GROUP:
            return
        if name in REFUSALS:
            self.refusal = error
            self._begin()
        # "All brokers are down" comes together with the reason for each broker.
        if name != NOT_CONNECTED or self.last is None:
            self.last = error
        if name != NOT_CONNECTED and CLOSED_WORD not in error.str():
            self.closed = None

    def note_line(self, line: str) -> None:
        """Note a log line of the client: only these report that a connection failed."""
        if not line.startswith(FAILED_LINE):
            return
        self.was_cut = True
        if CLOSED_WORD in line and not self.has_answered:
            self.closed = Closed(f"security.protocol is {self.protocol}; {line}")
            self._begin()

    def note_delivery(self, error: ClientError | None, record: ClientMessage | None = None) -> None:
        """Note an undelivered record; only the error of the first one is kept."""
        if error is None:
            return
        if record is not None and error.name() in NOT_WRITTEN and not self.was_cut:
            self.unwritten[record.value() or b""] += 1
        if self.undelivered is None:
            self.undelivered, self.because = error, self.last

    def standing(self) -> ClientError | None:
        """Return a refusal that lasted for a while without an answer of any broker, or None."""
        if self.refused_s is None or monotonic() - self.refused_s < STANDING_S:
            return None
        return self.refusal or self.closed

    def clear(self) -> None:
        """Forget all errors after a success."""
        self.last = self.refusal = self.refused_s = self.closed = None
        self.has_answered = True

    def _begin(self) -> None:
        if self.refused_s is None:
            self.refused_s = monotonic()


class ClientLines:
    """Takes the log lines of librdkafka and logs them as debug lines, if structlog is set up.

    By default librdkafka would print every line.
    """

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def log(self, level: int, pattern: str, *parts: object) -> None:
        """Take one line."""
        line = pattern % parts
        self._trouble.note_line(line)
        if is_set_up():
            log_lines.debug("client", level=level, text=line)
