"""The settings of every Kafka client of the ledger, and the meaning of its errors.

The clients themselves are in `reader`, `writer`, `log` and `admin`. Names of settings and of errors
are librdkafka's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ledger.core.limits import RECORD_BYTES_MAX
from ledger.errors import (
    AccessDeniedError,
    LogError,
    LoginRefusedError,
    LogUnavailableError,
    OffsetGoneError,
    SettingsError,
    TopicMissingError,
)
from ledger.log.kafka.bootstrap import check_bootstrap
from ledger.log.kafka.trouble import (
    CLOSED,
    NO_LOGIN,
    NO_RIGHT,
    NO_TOPIC,
    NOT_CONNECTED,
    ClientError,
    ClientLines,
    Trouble,
)

# Defaults that suit a ledger; a deployment may set others.
SUITED: Final = {
    # With one family, the resolver finds no address on a machine that has only loopback, not even
    # 127.0.0.1 (AI_ADDRCONFIG).
    "broker.address.family": "any",
    "reconnect.backoff.max.ms": 1_000,
    "socket.connection.setup.timeout.ms": 3_000,
    "topic.metadata.propagation.max.ms": 3_000,  # An absent topic is reported after 3 s, not 30.
    # A broker that hangs keeps its connections open, and by default a client waits a minute for it,
    # long after another broker took over. A lease is 10 s.
    "socket.timeout.ms": 6_000,
}
SUITED_READER: Final = {
    "group.id": "lakeledger",  # The client requires one; no group is ever joined.
    "fetch.wait.max.ms": 500,  # The broker answers at once when there is something.
    "fetch.min.bytes": 1,
    "fetch.queue.backoff.ms": 10,  # By default a full queue is left alone for a whole second.
    "queued.max.messages.kbytes": 16 * 1024,
}
SUITED_WRITER: Final = {
    "message.max.bytes": RECORD_BYTES_MAX,
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 64 * 1024,
    "compression.type": "none",
}
# A broker that gathers records for a reader answers after the given time, or with this much.
GATHERED_BYTES: Final = 64 * 1024
# The ledger's safety depends on these settings, so a deployment may not change them.
FIXED_READER: Final = {
    "auto.offset.reset": "error",  # The default skips what was not read, silently.
    "enable.auto.commit": False,  # Positions live with the data they belong to.
    "isolation.level": "read_uncommitted",  # A stray transaction must not hold a reader up.
    "check.crcs": True,
    # The client skips the marker of a stray transaction silently; only this event shows the skip.
    "enable.partition.eof": True,
}
FIXED_WRITER: Final = {
    "acks": "all",
    "enable.idempotence": True,
    # Records written during a request share the next one. An idle writer loses no time, and a busy
    # one costs the broker half as much as with several requests in flight.
    "max.in.flight.requests.per.connection": 1,
    "delivery.report.only.error": True,
}
FIXED: Final = (FIXED_READER.keys() | FIXED_WRITER.keys()) | {
    "transactional.id",
    "default.topic.config",  # Its settings of topics override the ones outside of it.
    "request.required.acks",
    "max.in.flight",
    "auto.commit.enable",
}
# The ledger sets these itself and would override any choice.
OWN: Final = frozenset(
    {"bootstrap.servers", "metadata.broker.list", "error_cb", "logger"}
    | {"linger.ms", "queue.buffering.max.ms", "message.timeout.ms", "delivery.timeout.ms"}
)

OFFSET_GONE: Final = frozenset({"_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE", "_LOG_TRUNCATION"})
DAMAGED: Final = frozenset({"_BAD_MSG", "_BAD_COMPRESSION", "INVALID_MSG"})
NO_ANSWER: Final = frozenset(
    {"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_MSG_TIMED_OUT", "REQUEST_TIMED_OUT"}
    | {"_TRANSPORT", "_RESOLVE", NOT_CONNECTED, "_WAIT_COORD"}
)
# The errors of a wait that reached its timeout.
WAITED: Final = frozenset({"_TIMED_OUT", NOT_CONNECTED})
NO_LEADER: Final = frozenset(
    {"NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE"}
    | {"FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "REPLICA_NOT_AVAILABLE"}
    # The error of a request to a broker that was removed from the cluster meanwhile.
    | {"_DESTROY_BROKER"}
)
TOO_FEW: Final = frozenset({"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"})
TOO_LARGE: Final = frozenset({"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"})
PROTOCOL: Final = "security.protocol"
PROTOCOL_DEFAULT: Final = "PLAINTEXT"
USER: Final = "sasl.username"

MEANINGS: Final[dict[str, str]] = {
    **dict.fromkeys(DAMAGED, "the bytes fail their checksum; restore the topic from a copy"),
    **dict.fromkeys(NO_TOPIC, "no such topic; check the ledger's name, or create the ledger"),
    **dict.fromkeys(NO_LOGIN, "login refused; check user, password, mechanism, certificates"),
    CLOSED: (
        "the broker closes the connection before it answers: broker and client differ in TLS or "
        "in the use of a login; set security.protocol in client_config to PLAINTEXT, SSL, "
        "SASL_PLAINTEXT or SASL_SSL"
    ),
    **dict.fromkeys(NO_ANSWER, "no answer in time; see whether the broker runs and is in reach"),
    **dict.fromkeys(NO_LEADER, "its leader is changing; try again, or bring its brokers back"),
    **dict.fromkeys(TOO_FEW, "too few replicas are in sync; bring brokers back, then try again"),
    **dict.fromkeys(TOO_LARGE, "the record is larger than the topic allows; write a smaller one"),
}
NOT_KNOWN: Final = (-1, -1)
FATAL: Final = "the client gave up for good; end this process and start it again"
OTHER: Final = "the broker refused"


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of the brokers, and librdkafka settings of a deployment such as the login.

    Raises SettingsError if `bootstrap` is no address, or if `client` holds a setting on which the
    ledger's safety depends or that the ledger sets itself.
    """

    bootstrap: str
    client: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise SettingsError for a wrong address and for settings that cannot be chosen."""
        check_bootstrap(self.bootstrap)
        if fixed := sorted(FIXED & self.client.keys()):
            raise SettingsError(
                f"the ledger's safety depends on the Kafka settings {', '.join(fixed)}; they cannot"
                " be chosen. Leave them out"
            )
        if own := sorted(OWN & self.client.keys()):
            raise SettingsError(
                f"the ledger sets the Kafka settings {', '.join(own)} itself. Leave them out"
            )

    def trouble(self) -> Trouble:
        """Return the callback to which a client of this connection reports its errors."""
        return Trouble(
            user=str(self.client.get(USER, "")),
            protocol=str(self.client.get(PROTOCOL, PROTOCOL_DEFAULT)).upper(),
        )

    def admin(self, trouble: Trouble) -> dict[str, Any]:
        """Return the settings of an admin client."""
        return self._settings(trouble, {}, {})

    def reader(self, trouble: Trouble, *, gather_s: float = 0.0) -> dict[str, Any]:
        """Return the settings of a consumer; the broker gathers records for `gather_s`."""
        gather = {"fetch.min.bytes": GATHERED_BYTES, "fetch.wait.max.ms": round(gather_s * 1000)}
        return self._settings(trouble, SUITED_READER, FIXED_READER | (gather if gather_s else {}))

    def writer(
        self, trouble: Trouble, *, linger_ms: float, delivery_timeout_s: float
    ) -> dict[str, Any]:
        """Return the settings of a producer."""
        chosen = {"linger.ms": linger_ms, "message.timeout.ms": int(delivery_timeout_s * 1000)}
        return self._settings(trouble, SUITED_WRITER, {**chosen, **FIXED_WRITER})

    def _settings(
        self, trouble: Trouble, suited: Mapping[str, Any], fixed: Mapping[str, Any]
    ) -> dict[str, Any]:
        own = {
            "bootstrap.servers": self.bootstrap,
            "error_cb": trouble,
            "logger": ClientLines(trouble),
        }
        return {**SUITED, **suited, **self.client, **fixed, **own}


def as_log_error(
    error: ClientError,
    topic: str,
    *,
    because: ClientError | None = None,
    right: str = "",
    user: str = "",
    wanted: int = -1,
    held: tuple[int, int] = NOT_KNOWN,
) -> LogError:
    """Return the ledger's error for an error of the client.

    `because` is an error that the client got before a time-out. `right` is the right that the
    caller needs on the topic, and `user` is the login. `wanted` is an offset that is gone, `held`
    are the first and the end offset of the topic.
    """
    reason = error
    if because is not None and error.name() in NO_ANSWER:
        reason = because
    said = f"{error.name()}: {error.str()}" + ("" if reason is error else f", {reason.str()}")
    if error.name() in OFFSET_GONE:
        holds = "" if held == NOT_KNOWN else f", the topic holds {held[0]} to {held[1]}"
        return OffsetGoneError(
            f"{topic}: offset {wanted} is gone{holds}. The record was removed, or the topic was cut"
            f" or created anew; start from a checkpoint or from the beginning ({said})",
            wanted=wanted,
            earliest=max(0, held[0]),
        )
    if reason.name() in NO_RIGHT:
        text = f"{topic}: {denial(topic, right, user)} ({said})"
        return AccessDeniedError(text, topic=topic, right=right)
    text = f"{topic}: {meaning(reason)} ({said})"
    if reason.name() in NO_TOPIC:
        return TopicMissingError(text, topic=topic)
    if reason.name() in NO_LOGIN or reason.name() == CLOSED:
        return LoginRefusedError(text)
    kind = LogError if error.name() in DAMAGED else LogUnavailableError
    return kind(text)


def denial(topic: str, right: str, user: str) -> str:
    """Return the text for a missing right, with its remedy."""
    named = f"user {user}" if user else "this user"
    missing = f"{right} on topic {topic}" if right else f"a right on topic {topic}"
    return (
        f"{named} lacks {missing}; grant it: `lakeledger acl --principal {user or 'NAME'} --role "
        "ROLE` prints the commands for all that a role needs"
    )


def meaning(error: ClientError) -> str:
    """Return the meaning of a client's error, with its remedy."""
    if error.fatal():
        return FATAL
    return MEANINGS.get(error.name(), OTHER)
