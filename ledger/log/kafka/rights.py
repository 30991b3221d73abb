"""The rights that each role needs on the topics of a ledger, no more and no less. No I/O.

This table is the only source. The command that prints the rights, the page of the docs, and the
test on a broker that denies everything else read it. READ and WRITE include DESCRIBE. No role needs
a right on a consumer group or on the cluster: partitions are assigned by hand, and a broker accepts
idempotent writes from a user with WRITE on a topic.

`commands` returns the rights in the form in which an administrator of Kafka grants them. A
principal is the name of a user, or Kafka's full form, such as `User:CN=lake`.
"""

import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final, Literal, NamedTuple

from ledger.errors import SettingsError
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.port import MADE, Topic

Right = Literal[
    "READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "DELETE"
]

READ: Final = "READ"
WRITE: Final = "WRITE"
CREATE: Final = "CREATE"
DESCRIBE: Final = "DESCRIBE"
DESCRIBE_CONFIGS: Final = "DESCRIBE_CONFIGS"
ALTER_CONFIGS: Final = "ALTER_CONFIGS"
DELETE: Final = "DELETE"

Rights = Mapping[Topic, tuple[Right, ...]]

# The catalogs topic marks events that were restored from a backup, so each reader reads it too.
FOLLOWED: Final[Rights] = {Topic.EVENTS: (READ,), Topic.CATALOGS: (READ,)}
REGISTERED: Final[Rights] = {**FOLLOWED, Topic.CONSUMERS: (WRITE,)}
"""The rights of a process that follows the log, and says how far it is."""

READ_AND_COMPARED: Final[Rights] = dict.fromkeys(
    (Topic.EVENTS, Topic.CATALOGS), (READ, DESCRIBE_CONFIGS)
)


WRITTEN: Final[Rights] = {
    Topic.COMMANDS: (WRITE,),
    Topic.HEARTBEATS: (WRITE,),
    **FOLLOWED,
    Topic.CHECKPOINTS: (READ,),
}
"""The rights of a process that commits."""

LED: Final[Rights] = {
    Topic.COMMANDS: (READ, DESCRIBE_CONFIGS),
    Topic.EVENTS: (READ, WRITE, DESCRIBE_CONFIGS),
    Topic.HEARTBEATS: (READ, WRITE, DESCRIBE_CONFIGS),
    Topic.BEATS: (READ, WRITE, DESCRIBE_CONFIGS),
    Topic.CHECKPOINTS: (READ, WRITE, DESCRIBE_CONFIGS),
    Topic.CATALOGS: (READ, DESCRIBE_CONFIGS),
}


class RoleRights(NamedTuple):
    """The work of a process, in the words of the docs, and the rights for it."""

    does: str
    rights: Rights


