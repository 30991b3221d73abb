"""The settings that the topics of a ledger must have, and their comparison. No I/O.

`SETTINGS` is the only source. A ledger on topics with other settings loses its history sooner or
later, so the settings in the cluster are compared at every start.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ledger.core.limits import (
    CACHE_RECORD_BYTES_MAX,
    CHECKPOINT_RECORD_BYTES_MAX,
    COMMAND_RECORD_BYTES_MAX,
    EVENT_RECORD_BYTES_MAX,
    MIB,
)
from ledger.errors import SettingsError
from ledger.log.port import Topic

PARTITIONS: Final = 1
REPLICAS_SAFE: Final = 3
IN_SYNC_SAFE: Final = 2
MINUTE_MS: Final = 60_000
FOR_EVER: Final = "-1"
FLUSH: Final = "flush.messages"
EACH_RECORD: Final = "1"
NEVER: Final = str(2**63 - 1)
# Without other copies, a power cut loses acknowledged records. For these topics the loss is
# permanent; the records of the other topics are sent or written again.
FLUSHED: Final = frozenset({Topic.EVENTS, Topic.CATALOGS, Topic.CONSUMERS})

COMPRESSION: Final = "compression.type"
AS_SENT: Final = "producer"
IN_SYNC: Final = "min.insync.replicas"
_EVERY: Final = {
    "message.timestamp.type": "LogAppendTime",
    "unclean.leader.election.enable": "false",
    COMPRESSION: AS_SENT,
    "max.message.bytes": str(COMMAND_RECORD_BYTES_MAX),
}
# The broker bounds the bytes that it keeps. A packed batch of a client may expand a thousandfold in
# the memory of the leader, so the broker unpacks it first.
_OF_CLIENTS: Final = {**_EVERY, COMPRESSION: "uncompressed"}
_NEWEST_OF_KEY: Final = {
    "cleanup.policy": "compact",
    "segment.ms": str(10 * MINUTE_MS),
    "min.cleanable.dirty.ratio": "0.1",
}
SETTINGS: Final[Mapping[Topic, Mapping[str, str]]] = {
    Topic.COMMANDS: {
        **_OF_CLIENTS,
        "cleanup.policy": "delete",
        "retention.ms": str(7 * 24 * 60 * MINUTE_MS),
    },
    Topic.EVENTS: {
        **_EVERY,
        "cleanup.policy": "delete",
        "retention.ms": FOR_EVER,
        "retention.bytes": FOR_EVER,
        "max.message.bytes": str(EVENT_RECORD_BYTES_MAX),
        "segment.bytes": str(256 * MIB),
    },
    Topic.HEARTBEATS: {
        **_OF_CLIENTS,
        **_NEWEST_OF_KEY,
        "cleanup.policy": "compact,delete",
        "retention.ms": str(60 * MINUTE_MS),
    },
    Topic.BEATS: {**_EVERY, **_NEWEST_OF_KEY},
    Topic.CHECKPOINTS: {
        **_EVERY,
        **_NEWEST_OF_KEY,
        "max.message.bytes": str(CHECKPOINT_RECORD_BYTES_MAX),
    },
    Topic.CATALOGS: {**_EVERY, **_NEWEST_OF_KEY},
    Topic.CONSUMERS: {**_EVERY, **_NEWEST_OF_KEY},
    # A reader from the beginning must finish within the time for which tombstones are kept.
    Topic.CACHE: {
        **_EVERY,
        **_NEWEST_OF_KEY,
        "delete.retention.ms": str(24 * 60 * MINUTE_MS),
        "max.message.bytes": str(CACHE_RECORD_BYTES_MAX),
    },
}
# Any value of the other settings is safe, and a deployment may choose it.
_EXACT: Final = (
    *("cleanup.policy", "message.timestamp.type", "unclean.leader.election.enable"),
    COMPRESSION,
)
_AT_LEAST: Final = ("retention.ms", "retention.bytes", "delete.retention.ms", "max.message.bytes")
_LEDGER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")


class FoundTopic(NamedTuple):
    """The broker's description of a topic."""

    name: str
    partitions: int
    replicas: int
    settings: Mapping[str, str]


def topic_name(ledger: str, topic: Topic) -> str:
    """Return Kafka's name of a topic; raises SettingsError for a bad name of a ledger."""
    if _LEDGER_NAME.fullmatch(ledger) is None:
        raise SettingsError(
            "a ledger name must have 1 to 200 letters, digits, - and _, the first a letter or "
            f"digit, because the names of its topics begin with it; got {ledger!r}"
        )
    return f"{ledger}.{topic}"


