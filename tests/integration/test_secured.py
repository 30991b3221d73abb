"""`lakeledger up --secure`: clients of this machine work as before, others are refused."""

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.request import Request, urlopen

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ledger.client import Ledger
from ledger.config.address import Address
from ledger.config.client_config import client_settings
from ledger.errors import (
    AccessDeniedError,
    LoginRefusedError,
    ReadsRefusedError,
    ReadsUnavailableError,
)
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.machine.kafka.broker_folder import LOOPBACK, read_properties
from ledger.machine.process import ExitCode
from ledger.machine.secured import FOLDER, USERS
from ledger.reads.remote.http import HttpReads
from ledger.reads.remote.web_login import WebLogin
from tests.integration.commands import Command, answer_of, environment, lakeledger, up
from tests.integration.test_private_files import open_to_others
from tests.web.board import queries
from tests.web.test_board import NAMES

pytestmark = pytest.mark.kafka

SOON_S: Final = 2.0
PATIENT_S: Final = 60.0
API_VERSIONS: Final = b"\0\0\0\x0c\0\x12\0\0\0\0\0\1\0\2me"
WORK: Final = """
from ledger import Ledger

with Ledger.connect() as ledger:
    ledger.create_table("db.flights")
    with ledger.transaction() as txn:
        txn.add_files("db.flights", ["a.parquet"])
    assert ledger.read("db.flights").paths == ["a.parquet"]
"""
CONFLICT: Final = """
from ledger import ConflictError, Ledger, TableExistsError

with Ledger.connect() as ledger:
    first, second = (ledger.begin() for _ in range(2))
    for txn in (first, second):
        txn.remove_files("db.flights", ["a.parquet"])
    first.commit()
    try:
        second.commit()
    except ConflictError:
        pass
    else:
        raise AssertionError
    try:
        ledger.create_table("db.flights")
    except TableExistsError:
        pass
    else:
        raise AssertionError
"""
# No Iceberg catalog runs here; the tests of its door read its metrics.
ICEBERG: Final = "lakeledger_iceberg_"
# It has a sample for each published table that stopped, and no table of this ledger does.
NONE_STOPPED: Final = {
    "lakeledger_publisher_stopped_table_behind",
    # What a day adds is told after an hour.
    *("lakeledger_day_bytes", "lakeledger_disk_days_left"),
    *("lakeledger_image_age_seconds", "lakeledger_image_position", "lakeledger_image_unreadable"),
    *("lakeledger_trim_policy_age_seconds", "lakeledger_trim_refused_seconds"),
}
"""What stands for a table that stopped, a process that is silent, an image and a policy."""

INGEST: Final = "lakeledger_ingest_"
SPARK_WORK: Final = """
from pyspark.sql import SparkSession

from spark_sink import attach

spark = SparkSession.builder.master("local[1]").getOrCreate()
attach(spark)
spark.sql("CREATE TABLE ledger.db.orders (id INT, month INT) PARTITIONED BY (month)")
spark.sql("INSERT INTO ledger.db.orders VALUES (1, 3), (2, 4)")
spark.sql("UPDATE ledger.db.orders SET id = 7 WHERE month = 4")
rows = spark.sql("SELECT id FROM ledger.db.orders ORDER BY id").collect()
assert [row.id for row in rows] == [1, 7]
spark.stop()
"""


class SecuredUp(NamedTuple):
    """A secured ledger that is up: its home, its address and its command."""

    home: Path
    address: Address
    command: Command

    @property
    def secure(self) -> Path:
        return self.home / "lake" / FOLDER

    def secrets(self) -> set[str]:
        words = {
            client_settings(self.secure / f"{user}.properties")["sasl.password"] for user in USERS
        }
        return words | {(self.secure / "token").read_text().strip()}


def seen(home: Path, command: Command) -> SecuredUp:
    address = Address.read(home / "lake")
    assert address is not None
    return SecuredUp(home, address, command)


