"""BACKUP: a log of a million events copied to files, checked, and made a topic of again.

The history is written by the real rules, without a sequencer, so that it takes minutes and not an
hour. Files and broker share the disk of this machine.
"""

import tempfile
import time
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Final

from ledger.backup.cluster import LINGER_MS
from ledger.backup.contents import manifest_in
from ledger.backup.manifest import Manifest
from ledger.backup.place import FolderPlace
from ledger.backup.restoring import Restore, check_backup
from ledger.backup.taking import take
from ledger.log.kafka.log import KafkaLog
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.figure import Figure
from tests.benchmarks.topics import create_topics
from tests.driver import Driver, write

EVENTS: Final = 1_000_000
TABLES: Final = 20
NAME: Final = "backup"
NEVER: Final = Signal()


def measure(broker: Broker) -> list[Figure]:
    """Return events per second of backup, check and restore, and what the files take."""
    create_topics(broker.bootstrap, NAME)
    log = KafkaLog(broker.bootstrap, NAME, linger_ms=LINGER_MS)
    with tempfile.TemporaryDirectory() as folder, closing(log):
        first, second = FolderPlace(Path(folder) / "first"), FolderPlace(Path(folder) / "second")
        take(history().log, first, {}, stop=NEVER)
        manifest = manifest_in(first)
        began_s = time.monotonic()
        check_backup(first, manifest, NEVER)
        checked_s = time.monotonic()
        Restore(log, first, manifest).run(NEVER)
        restored_s = time.monotonic()
        take(log, second, {}, stop=NEVER)
        taken_s = time.monotonic()
        assert manifest_in(second).reached.digest == manifest.reached.digest, "digests differ"
    return [
        rate("BACKUP", taken_s - restored_s, "from Kafka to files"),
        rate("BACKUP-check", checked_s - began_s, "files read and judged"),
        rate("BACKUP-restore", restored_s - checked_s, "written to Kafka and read back"),
        Figure("BACKUP-bytes", bytes_each(manifest), "bytes", note="of files for each event"),
    ]


def rate(name: str, took_s: float, what: str) -> Figure:
    """Return the figure of a run over all events."""
    return Figure(name, round(EVENTS / took_s), "events/s", note=f"{what}, {took_s:.0f} s in all")


def bytes_each(manifest: Manifest) -> float:
    """Return the bytes that the files have for each record."""
    return round(sum(file.size for file in manifest.files) / manifest.reached.records, 1)


def history() -> Driver:
    """Return a long history: txns that commit an insert into one of some tables."""
    driver = Driver(name=NAME)
    session = driver.open_session()
    tables = [driver.create_table(session, f"db.t{number}") for number in range(TABLES)]
    while len(driver.records) < EVENTS:
        for table in tables:
            driver.commit(session, driver.open_txn(session), write(table))
        driver.events.clear()
    return driver
