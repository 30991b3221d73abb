"""The embedded Kafka: it keeps its data, ends when it should, and says why it cannot start."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ledger.errors import BrokerError
from ledger.machine.kafka.broker import Broker
from ledger.machine.kafka.broker_folder import LOOPBACK, read_properties

pytestmark = pytest.mark.kafka

WAIT_S = 20.0
PARENT = """
import os, sys
from pathlib import Path
from ledger.machine.kafka.broker import Broker
os.closerange(3, 256)  # The next file has the number that the shell of the broker redirects.
broker = Broker.start(Path(sys.argv[1]))
print(broker.pid, flush=True)
sys.stdin.read()
"""


def write(broker: Broker, topic: str, value: bytes) -> None:
    """Create a topic and append one record to it."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(WAIT_S)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, value)
    assert producer.flush(WAIT_S) == 0


def read(broker: Broker, topic: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "test"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    record = consumer.poll(WAIT_S)
    consumer.close()
    assert record is not None
    return record.value()


@pytest.fixture(scope="module")
def used_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a broker that held one topic and was stopped."""
    folder = tmp_path_factory.mktemp("used")
    with Broker.start(folder) as broker:
        write(broker, "kept", b"record")
    return folder


@pytest.fixture
def copy(used_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(used_folder, tmp_path / "copy")


def test_a_broker_made_for_hours_goes_on_with_what_was_kept(copy: Path) -> None:
    with Broker.start(copy, lasting=True) as broker:
        assert read(broker, "kept") == b"record"


def test_a_broker_started_again_has_its_address_and_records(used_folder: Path) -> None:
    before = read_properties(used_folder / "server.properties")["advertised.listeners"]
    with Broker.start(used_folder) as broker:
        assert before == f"PLAINTEXT://{broker.bootstrap}"
        assert read(broker, "kept") == b"record"


@pytest.mark.parametrize("name", ["jürgen", "a,b", r"a\tb"])
def test_odd_name(used_folder: Path, tmp_path: Path, name: str) -> None:
    """A folder whose path Java properties would read as another one is found all the same."""
    copy = shutil.copytree(used_folder, tmp_path / name)
    with Broker.start(copy) as broker:
        assert read(broker, "kept") == b"record"


def test_killed_broker_comes_back(tmp_path: Path) -> None:
    broker = Broker.start(tmp_path)
    write(broker, "kept", b"record")
    broker.kill()
    with Broker.start(tmp_path) as again:
        assert again.bootstrap == broker.bootstrap
        assert read(again, "kept") == b"record"


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    broker = Broker.start(tmp_path)
    started = set(psutil.Process().children(recursive=True)) - before
    broker.stop()
    broker.stop()
    assert len(started) == len(["broker", "watch"])
    assert psutil.wait_procs(started, timeout=WAIT_S)[1] == []


def test_broker_ends_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert psutil.wait_procs([child], timeout=WAIT_S)[1] == []
    Broker.start(tmp_path).stop()


def test_odd_name_in_plain_locale(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path / "jürgen")]
    environ = {**os.environ, "LC_ALL": "C"}
    said = subprocess.check_output(command, input=b"", env=environ)
    assert said.strip().isdigit()


def is_locked(folder: Path) -> bool:
    """Tell whether a broker's process holds the folder now."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_lock_lasts_as_long_as_the_broker(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert is_locked(tmp_path)
        watched = [child, *psutil.Process(parent.pid).children(recursive=True)]
        parent.kill()
    assert psutil.wait_procs(watched, timeout=WAIT_S)[1] == []
    assert not is_locked(tmp_path)


def test_stopping_a_broker_that_somebody_else_has_killed_says_so(copy: Path) -> None:
    broker = Broker.start(copy)
    os.kill(broker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, broker.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(BrokerError, match="had ended by itself with exit code -9"):
        broker.stop()


def test_a_port_that_is_asked_for_is_used_instead_of_the_kept_one(copy: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
    Broker.start(copy, port=port).stop()
    with Broker.start(copy) as broker:
        assert broker.bootstrap == f"{LOOPBACK}:{port}"


def test_wanted_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BrokerError, match=f"Port {port} of 127.0.0.1, requested, is in use"):
            Broker.start(tmp_path, port=port)


def test_kept_port_is_taken(copy: Path) -> None:
    """A broker does not move to another address by itself: its clients know the kept one."""
    kept = read_properties(copy / "server.properties")["advertised.listeners"]
    port = int(kept.rpartition(":")[2])
    with (
        socket.create_server((LOOPBACK, port)),
        pytest.raises(BrokerError, match=f"Port {port} of 127.0.0.1, kept for this folder"),
    ):
        Broker.start(copy)


def test_folder_is_in_use(broker: Broker) -> None:
    with pytest.raises(BrokerError, match="is in use by another broker"):
        Broker.start(broker.folder)


def remove_identity(log: Path) -> None:
    """Lose the name of the cluster."""
    (log / "meta.properties").unlink()


def empty_identity(log: Path) -> None:
    """Lose what is in the file with the name of the cluster."""
    (log / "meta.properties").write_bytes(b"\0\0\0\0")


def remove_metadata(log: Path) -> None:
    """Lose the log that says which topics there are."""
    shutil.rmtree(log / "__cluster_metadata-0")


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (remove_identity, r"meta\.properties is missing"),
        (empty_identity, r"cluster\.id in meta\.properties is missing"),
        (remove_metadata, "__cluster_metadata-0 is missing"),
    ],
)
def test_damaged_folder(copy: Path, damage: Callable[[Path], None], lost: str) -> None:
    """A folder that lost a part is refused, with its topics untouched, instead of begun anew."""
    damage(copy / "log")
    with pytest.raises(BrokerError, match=f"damaged: {lost}"):
        Broker.start(copy)
    assert (copy / "log/kept-0").is_dir()


def test_a_broker_that_lacks_a_topic_of_its_folder_is_ended(copy: Path) -> None:
    metadata = copy / "log/__cluster_metadata-0/00000000000000000000.log"
    metadata.write_bytes(bytes(300) + metadata.read_bytes()[300:])
    with pytest.raises(BrokerError, match=r"no longer knows the partitions .*\bkept-0\b"):
        Broker.start(copy)


def test_a_broker_that_dies_at_its_start_is_quoted(copy: Path) -> None:
    identity = copy / "log/meta.properties"
    identity.write_text(identity.read_text().replace("node.id=1", "node.id=2"))
    with pytest.raises(BrokerError, match=r"died while it started(?s:.*)Stored node id 2"):
        Broker.start(copy)


def test_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokerError, match="file/folder cannot be used"):
        Broker.start(tmp_path / "file/folder")
