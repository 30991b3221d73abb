"""The rights that each role needs on the topics of a ledger; no more, and no less. No I/O.

This table is the only source: the command that prints the rights, the page of the docs and the test
on a broker that denies everything else read it. READ and WRITE bring DESCRIBE with them. No role
needs a right on a consumer group or on the cluster: partitions are assigned by hand, and a broker
takes idempotent writes from a user that may write to a topic.

`commands_for` gives the rights as an administrator of Kafka grants them. A principal is the name of
a user, or Kafka's full form, such as `User:CN=lake`.
"""

import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final, Literal, NamedTuple

from ledger.errors import SettingsError
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.port import REQUIRED, Topic

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

# Where events were restored from a backup the catalogs say so, and each reader looks there.
FOLLOWED: Final[Rights] = {Topic.EVENTS: (READ,), Topic.CATALOGS: (READ,)}
READ_AND_COMPARED: Final[Rights] = dict.fromkeys(
    (Topic.EVENTS, Topic.CATALOGS), (READ, DESCRIBE_CONFIGS)
)


class Role(NamedTuple):
    """What a process does, in the words of the docs, and the rights that this takes."""

    does: str
    rights: Rights


ROLES: Final[Mapping[str, Role]] = {
    "init": Role(
        "`lakeledger init`: creates the topics, and compares how they are kept",
        dict.fromkeys(REQUIRED, (CREATE, DESCRIBE, DESCRIBE_CONFIGS)),
    ),
    "sequencer": Role(
        "`lakeledger serve sequencer`: leads, or stands by",
        {
            Topic.COMMANDS: (READ, DESCRIBE_CONFIGS),
            Topic.EVENTS: (READ, WRITE, DESCRIBE_CONFIGS),
            Topic.HEARTBEATS: (READ, WRITE, DESCRIBE_CONFIGS),
            Topic.BEATS: (READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CHECKPOINTS: (READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CATALOGS: (READ, DESCRIBE_CONFIGS),
        },
    ),
    "client": Role(
        "`Ledger.connect` of the SDK, and every command that changes something",
        {
            Topic.COMMANDS: (WRITE,),
            Topic.HEARTBEATS: (WRITE,),
            **FOLLOWED,
            Topic.CHECKPOINTS: (READ,),
        },
    ),
    "follower": Role("`lakeledger serve follower`: keeps the rows of a host", FOLLOWED),
    "cache": Role(
        "`lakeledger serve cache`: keeps metadata in memory, beside the rows of its host",
        {**FOLLOWED, Topic.CHECKPOINTS: (READ,)},
    ),
    "published-cache": Role(
        "`lakeledger serve cache --source published`: keeps what a publisher sends",
        {Topic.CACHE: (READ,), Topic.EVENTS: (DESCRIBE,)},
    ),
    "feeder": Role("`lakeledger serve feeder`: keeps the rows of a host by Spark", FOLLOWED),
    "publisher": Role(
        "`lakeledger serve feeder --publish`: also sends metadata to published caches",
        {
            **FOLLOWED,
            Topic.EVENTS: (READ, DESCRIBE_CONFIGS),
            Topic.CACHE: (CREATE, READ, WRITE, DESCRIBE_CONFIGS),
        },
    ),
    "recover": Role(
        "`lakeledger recover`: says what a log has lost, and lets the ledger go on",
        {
            Topic.EVENTS: (READ, WRITE),
            Topic.CATALOGS: (READ, WRITE),
            Topic.CHECKPOINTS: (READ, WRITE),
            Topic.BEATS: (READ,),
            Topic.COMMANDS: (DESCRIBE,),
        },
    ),
    "backup": Role(
        "`lakeledger backup`: copies the events, and notes how the topics are kept",
        {**dict.fromkeys(Topic, (DESCRIBE, DESCRIBE_CONFIGS)), **READ_AND_COMPARED},
    ),
    "restore": Role(
        "`lakeledger restore`: makes the topics, and writes the events of a backup",
        {
            **dict.fromkeys(Topic, (CREATE, DESCRIBE, DESCRIBE_CONFIGS)),
            Topic.EVENTS: (CREATE, READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CATALOGS: (CREATE, READ, WRITE, DESCRIBE_CONFIGS),
            Topic.CACHE: (DESCRIBE,),
        },
    ),
}


class Binding(NamedTuple):
    """One right of a role on one topic, by Kafka's name of it."""

    topic: str
    right: Right


def shown(rights: Rights) -> str:
    """Return rights as the docs write them: the topics that have the same ones stand together."""
    topics: dict[tuple[Right, ...], list[Topic]] = {}
    for topic, each in rights.items():
        topics.setdefault(each, []).append(topic)
    return "; ".join(f"{', '.join(each)} on {', '.join(of)}" for each, of in topics.items())


def bindings(ledger: str, role: str) -> Iterator[Binding]:
    """Yield the rights of a role; raises SettingsError for no role, and for no name of a ledger."""
    if role not in ROLES:
        raise SettingsError(f"{role!r} is no role; there are {', '.join(ROLES)}")
    for topic, rights in ROLES[role].rights.items():
        for right in rights:
            yield Binding(topic_name(ledger, topic), right)


USER: Final = "User:"


class Acl(NamedTuple):
    """One right as Kafka's tools and its API name it."""

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
    """Yield a command of Kafka's own tool for the rights on each topic."""
    for (principal, topic), group in groupby(given, lambda each: (each.principal, each.name)):
        operations = [word for each in group for word in ("--operation", spelled(each.operation))]
        words = ["kafka-acls.sh", "--bootstrap-server", bootstrap, "--add"]
        yield shlex.join([*words, "--allow-principal", principal, *operations, "--topic", topic])


def spelled(operation: str) -> str:
    """Return an operation as the tool spells it: DESCRIBE_CONFIGS is DescribeConfigs there."""
    return "".join(word.capitalize() for word in operation.split("_"))
