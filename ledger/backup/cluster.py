"""Restoring into a cluster: checks its topics, makes missing ones, and fills them.

Also the notes of a backup about the topics that it reads.
"""

from collections.abc import Mapping
from contextlib import closing
from threading import Event as Signal
from typing import Any, Final

from ledger.backup.manifest import Manifest
from ledger.backup.place import BackupPlace
from ledger.backup.restoring import Progress, Restore, RestoreOutcome, check_backup, check_empty
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
    """Return the notes about one topic: the settings that matter to a ledger, and the copies."""
    wanted = {*names, FLUSH, IN_SYNC}
    settings = {name: value for name, value in found.settings.items() if name in wanted}
    return {"partitions": found.partitions, "replicas": found.replicas, "settings": settings}


def replicas_noted(manifest: Manifest) -> int:
    """Return how many copies the events had when the backup was taken."""
    return int(manifest.topics.get("events", {}).get("replicas", 1))


def restore_into(
    bootstrap: str | None,
    place: BackupPlace,
    manifest: Manifest,
    *,
    replication: int,
    stop: Signal,
    client: Mapping[str, Any] = {},
    is_dry: bool = False,
    progress: Progress = lambda _done, _end: None,
) -> RestoreOutcome:
    """Restore a backup into a cluster; the whole backup is read before anything changes.

    With `is_dry` nothing changes at all, and `bootstrap` is not needed. Raises as `check_backup`,
    `check_empty`, `Restore.run` and `create_topics`.
    """
    if bootstrap is not None:
        ends = topic_ends(bootstrap, manifest.name, client=client)
        if ends.get(Topic.EVENTS, 0) < manifest.reached.records:
            check_empty(ends)
    if not check_backup(place, manifest, stop, progress) or is_dry or bootstrap is None:
        return RestoreOutcome(0, is_whole=False)
    create_topics(bootstrap, manifest.name, replication=replication, client=client)
    verify_topics(bootstrap, manifest.name, client=client)
    log = KafkaLog(
        bootstrap, manifest.name, client=client, domain=manifest.domain, linger_ms=LINGER_MS
    )
    with closing(log):
        return Restore(log, place, manifest).run(stop, progress)
