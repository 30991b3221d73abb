"""Up: every process of a ledger on one machine, from an empty folder to the first commit.

The processes are the embedded broker (or a Kafka given by its address), two sequencers of which one
stands by, the follower, the flusher and, on request, metadata caches, the publisher of Delta logs,
the catalog for clients of Iceberg and the feeder in Spark. All of them are children of this
process, which restarts them when they fail and stops them at its end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from ledger.config.address import KEYS, KEYS_FOLDER, LOCK, Address
from ledger.config.config import load
from ledger.config.private import close_to_others, make_private
from ledger.config.search import log_of
from ledger.config.settings import OFF, hosts_of
from ledger.definitions.client_reads import open_store
from ledger.errors import SettingsError
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.port import Topic
from ledger.log_lines import is_debugged
from ledger.machine.certificates import library
from ledger.machine.coming_up import wait_for_answers, wait_for_leader, wait_for_rows
from ledger.machine.endpoints import Endpoint, KeptPorts
from ledger.machine.folder import BROKER, SPARK, STORE, alone_in
from ledger.machine.former_rows import (
    check_rows,
    check_rows_given_up,
    let_go,
    set_aside,
    set_rows_aside,
)
from ledger.machine.kafka.broker import Broker
from ledger.machine.kafka.jars import fetch
from ledger.machine.own_topics import kept_right, make_topics
from ledger.machine.room import WAREHOUSE
from ledger.machine.secured import Secured
from ledger.machine.supervisor import SupervisedRole, Supervisor
from ledger.machine.up_settings import UpSettings, administered
from ledger.trimming.policy import rules_of

FOLLOWER = "follower"
PUBLISHER = "publisher"
NOTIFIER = "notifier"
ICEBERG = "iceberg"
FLUSHER = "flusher"
INGEST = "ingest"


@dataclass(frozen=True, slots=True)
class Running:
    """A ledger that is up: its address and its processes.

    `has_rows` says whether the rows had reached the log's position when the ledger came up.
    """

    address: Address
    supervisor: Supervisor
    broker: Broker | None
    cache_urls: Sequence[str] = ()
    has_rows: bool = True
    probe_urls: Sequence[str] = ()

    def roles(self) -> Mapping[str, int]:
        """Return the process ids by role."""
        return {role.name: role.pid for role in self.supervisor.roles}


@contextmanager
def running(
    settings: UpSettings, say: Callable[[str], None] = lambda _line: None
) -> Iterator[Running]:
    """Bring a ledger up, and down again on leaving; `say` reports each step.

    Raises SettingsError, JarsError, BrokerError, LogUnavailableError or RoleEndedError with what to
    do.
    """
    check(settings)
    folder = made_folder(settings.folder)
    with alone_in(folder):
        yield from brought_up(settings, say)


def made_folder(folder: Path) -> Path:
    """Return the folder of a ledger, made if it is not there; raises SettingsError."""
    try:
        make_private(folder)
        close_to_others(folder)
        (folder / LOCK).touch()
    except OSError as problem:
        raise SettingsError(
            f"the folder {folder} cannot be used ({problem}). Choose another --home, or make it "
            "one that this user may write to"
        ) from problem
    return folder


def check(settings: UpSettings) -> None:
    """Raise SettingsError for impossible names and addresses, before anything is made."""
    if settings.client and settings.bootstrap is None:
        raise SettingsError(
            "client_config is for another Kafka, as the embedded broker needs no login; give the "
            "address of that Kafka with --bootstrap, or leave client_config out"
        )
    if settings.secure and settings.bootstrap is not None:
        raise SettingsError(
            "--secure is for the embedded broker; for a Kafka of your own, name its login in "
            "client_config, and tokens and certificate in web.tokens, web.certificate and web.key"
        )
    if settings.secure:
        library()
    topic_name(settings.ledger, Topic.EVENTS)
    rules_of(settings.log)
    if settings.cache_http is not None and settings.caches > 1:
        raise SettingsError(
            f"cache.http is {settings.cache_http}, the address of a single cache, but there are "
            f"{settings.caches}; leave that setting out, and each cache gets its own port"
        )
    if settings.ingest_http is not None and len(settings.ingests) > 1:
        raise SettingsError(
            f"ingest.http is {settings.ingest_http}, the address of a single ingest, but there are "
            f"{len(settings.ingests)}; leave that setting out, and each gets its own port"
        )
    chosen = settings.http, settings.cache_http, settings.publisher_http, settings.notifier_http
    for http in (*chosen, settings.iceberg_http, settings.ingest_http):
        if http is not None and http != OFF:
            Endpoint.parse(http)


def brought_up(settings: UpSettings, say: Callable[[str], None]) -> Iterator[Running]:
    """Bring a ledger up, yield it once, and take it down."""
    folder, ending, secured = settings.folder, Ending(), settings.secured
    scheme = "http" if secured is None else "https"
    broker = start_broker(settings, say)
    try:
        bootstrap = broker.bootstrap if broker is not None else str(settings.bootstrap)
        reached = administered(settings, broker)
        make_topics(settings, reached, say)
        if secured is not None:
            admit(secured, settings, reached.bootstrap)
        ports = KeptPorts(folder, say)
        http = ports.endpoint_of(FOLLOWER, settings.http)
        url = None if http == OFF else f"{scheme}://{http}"
        address = Address(
            *(bootstrap, settings.ledger, folder / STORE, url),
            publisher_url=publisher_url(settings, ports, scheme),
            iceberg_url=iceberg_url(settings, ports, scheme),
        )
        if secured is not None:
            address = replace(
                address,
                client_config=secured.client_file(),
                token_file=secured.token,
                ca_file=secured.ca,
            )
        with closing(log_of(address)) as log:
            compare = check_rows_given_up if settings.rebuild else check_rows
            compare(folder / STORE, log, settings.options)
        if settings.rebuild:
            set_rows_aside(folder, say)
            say("reads find no rows until the new ones are made")
        caches = [ports.endpoint_of(name, settings.cache_http) for name in cache_names(settings)]
        # An operator who wants no HTTP of the follower wants none of the sequencers.
        off = OFF if http == OFF else None
        probes = [ports.endpoint_of(name, off) for name in sequencer_names(settings)]
        others = other_endpoints(settings, ports, off)
        roles = roles_of(settings, address, caches, probes, others)
        supervisor = Supervisor(roles, tells_stacks=is_debugged())
        say(f"starting {', '.join(role.name for role in supervisor.roles)}")
        try:
            supervisor.start()
            has_rows = come_up(address, folder, supervisor, say)
            if has_rows and any(set_aside(folder / STORE)):
                with closing(open_store(folder / STORE)) as reads:
                    let_go(folder, reads, say)
            urls = [f"{scheme}://{cache}" for cache in caches]
            answering = [f"{scheme}://{at}" for at in (*probes, *others.values()) if at != OFF]
            with kept_right(settings, reached, say):
                yield Running(address, supervisor, broker, urls, has_rows, answering)
        finally:
            try:
                ending.of(supervisor.stop, supervisor.kill)
            finally:
                address.remove(folder)
    finally:
        if broker is not None:
            ending.of(broker.stop, broker.kill)


def admit(secured: Secured, settings: UpSettings, bootstrap: str) -> None:
    """Give the users of a secured ledger the rights for all that it runs."""
    topic, trims = settings.notifier.topic, settings.log.keep_days is not None
    sources = [name for topics in settings.ingests.values() for name in topics]
    secured.admit(bootstrap, settings.ledger, topic, trims=trims, sources=sources)


def come_up(
    address: Address, folder: Path, supervisor: Supervisor, say: Callable[[str], None]
) -> bool:
    """Wait until a ledger can be used, and write its address; returns whether it has its rows."""
    newest = wait_for_leader(address, supervisor)
    address.write(folder)
    has_rows = wait_for_rows(folder / STORE, newest, supervisor, say)
    for url in (address.publisher_url, address.iceberg_url):
        if url:
            wait_for_answers(url, supervisor)
    return has_rows


class Ending:
    """Ends what was started: in good order, or by kill after an interrupt."""

    def __init__(self) -> None:
        self._is_hurried = False

    def of(self, stop: Callable[[], None], kill: Callable[[], None]) -> None:
        """Stop something, or kill it after an interrupt, which is raised again."""
        if self._is_hurried:
            kill()
            return
        try:
            stop()
        except KeyboardInterrupt:
            self._is_hurried = True
            kill()
            raise


def start_broker(settings: UpSettings, say: Callable[[str], None]) -> Broker | None:
    """Return the embedded broker, or None if another Kafka is used."""
    if settings.bootstrap is not None:
        return None
    fetch()
    secured, start = settings.secured, partial(Broker.start, settings.folder / BROKER)
    start = partial(start, port=settings.port, lasting=True)
    if secured is None:
        broker = start()
    else:
        with secured.beginning():
            secured.prepare(hosts_of(settings.hosts))
            say(f"secured: logins, tokens and certificates are in {secured.at}")
            broker = start(secure=secured.at, admin=secured.admin())
    say(f"Kafka is ready at {broker.bootstrap}, its data in {broker.folder}")
    return broker


def roles_of(
    settings: UpSettings,
    address: Address,
    caches: Sequence[str],
    probes: Sequence[str],
    others: Mapping[str, str] = {},
) -> list[SupervisedRole]:
    """Return the roles to run, in starting order.

    `caches` are the endpoints of the caches, `probes` those of the sequencers, `others` that of a
    notifier and of each ingest, by name.
    """
    where = ("--bootstrap", address.bootstrap, "--ledger", address.ledger, "--with-parent")
    lease = () if settings.lease_s is None else ("--lease-s", str(settings.lease_s))
    roles = [
        SupervisedRole(name, ("serve", "sequencer", "--name", name, "--http", at, *where, *lease))
        for name, at in zip(sequencer_names(settings), probes, strict=True)
    ]
    store = str(address.store)
    anew = ("--rebuild",) if settings.rebuild else ()
    http = urlsplit(address.reads_url).netloc if address.reads_url else OFF
    known = processes_of(address, caches, (*probes, *others.values()))
    follower = ("serve", "follower", "--store", store, "--http", http, *known, *where)
    roles.append(SupervisedRole(FOLLOWER, follower, first=anew))
    for name, endpoint in zip(cache_names(settings), caches, strict=True):
        cache = ("serve", "cache", "--store", store, "--http", endpoint, *where)
        roles.append(SupervisedRole(name, cache))
    if settings.with_publisher:
        at = urlsplit(address.publisher_url).netloc if address.publisher_url else OFF
        state = str(settings.folder / PUBLISHER)
        publisher = ("serve", "publisher", "--store", state, "--http", at, *where)
        roles.append(SupervisedRole(PUBLISHER, publisher))
    if address.iceberg_url:
        roles.append(SupervisedRole(ICEBERG, iceberg_command(settings, address) + where))
    for name, endpoint in others.items():
        command = other_command(settings, address, name, endpoint)
        # A record that does not fit must not end the ledger.
        roles.append(SupervisedRole(name, command + where, is_vital=name == NOTIFIER))
    if settings.with_flusher:
        roles.append(SupervisedRole(FLUSHER, ("serve", "flusher", "--store", store, *where)))
    if settings.with_spark:
        feeder = ("serve", "feeder", "--store", str(settings.folder / SPARK), *where)
        roles.append(SupervisedRole("feeder", feeder, first=anew))
    keys = {} if load().settings.keys else {KEYS: str(settings.folder / KEYS_FOLDER)}
    secured = settings.secured
    for role in roles:
        role.environ = keys if secured is None else {**secured.environ(role.name), **keys}
    return roles


def processes_of(address: Address, caches: Sequence[str], probes: Sequence[str]) -> tuple[str, ...]:
    """Return the option that names the other processes to a follower, for its pages."""
    # A secured ledger speaks TLS everywhere.
    scheme = urlsplit(address.reads_url or "http:").scheme
    urls = [f"{scheme}://{each}" for each in (*probes, *caches) if each != OFF]
    urls += [each for each in (address.publisher_url, address.iceberg_url) if each]
    return ("--set", f"follower.processes={','.join(urls)}") if urls else ()


def sequencer_names(settings: UpSettings) -> Sequence[str]:
    """Return the names of the sequencers to run."""
    return [f"sequencer-{number + 1}" for number in range(settings.sequencers)]


def cache_names(settings: UpSettings) -> Sequence[str]:
    """Return the names of the caches to run."""
    return [f"cache-{number + 1}" for number in range(settings.caches)]


def other_endpoints(settings: UpSettings, ports: KeptPorts, off: str | None) -> dict[str, str]:
    """Return where a notifier and each ingest answer; no notifier runs without a receiver."""
    given = {NOTIFIER: settings.notifier_http} if settings.notifier.is_on else {}
    given |= dict.fromkeys(ingests_of(settings), settings.ingest_http)
    return {name: ports.endpoint_of(name, http or off) for name, http in given.items()}


def ingests_of(settings: UpSettings) -> Mapping[str, Path]:
    """Return the mapping of each ingest by the name of its process."""
    return {f"{INGEST}-{at}": path for at, path in enumerate(settings.ingests, start=1)}


def other_command(
    settings: UpSettings, address: Address, name: str, endpoint: str
) -> tuple[str, ...]:
    """Return the command of a notifier or an ingest."""
    if name == NOTIFIER:
        place = str(settings.folder / NOTIFIER)
        return ("serve", "notifier", "--store", place, "--http", endpoint)
    mapping = str(ingests_of(settings)[name])
    own = ("--store", str(address.store), "--http", endpoint, "--set", warehouse_of(settings))
    return ("serve", "ingest", mapping, *own)


def warehouse_of(settings: UpSettings) -> str:
    """Return the setting by which a role makes tables where clients here do."""
    return f"warehouse={settings.warehouse or settings.folder / WAREHOUSE}"


def iceberg_command(settings: UpSettings, address: Address) -> tuple[str, ...]:
    """Return the command of the Iceberg catalog, which makes tables where clients here do."""
    at = urlsplit(address.iceberg_url or "").netloc
    store = ("--store", str(address.store), "--http", at)
    return ("serve", "iceberg", *store, "--set", warehouse_of(settings))


def iceberg_url(settings: UpSettings, ports: KeptPorts, scheme: str) -> str | None:
    """Return where the Iceberg catalog answers, None without one."""
    if not settings.with_iceberg:
        return None
    http = ports.endpoint_of(ICEBERG, settings.iceberg_http)
    return None if http == OFF else f"{scheme}://{http}"


def publisher_url(settings: UpSettings, ports: KeptPorts, scheme: str) -> str | None:
    """Return where the publisher answers, None without one."""
    if not settings.with_publisher:
        return None
    http = ports.endpoint_of(PUBLISHER, settings.publisher_http)
    return None if http == OFF else f"{scheme}://{http}"