ROLES: Final[Mapping[str, RoleRights]] = {
    "init": RoleRights(
        "`lakeledger init`: creates the topics, and compares their settings",
        dict.fromkeys(MADE, (CREATE, DESCRIBE, DESCRIBE_CONFIGS)),
    ),
    "sequencer": RoleRights("`lakeledger serve sequencer`: leads, or stands by", LED),
    "trimming-sequencer": RoleRights(
        "`lakeledger serve sequencer` with `log.keep_days`: also takes old events from the log",
        {
            **LED,
            Topic.COMMANDS: (READ, WRITE, DESCRIBE_CONFIGS),
            Topic.EVENTS: (READ, WRITE, DELETE, DESCRIBE_CONFIGS),
            Topic.CATALOGS: (READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CONSUMERS: (READ,),
        },
    ),
    "client": RoleRights(
        "`Ledger.connect` of the SDK, and every command that makes changes", WRITTEN
    ),
    "operator": RoleRights(
        "`lakeledger status`, `log tail` and `log verify`: looks at a ledger",
        {
            **dict.fromkeys((Topic.COMMANDS, Topic.HEARTBEATS), (DESCRIBE, DESCRIBE_CONFIGS)),
            **READ_AND_COMPARED,
            **dict.fromkeys((Topic.CHECKPOINTS, Topic.BEATS), (READ, DESCRIBE_CONFIGS)),
            Topic.CONSUMERS: (READ,),
        },
    ),
    "follower": RoleRights(
        "`lakeledger serve follower`: keeps the rows of a host, and shows what follows the log",
        {**REGISTERED, Topic.CONSUMERS: (READ, WRITE)},
    ),
    "cache": RoleRights(
        "`lakeledger serve cache`: keeps metadata in memory, beside the rows of its host",
        {**REGISTERED, Topic.CHECKPOINTS: (READ,)},
    ),
    "published-cache": RoleRights(
        "`lakeledger serve cache --source published`: keeps the metadata that a feeder publishes",
        {Topic.CACHE: (READ,), Topic.EVENTS: (DESCRIBE,)},
    ),
    "feeder": RoleRights(
        "`lakeledger serve feeder`: keeps the rows of a host by Spark", REGISTERED
    ),
    "publishing-feeder": RoleRights(
        "`lakeledger serve feeder --publish`: also sends metadata to published caches",
        {
            **REGISTERED,
            Topic.EVENTS: (READ, DESCRIBE_CONFIGS),
            Topic.CACHE: (CREATE, READ, WRITE, DESCRIBE_CONFIGS),
        },
    ),
    "publisher": RoleRights(
        "`lakeledger serve publisher`: writes the Delta logs of published tables", REGISTERED
    ),
    "iceberg": RoleRights(
        "`lakeledger serve iceberg`: reads and writes for clients of Apache Iceberg", WRITTEN
    ),
    "flusher": RoleRights(
        "`lakeledger serve flusher`: puts rows of the log into files, and keeps tables in order",
        WRITTEN,
    ),
    "notifier": RoleRights(
        "`lakeledger serve notifier`: tells other programs of commits and conflicts",
        {**REGISTERED, Topic.CHECKPOINTS: (READ,)},
    ),
    "ingest": RoleRights(
        "`lakeledger ingest`: commits rows of other topics; it also needs READ on these and on its "
        "consumer group",
        {**WRITTEN, Topic.CONSUMERS: (WRITE,)},
    ),
    "recover": RoleRights(
        "`lakeledger recover`: reports what a log has lost, and lets the ledger continue",
        {
            Topic.EVENTS: (READ, WRITE),
            Topic.CATALOGS: (READ, WRITE),
            Topic.CHECKPOINTS: (READ, WRITE),
            Topic.BEATS: (READ,),
            Topic.COMMANDS: (DESCRIBE,),
        },
    ),
    "backup": RoleRights(
        "`lakeledger backup`: copies the events, and the settings of the topics",
        {**dict.fromkeys(Topic, (DESCRIBE, DESCRIBE_CONFIGS)), **READ_AND_COMPARED},
    ),
    "trim": RoleRights(
        "`lakeledger log trim`, `log pin` and `consumers forget`: lets old events leave the log",
        {
            **WRITTEN,
            Topic.EVENTS: (READ, DELETE),
            Topic.CATALOGS: (READ, WRITE),
            Topic.CONSUMERS: (READ, WRITE),
        },
    ),
    "forget": RoleRights(
        "`lakeledger table forget`: takes rows out for good, and searches every topic for them",
        {
            **dict.fromkeys(Topic, (READ,)),
            **WRITTEN,
            Topic.COMMANDS: (READ, WRITE),
            Topic.HEARTBEATS: (READ, WRITE),
        },
    ),
    "restore": RoleRights(
        "`lakeledger restore`: creates the topics, and writes the events of a backup",
        {
            **dict.fromkeys(Topic, (CREATE, DESCRIBE, DESCRIBE_CONFIGS)),
            Topic.EVENTS: (CREATE, READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CATALOGS: (CREATE, READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CACHE: (DESCRIBE,),
        },
    ),
}


class Binding(NamedTuple):
    """One right of a role on one topic, by Kafka's name of the topic."""

    topic: str
    right: Right


def shown(rights: Rights) -> str:
    """Return rights in the form of the docs, with topics grouped by equal rights."""
    topics: dict[tuple[Right, ...], list[Topic]] = {}
    for topic, each in rights.items():
        topics.setdefault(each, []).append(topic)
    return "; ".join(f"{', '.join(each)} on {', '.join(of)}" for each, of in topics.items())


def bindings(ledger: str, role: str) -> Iterator[Binding]:
    """Yield the rights of a role; raises SettingsError for an unknown role or a bad ledger name."""
    if role not in ROLES:
        raise SettingsError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    for topic, rights in ROLES[role].rights.items():
        for right in rights:
            yield Binding(topic_name(ledger, topic), right)


USER: Final = "User:"


class Acl(NamedTuple):
    """One right in the words of Kafka's tools and API."""

    principal: str
    host: str
    resource: str
    name: str
    pattern: str
    operation: str
    permission: str


def acls(ledger: str, principal: str, role: str) -> list[Acl]:
    """Return the rights of a principal in a role of a ledger."""
    named = principal if ":" in principal else f"{USER}{principal}"
    return [
        Acl(named, "*", "TOPIC", topic, "LITERAL", right, "ALLOW")
        for topic, right in bindings(ledger, role)
    ]


def commands(given: list[Acl], bootstrap: str) -> Iterator[str]:
    """Yield a command of Kafka's own tool for each topic, with all rights on it."""
    for (principal, topic), group in groupby(given, lambda each: (each.principal, each.name)):
        operations = [
            word for each in group for word in ("--operation", tool_spelling(each.operation))
        ]
        words = ["kafka-acls.sh", "--bootstrap-server", bootstrap, "--add"]
        yield shlex.join([*words, "--allow-principal", principal, *operations, "--topic", topic])


def tool_spelling(operation: str) -> str:
    """Return an operation in the spelling of the tool, such as DescribeConfigs."""
    return "".join(word.capitalize() for word in operation.split("_"))