def settings_for(topic: Topic, replicas: int, *, flush: bool = True) -> dict[str, str]:
    """Return the settings of a new topic.

    With fewer copies than are safe, each record is flushed to the disk before it is acknowledged,
    unless `flush` is false.
    """
    if replicas >= REPLICAS_SAFE:
        return {**SETTINGS[topic], IN_SYNC: str(IN_SYNC_SAFE)}
    return {**SETTINGS[topic], **({FLUSH: EACH_RECORD} if flush and topic in FLUSHED else {})}


def breaches(
    bootstrap: str, ledger: str, topic: Topic, found: FoundTopic | None, replicas: int = 0
) -> Iterator[str]:
    """Yield each reason why the ledger cannot run: setting, found and wanted value, and remedy.

    `replicas` is the number for a missing topic, as the other topics have, 0 = no other topic.
    """
    name = topic_name(ledger, topic)
    if found is None:
        copies = f" --replication {replicas}" if replicas else ""
        yield (
            f"{name} does not exist. Create it with: lakeledger init --bootstrap {bootstrap} "
            f"--ledger {ledger}{copies}"
        )
        return
    if found.partitions != PARTITIONS:
        yield (
            f"{name} must have {PARTITIONS} partition, got {found.partitions}. That cannot be "
            "changed: create a ledger under another name"
        )
    for setting, kept, wanted in misfits(topic, found):
        value = f"'[{wanted}]'" if "," in wanted else wanted
        yield (
            f"{name} has {setting}={kept}, wanted {wanted}. Mend it with: kafka-configs.sh "
            f"--bootstrap-server {bootstrap} --alter --entity-type topics --entity-name {name}"
            f" --add-config {setting}={value}"
        )


class Misfit(NamedTuple):
    """A setting with which the ledger cannot run, as it is and as it must be."""

    setting: str
    kept: str
    wanted: str


def misfits(topic: Topic, found: FoundTopic) -> Iterator[Misfit]:
    """Yield each setting of a topic with which the ledger cannot run."""
    for setting in (*_EXACT, *_AT_LEAST):
        wanted = SETTINGS[topic].get(setting)
        kept = found.settings.get(setting, "")
        if wanted is not None and not fits(setting, kept, wanted):
            yield Misfit(setting, kept, wanted)
    in_sync = found.settings.get(IN_SYNC, "1")
    if int(in_sync) > found.replicas:
        # No record could be written.
        yield Misfit(IN_SYNC, in_sync, str(min(found.replicas, IN_SYNC_SAFE)))


def changes(topic: Topic, found: FoundTopic, *, flush: bool) -> dict[str, str]:
    """Return the settings that a topic of the embedded broker needs, if they are not as created.

    Larger bounds than at the creation stay.
    """
    kept = found.settings
    own = settings_for(topic, found.replicas, flush=flush)
    if topic in FLUSHED:
        own.setdefault(FLUSH, NEVER)
    free = {name: own[name] for name in own if name not in {*_EXACT, *_AT_LEAST}}
    wrong = {name: value for name, value in free.items() if kept.get(name) != value}
    return wrong | {misfit.setting: misfit.wanted for misfit in misfits(topic, found)}


def fits(setting: str, kept: str, wanted: str) -> bool:
    """Tell whether a ledger can run with the value of a setting."""
    if setting == COMPRESSION and wanted == AS_SENT:
        return True
    if setting in _AT_LEAST:
        return kept == FOR_EVER or (wanted != FOR_EVER and int(kept or 0) >= int(wanted))
    return set(kept.split(",")) == set(wanted.split(","))


def doubts(topic: Topic, found: FoundTopic, bootstrap: str) -> Iterator[str]:
    """Yield each setting with which the ledger runs, but that is not safe for real data."""
    in_sync = int(found.settings.get(IN_SYNC, 1))
    if found.replicas < REPLICAS_SAFE:
        yield (
            f"{found.name} has {found.replicas} replica(s): the data on a lost disk is gone. Keep "
            f"{REPLICAS_SAFE} where data matters"
        )
    elif in_sync < IN_SYNC_SAFE:
        yield (
            f"{found.name} has min.insync.replicas={in_sync}: one broker alone may acknowledge a "
            f"record. Set it to {IN_SYNC_SAFE}"
        )
    if found.replicas < REPLICAS_SAFE and topic in FLUSHED and not is_flushed(found):
        yield (
            f"{found.name} has {FLUSH}={found.settings.get(FLUSH)}: a power cut may lose "
            "acknowledged records. Mend it with: kafka-configs.sh "
            f"--bootstrap-server {bootstrap} --alter "
            f"--entity-type topics --entity-name {found.name} --add-config {FLUSH}={EACH_RECORD}"
        )


def is_flushed(found: FoundTopic) -> bool:
    """Tell whether each record is flushed to the disk before it is acknowledged."""
    return found.settings.get(FLUSH) == EACH_RECORD
