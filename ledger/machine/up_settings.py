"""What `lakeledger up` runs on one machine, and how its Kafka is administered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ledger.config.address import LEDGER_DEFAULT, home_folder, option_text
from ledger.config.settings import LogSettings, NotifierSettings
from ledger.machine.kafka.broker import Broker
from ledger.machine.secured import Secured


@dataclass(frozen=True, slots=True)
class UpSettings:
    """What runs: `bootstrap` None = the embedded broker; `home` None = the user's data folder.

    The follower answers reads at `http`: port 0 = any free port, None = a free port of loopback,
    "off" = no server. `cache_http`, `publisher_http` and `iceberg_http` are the same for these.
    Tables that the Iceberg catalog makes lie below `warehouse`, None = a folder of the ledger.
    `lease_s` None = the configured lease. With `flush` a single broker flushes acknowledged records
    to the disk; an embedded one gets the setting at each start. With `rebuild` all rows are made
    anew from the log. With `begin_anew` the remains of a ledger without events are deleted.
    `client` are settings of Kafka's client; the roles find them by themselves. With `secure` the
    embedded broker and all HTTP servers demand a login and speak TLS; `hosts` are further names of
    the servers. A ledger that was secured once stays so. Its leader takes old events from
    the log by the settings `log`. Each mapping in `ingests` runs in a process of its own; its value
    are the topics that it reads from the Kafka of the ledger.
    """

    ledger: str = LEDGER_DEFAULT
    home: Path | None = None
    bootstrap: str | None = None
    port: int | None = None
    sequencers: int = 2
    caches: int = 0
    with_publisher: bool = False
    with_spark: bool = False
    with_iceberg: bool = False
    with_flusher: bool = True
    notifier: NotifierSettings = NotifierSettings()  # noqa: RUF009 - it never changes
    log: LogSettings = LogSettings()  # noqa: RUF009 - as above
    ingests: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    http: str | None = None
    cache_http: str | None = None
    publisher_http: str | None = None
    iceberg_http: str | None = None
    notifier_http: str | None = None
    ingest_http: str | None = None
    lease_s: float | None = None
    replication: int = 1
    rebuild: bool = False
    flush: bool = True
    begin_anew: bool = False
    secure: bool = False
    hosts: str = ""
    warehouse: str | None = None
    client: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Return the folder of this ledger as an absolute path: clients run in other folders."""
        return (self.home or home_folder()).absolute() / self.ledger

    @property
    def secured(self) -> Secured | None:
        """The security of this ledger, None for one without a login."""
        found = Secured(self.folder)
        return found if self.bootstrap is None and (self.secure or found.is_there) else None

    @property
    def options(self) -> str:
        """Return the options by which another command finds this ledger, as they are typed."""
        named: dict[str, object] = {"--bootstrap": self.bootstrap, "--home": self.home}
        if self.ledger != LEDGER_DEFAULT:
            named["--ledger"] = self.ledger
        return option_text(named)


class Administered(NamedTuple):
    """The address of a Kafka, and the settings of a client, for an administrator."""

    bootstrap: str
    client: Mapping[str, str]


def administered(settings: UpSettings, broker: Broker | None) -> Administered:
    """Return how the Kafka of a ledger is administered."""
    if broker is None:
        return Administered(str(settings.bootstrap), settings.client)
    secured = settings.secured
    return Administered(broker.admin, settings.client if secured is None else secured.admin())
