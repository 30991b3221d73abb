"""Settings: small frozen values, one for each component, given where it is built.

Durations are in seconds and say so.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ledger.core.events.events import LedgerCreated
from ledger.core.events.parts import Limits
from ledger.core.limits import (
    BEAT_S,
    DEFAULT_LIMITS,
    JITTER_S,
    LEASE_MAX_MS,
    LEASE_MIN_MS,
    NAME_FORBIDDEN,
    SUSPECT_S,
)
from ledger.errors import SettingsError
from ledger.log.port import Log, Topic

OFF: Final = "off"
"""The setting that switches a server off."""

CATALOG_DEFAULT: Final = "main"
"""The first catalog of a ledger, and the default catalog of names."""

TIMEOUT_MAX_S: Final = 2_000_000.0
"""The longest wait; Kafka's client counts milliseconds in 32 bits."""

LEASE_MIN_S: Final = LEASE_MIN_MS / 1000
LEASE_MAX_S: Final = LEASE_MAX_MS / 1000
"""The shortest and the longest lease that a session can have."""

CHECKPOINT_S: Final = 60.0
"""How old the state checkpoint of a store may become while there are events."""


@dataclass(frozen=True, slots=True)
class Genesis:
    """The properties of a new ledger.

    Raises SettingsError for a catalog name that Hive's text forms cannot carry.
    """

    name: str
    catalog: str = CATALOG_DEFAULT
    domain: int = 0
    limits: Limits = DEFAULT_LIMITS
    ledger: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        """Check the name of the catalog."""
        if not self.catalog or any(char in NAME_FORBIDDEN for char in self.catalog):
            raise SettingsError(
                f"catalog must be one or more characters without ':' and '$', got {self.catalog!r}"
            )

    def event(self, log: Log) -> LedgerCreated:
        """Return the first event of the ledger, with the ids its topics have now."""
        return LedgerCreated(
            self.ledger,
            self.name,
            self.domain,
            log.topic_id(Topic.COMMANDS),
            log.topic_id(Topic.EVENTS),
            self.limits,
        )


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How long a client waits for answers, and how long it may be silent.

    After `timeout_s` the outcome counts as unknown, and the command must not be executed any more;
    every `attempt_s` it is sent again. A session ends after `lease_s` of silence, None = the
    ledger's lease. Heartbeats go out every `beat_s`, None = three in the shorter of the session's
    and the ledger's lease. A close without an answer takes `close_s`.
    """

    timeout_s: float = 30.0
    attempt_s: float = 5.0
    lease_s: float | None = None
    beat_s: float | None = None
    close_s: float = 2.0

    def __post_init__(self) -> None:
        """Check the lease: a sequencer would refuse each session."""
        if self.lease_s is not None:
            check_lease(self.lease_s)


@dataclass(frozen=True, slots=True)
class SequencerSettings:
    """How a sequencer leads and stands by.

    A standby claims after `suspect_s` without a sign of the leader, and later if former leaders
    ended at the command that waits. `flight_max` and `flight_bytes_max` bound the events appended
    and not yet read back. The broker may gather events for `gather_s` before it returns them: one
    by one they would cost it as much as the appends. A standby writes a state checkpoint every
    `checkpoint_positions`, and after `checkpoint_s` if an event came since, a large one more
    rarely. Health and metrics are at `http`, a `host:port` or OFF; `hosts` are as for a follower.
    """

    lease_s: float = DEFAULT_LIMITS.lease_ms / 1000
    beat_s: float = BEAT_S
    suspect_s: float = SUSPECT_S
    jitter_s: float = JITTER_S
    probe_s: float = 0.3
    housekeeping_s: float = 0.2
    flight_max: int = 10_000
    flight_bytes_max: int = 32 * 1024 * 1024
    gather_s: float = 0.05
    checkpoint_positions: int = 20_000
    checkpoint_s: float = 60 * 60.0
    claim_s: float = 10.0
    http: str = OFF
    hosts: str = ""


@dataclass(frozen=True, slots=True)
class FollowerSettings:
    """Where a follower answers HTTP, and from which lag on it counts as not ready.

    `http` is `host:port`, port 0 = any free port, or OFF. `hosts` are further names, with commas
    between them, by which clients may address it besides its own and loopback's, `*` = any name.
    `processes` are the URLs of other processes, with commas between them, whose health its pages
    show. A state checkpoint older than `checkpoint_s` is replaced if an event came since: a restart
    reads again the events after it. With `sql` the pages read rows of tables too, and answer
    queries: a reader of the pages may then read all files that this process can read.
    """

    http: str = "127.0.0.1:8181"
    hosts: str = ""
    processes: str = ""
    lag_max_s: float = 10.0
    checkpoint_s: float = CHECKPOINT_S
    sql: bool = False


@dataclass(frozen=True, slots=True)
class PublisherSettings:
    """How a publisher of Delta logs answers, what it keeps, and how long a log keeps its versions.

    `http`, `hosts` and `lag_max_s` are as for a follower. Versions older than `retention_h` hours
    go when a checkpoint is written, so that readers can begin at an older one; 0 = none. In the
    folder `store` a publisher keeps its state, so that a restart reads only the events after it;
    None = a restart reads all events. A state older than `checkpoint_s` is replaced if an event
    came since.
    """

    http: str = "127.0.0.1:8184"
    hosts: str = ""
    lag_max_s: float = 10.0
    retention_h: float = 0.0
    store: Path | None = None
    checkpoint_s: float = 10.0


@dataclass(frozen=True, slots=True)
class NotifierSettings:
    """Which receivers a notifier tells of commits and conflicts, and where it answers.

    `webhook` is a URL and `topic` a topic of the same Kafka, for CloudEvents. `openlineage` is the
    URL of a lineage server, or a file of JSON lines, for run events. A receiver gets what comes
    from its first start on, or with `from_first` all events. In the folder `store` each receiver
    has its place. `token_file` has the token for receivers at URLs. `http`, `hosts` and `lag_max_s`
    are as for a follower.
    """

    webhook: str | None = None
    topic: str | None = None
    openlineage: str | None = None
    from_first: bool = False
    store: Path | None = None
    token_file: Path | None = None
    http: str = "127.0.0.1:8185"
    hosts: str = ""
    lag_max_s: float = 60.0

    @property
    def is_on(self) -> bool:
        """Whether any receiver is named."""
        return any((self.webhook, self.topic, self.openlineage))


@dataclass(frozen=True, slots=True)
class IcebergSettings:
    """Where an Iceberg REST catalog answers, and which tables may be registered.

    `http` and `hosts` are as for a follower. `register` are folders and URIs, with commas between
    them: a table of another catalog may be registered if its metadata and its files lie below one.
    """

    http: str = "127.0.0.1:8186"
    hosts: str = ""
    register: str = ""


@dataclass(frozen=True, slots=True)
class FlusherSettings:
    """How often a flusher looks after tables, and how much it does at once.

    Every `look_s` it looks for rows in the log that are due. Every `maintain_s` it looks at tables
    whose property `lakeledger.maintain` is `on`: it writes files of `compact_bytes` anew at most,
    and every `vacuum_h` hours it deletes files that no reader needs for `retention_h` hours.
    """

    look_s: float = 1.0
    maintain_s: float = 60.0
    compact_bytes: int = 1 << 30
    vacuum_h: float = 24.0
    retention_h: float = 168.0


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """What a process of an ingest runs, where it answers, and when it counts as not ready.

    `mapping` is the file of its mapping. `http` and `hosts` are as for a follower. `lag_max_s`
    bounds the time for which records wait.
    """

    mapping: Path | None = None
    http: str = "127.0.0.1:8187"
    hosts: str = ""
    lag_max_s: float = 60.0


CacheSource = Literal["events", "published"]


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """What a cache process holds, and where it answers.

    It holds at most `bytes_max` bytes of objects and answers at `http`, a `host:port`, port 0 = any
    free port; `hosts` are as for a follower. No read waits for longer than `max_wait_ms`. Every
    `sample_every_s` it is compared with its store. More than `lag_max_s` behind the log it counts
    as not ready. It is filled from the `events` of the log, with the rows of this host behind it,
    or from the rows that a feeder has `published`; then it needs neither.
    """

    source: CacheSource = "events"
    bytes_max: int = 256 << 20
    http: str = "127.0.0.1:8182"
    hosts: str = ""
    sample_every_s: float = 10.0
    max_wait_ms: int = 10_000
    lag_max_s: float = 10.0


@dataclass(frozen=True, slots=True)
class FeederSettings:
    """How often Spark folds; `trigger_ms` 0 = batch after batch.

    With `publish` the rows of metadata also go to the ledger's cache topic, for other hosts.
    `checkpoint_s` is as for a follower. `client_config` is a file of settings for the Kafka client
    of Spark's JVM, whose settings of the login have other names than librdkafka's.
    """

    trigger_ms: int = 0
    publish: bool = False
    checkpoint_s: float = CHECKPOINT_S
    client_config: Path | None = None


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Where processes without rows begin, what a backup keeps, and what leaves the log.

    They begin with the newest image of rows in the backup `archive`, "off" = with none; None = the
    backup that the trim of the log names, and all events of a log that was not trimmed. A backup
    keeps the newest `images`. With `keep_days` the leader takes older events from the log, every
    `trim_every_s` at most; the backup `archive` must hold them. None = they stay.
    """

    archive: str | None = None
    images: int = 2
    keep_days: float | None = None
    trim_every_s: float = 6 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class WebSettings:
    """What every HTTP server of this process demands of its clients, and its certificate.

    `tokens` is a file of `lakeledger token`; a request must show one of them. With `certificate`
    and `key`, PEM files, the server speaks TLS. Beyond loopback it starts without these only if it
    is `open` on purpose.
    """

    tokens: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    open: bool = False


UNLOCKED: Final = WebSettings()
"""No tokens and no TLS: for loopback."""


def check_lease(lease_s: float) -> None:
    """Raise TypeError or ValueError for a lease that no session can have."""
    if isinstance(lease_s, bool) or not isinstance(lease_s, int | float):
        raise TypeError(f"lease_s must be a number of seconds, got {lease_s!r}")
    if not LEASE_MIN_S <= lease_s <= LEASE_MAX_S:
        raise ValueError(f"lease_s must be {LEASE_MIN_S} to {LEASE_MAX_S:.0f} s, got {lease_s}")


def checked_timeout(timeout_s: float) -> float:
    """Return a timeout; raises TypeError or ValueError for an impossible one."""
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float):
        raise TypeError(f"timeout_s must be a number of seconds, got {timeout_s!r}")
    if not 0 <= timeout_s <= TIMEOUT_MAX_S:
        raise ValueError(f"timeout_s must be 0 to {TIMEOUT_MAX_S:.0f}, got {timeout_s}")
    return timeout_s


def hosts_of(text: str) -> tuple[str, ...]:
    """Return the names in a setting of hosts."""
    return tuple(name for each in text.split(",") if (name := each.strip()))
