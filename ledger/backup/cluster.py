"""Restoring into a cluster: its topics are looked at first, made if they are missing, then filled.

Also what a backup notes of the topics that it reads.
"""

from collections.abc import Mapping
from contextlib import closing
from threading import Event as Signal
from typing import Any, Final

from ledger.backup.manifest import Manifest
from ledger.backup.place import Place
from ledger.backup.restoring import Outcome, Progress, Restore, check_backup, check_empty
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import FLUSH, SETTINGS, FoundTopic
from ledger.log.kafka.topics import create_topics, found_topics, topic_ends, verify_topics
from ledger.log.port import Topic

IN_SYNC: Final = "min.insync.replicas"
# Records written together share a request, and where each request is flushed, a flush.
LINGER_MS: Final = 20.0


def topics_noted(
    bootstrap: str, ledger: str, client: Mapping[str, Any] = {}
) -> dict[str, dict[str, Any]]:
    """Return the copies and settings of the topics, for the manifest of a backup."""
    found = found_topics(bootstrap, ledger, client=client)
    return {topic.value: noted(each, SETTINGS[topic].keys()) for topic, each in found.items()}


def noted(found: FoundTopic, names: Any) -> dict[str, Any]:
    """Return what is noted of one topic: the settings that a ledger cares for, and its copies."""
    wanted = {*names, FLUSH, IN_SYNC}
    settings = {name: value for name, value in found.settings.items() if name in wanted}
    return {"partitions": found.partitions, "replicas": found.replicas, "settings": settings}


def replicas_noted(manifest: Manifest) -> int:
    """Return how many copies the events had when the backup was taken."""
    return int(manifest.topics.get("events", {}).get("replicas", 1))


def restore_into(
    bootstrap: str | None,
    place: Place,
    manifest: Manifest,
    *,
    replication: int,
    stop: Signal,
    client: Mapping[str, Any] = {},
    is_dry: bool = False,
    progress: Progress = lambda _done, _end: None,
) -> Outcome:
    """Restore a backup into a cluster; nothing is changed there before all of it was read.

    With `is_dry` nothing is changed at all, and no `bootstrap` is needed. Raises as `check_backup`,
    `check_empty`, `Restore.run` and `create_topics`.
    """
    if bootstrap is not None:
        ends = topic_ends(bootstrap, manifest.name, client=client)
        if ends.get(Topic.EVENTS, 0) < manifest.reached.records:
            check_empty(ends)
    if not check_backup(place, manifest, stop, progress) or is_dry or bootstrap is None:
        return Outcome(0, is_whole=False)
    create_topics(bootstrap, manifest.name, replication=replication, client=client)
    verify_topics(bootstrap, manifest.name, client=client)
    log = KafkaLog(
        bootstrap, manifest.name, client=client, domain=manifest.domain, linger_ms=LINGER_MS
    )
    with closing(log):
        return Restore(log, place, manifest).run(stop, progress)