def python(home: Path, text: str) -> None:
    """Run a program as a client of this machine does; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=environment(home),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=3 * PATIENT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    """Run a secured ledger with a cache, a publisher and a notifier."""
    home = tmp_path_factory.mktemp("secured") / "home"
    told = {"LAKELEDGER_NOTIFIER__OPENLINEAGE": str(home.parent / "lineage.jsonl")}
    with up(home, "--secure", "--caches", "1", "--publish", **told) as command:
        yield seen(home, command)
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def test_clients_of_this_machine_find_their_logins_by_themselves(secured: SecuredUp) -> None:
    python(secured.home, WORK)
    status = answer_of(secured.home, "status")
    assert status["healthy"]
    assert status["tables"] == 1
    assert status["publisher"]["is_caught_up"]
    assert str(secured.address.reads_url).startswith("https://")
    said = next(line for line in secured.command.said if "metadata cache at" in line)
    url = said.split()[-1]
    assert answer_of(secured.home, "cache", "status", "--url", url)["position"] >= 1
    assert answer_of(secured.home, "log", "verify")["records"] > 1
    backup = lakeledger(secured.home, "backup", str(secured.home / "copy"))
    assert backup.returncode == ExitCode.DONE, backup.stderr


def test_every_query_finds_data(secured: SecuredUp) -> None:
    python(secured.home, CONFLICT)
    answer_of(secured.home, "backup", str(secured.home / "copy"))
    said = "".join(secured.command.said)
    urls = set(re.findall(r"https://[\d.]+:\d+", said))
    cache = next(line for line in secured.command.said if "metadata cache at" in line).split()[-1]
    read = lakeledger(secured.home, "cache", "read", "db.flights", "--url", cache)
    assert read.returncode == ExitCode.DONE, read.stderr
    login = WebLogin(secured.address.token_file, secured.address.ca_file)
    with closing(HttpReads(str(secured.address.reads_url), login=login)) as reads:
        reads.wait(reads.position(), 0)
    context = login.pool_settings(cache)["ssl_context"]
    found = set[str]()
    for url in urls:
        asked = Request(f"{url}/metrics", headers=dict(login.headers(url)))  # noqa: S310
        with urlopen(asked, timeout=PATIENT_S, context=context) as answer:  # noqa: S310
            text = answer.read().decode()
        every = text_string_to_metric_families(text)
        found |= {sample.name for each in every for sample in each.samples}
    assert len(urls) == 6
    wanted = {name for query in queries() for name in NAMES.findall(query)}
    wanted = {name for name in wanted if not name.startswith((ICEBERG, INGEST))}
    # A process may have said its first word since the last look at the log, or not yet.
    assert wanted - found - {"lakeledger_consumer_silent_seconds"} == NONE_STOPPED


def refusals(secured: SecuredUp) -> Iterator[tuple[type[Exception], Any]]:
    """Yield calls of clients that lack something, and how each ends."""
    at, url = secured.address.bootstrap, str(secured.address.reads_url)
    login = client_settings(secured.address.client_config)
    plain, no_token = url.replace("https:", "http:"), WebLogin(None, secured.address.ca_file)

    def connect(**client: str) -> Any:
        return lambda: Ledger.connect(at, "lake", client=client)

    def read(where: str, login: WebLogin) -> Any:
        return lambda: HttpReads(where, login=login).position()

    yield LoginRefusedError, connect()
    yield LoginRefusedError, connect(**{**login, "sasl.password": "wrong"})
    yield LoginRefusedError, connect(**{**login, "sasl.username": "nobody"})
    yield ReadsRefusedError, read(url, no_token)
    yield ReadsRefusedError, read(url, WebLogin(secured.address.token_file, None))
    yield ReadsUnavailableError, read(plain, WebLogin(secured.address.token_file, None))


def test_a_client_with_wrong_credentials_is_refused_by_name_soon(secured: SecuredUp) -> None:
    for error, call in refusals(secured):
        began_s = time.monotonic()
        with pytest.raises(error):
            call()
        assert time.monotonic() - began_s < SOON_S, error


@pytest.mark.parametrize("user", USERS)
def test_no_user_but_the_sequencer_writes_events(secured: SecuredUp, user: str) -> None:
    login = client_settings(secured.secure / f"{user}.properties")
    with closing(KafkaLog(secured.address.bootstrap, "lake", client=login)) as log:
        assert log.ends(Topic.EVENTS)[1] > 0
        if user != "sequencer":
            with closing(log.writer(Topic.EVENTS)) as writer:
                writer.append(b"key", b"forged")
                with pytest.raises(AccessDeniedError):
                    writer.flush(PATIENT_S)


def test_other_listeners_end_a_connection_without_our_key(secured: SecuredUp) -> None:
    properties = read_properties(secured.home / "lake" / "broker" / "server.properties")
    context = ssl.create_default_context(cafile=str(secured.address.ca_file))
    listeners = [each.rpartition(":")[2] for each in properties["listeners"].split(",")]
    clients = secured.address.bootstrap.rpartition(":")[2]
    others = [int(port) for port in listeners if port != clients]
    assert len(others) == 2
    for port in others:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            answer_at(port, context)


def answer_at(port: int, context: ssl.SSLContext) -> bytes:
    """Return what a listener answers to a request of Kafka without a certificate of a client."""
    with (
        socket.create_connection((LOOPBACK, port), PATIENT_S) as line,
        context.wrap_socket(line, server_hostname=LOOPBACK) as secret,
    ):
        secret.sendall(API_VERSIONS)
        # By TLS 1.3 the refusal comes with the first answer.
        if not (found := secret.recv(1)):
            raise ConnectionError
        return found


def test_no_secret_is_shown(secured: SecuredUp) -> None:
    secrets = secured.secrets()
    children = secured.command.children()
    shown = [*secured.command.said, lakeledger(secured.home, "config", "show").stdout]
    for each in (*children, psutil.Process(secured.command.process.pid)):
        shown += [*each.cmdline(), *each.environ().values()]
    shown += [(secured.home / "lake" / name).read_text() for name in ("address.json",)]
    shown += [(secured.secure / "tokens").read_text()]
    shown += [(secured.home / "lake/broker/server.properties").read_text()]
    assert len(children) > 5
    assert not [secret for secret in secrets if any(secret in text for text in shown)]
    assert open_to_others(secured.home / "lake") == []


@pytest.mark.slow
def test_a_ledger_that_was_open_can_be_secured_and_stays_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with up(home) as command:
        python(home, WORK)
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    with up(home, "--secure") as command:
        before = seen(home, command).secrets()
        assert answer_of(home, "status")["tables"] == 1
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    recovered = lakeledger(home, "recover", "--output", "json")
    assert recovered.returncode == ExitCode.DONE, recovered.stderr
    assert json.loads(recovered.stdout)
    with up(home) as command:
        again = seen(home, command)
        assert again.secrets() == before
        with pytest.raises(LoginRefusedError):
            Ledger.connect(again.address.bootstrap, "lake", client={})
        assert answer_of(home, "status")["healthy"]
        assert command.end(signal.SIGTERM) == ExitCode.DONE


@pytest.mark.slow
@pytest.mark.spark
def test_spark(tmp_path: Path) -> None:
    """Spark SQL, the feeder of `up` and one that is started by hand work as without a login."""
    home = tmp_path / "home"
    with up(home, "--secure", "--spark") as command:
        python(home, SPARK_WORK)
        assert answer_of(home, "status")["tables"] == 1
        ledger = {"LAKELEDGER_BOOTSTRAP": seen(home, command).address.bootstrap}
        with Command(home, "serve", "feeder", "--store", str(tmp_path / "own"), **ledger) as own:
            own.wait_for("feeding")
        assert any("feeding" in line for line in command.said) or command.wait_for("feeding")
        assert command.end(signal.SIGTERM) == ExitCode.DONE
