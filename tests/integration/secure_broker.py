"""A real KRaft broker that speaks TLS, asks for SCRAM-SHA-512 and denies what nobody granted.

It lies in one folder, with certificates of its own, and listens on loopback only. The user `admin`
may do everything; every other user may do what it was granted.
"""

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from ledger.machine.kafka.broker import _Kafka  # the command lines of Kafka's programs
from ledger.machine.kafka.broker_folder import LOOPBACK, free_port
from ledger.machine.kafka.jars import BROKER, jar_paths
from ledger.machine.kafka.java import find_java

ADMIN: Final = "admin"
OPENSSL: Final = shutil.which("openssl")
CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qk"
FLAGS: Final = ("-XX:TieredStopAtLevel=1", "-Xms64m", "-Xmx384m")
START_S: Final = 60.0
ANSWER_S: Final = 10.0
LOGIN: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PROPERTIES: Final = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "SASL_SSL",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false",
    # The controller's listener is on loopback and has no login.
    "super.users": f"User:{ADMIN};User:ANONYMOUS",
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": 100,
    "broker.session.timeout.ms": 500,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 8 << 20,
    "num.io.threads": 2,
    "num.network.threads": 1,
}


class SecureBroker:
    """A broker that is running; `users` may log in and have no right before `grant`."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder = folder
        self.bootstrap = bootstrap
        self._admin = AdminClient(
            {"bootstrap.servers": bootstrap, "log_level": 0, **self.login(ADMIN)}
        )

    def login(
        self, user: str, password: str | None = None, *, trusted: str = "ca.pem"
    ) -> dict[str, str]:
        """Return the settings with which a user logs in."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password or secret_of(user),
            "ssl.ca.location": str(self.folder / trusted),
        }

    def client_file(self, user: str, **more: Any) -> Path:
        """Return the file of those settings, as `client_config` names one."""
        file = self.folder / f"{user}-{abs(hash(tuple(more.items())))}.properties"
        write_secret(file, lines(self.login(user, **more)))
        return file

    def spark_file(self, user: str) -> Path:
        """Return the file with which the JVM's client logs in."""
        login = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": jaas(user),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.folder / "ca.pem",
        }
        file = self.folder / f"{user}-jvm.properties"
        write_secret(file, lines(login))
        return file

    def environ(self, user: str, ledger: str, **more: Any) -> dict[str, str]:
        """Return the environment of a command that a user runs."""
        return {
            "LAKELEDGER_BOOTSTRAP": self.bootstrap,
            "LAKELEDGER_LEDGER": ledger,
            "LAKELEDGER_CLIENT_CONFIG": str(self.client_file(user, **more)),
        }

    @staticmethod
    def binding(user: str, topic: str, right: str) -> AclBinding:
        pattern, allowed = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        operation = AclOperation[right]
        return AclBinding(
            ResourceType.TOPIC, topic, pattern, f"User:{user}", "*", operation, allowed
        )

    def grant(self, bindings: Iterable[AclBinding]) -> None:
        """Add rights, and wait until the broker goes by them."""
        wanted = list(bindings)
        for answer in self._admin.create_acls(wanted).values():
            answer.result(ANSWER_S)
        deadline_s = time.monotonic() + ANSWER_S
        while not set(wanted) <= set(self.granted()):
            assert time.monotonic() < deadline_s, "the broker does not take the rights"

    def revoke(self, user: str) -> None:
        """Take all rights of a user away, and wait until the broker goes by that."""
        for answer in self._admin.delete_acls([everything(f"User:{user}")]).values():
            answer.result(ANSWER_S)
        deadline_s = time.monotonic() + ANSWER_S
        while any(each.principal == f"User:{user}" for each in self.granted()):
            assert time.monotonic() < deadline_s, "the broker does not take the rights away"

    def granted(self) -> list[AclBinding]:
        """Return all rights that the broker knows."""
        found = self._admin.describe_acls(everything(None)).result(ANSWER_S)
        return list(found)


def everything(principal: str | None) -> AclBindingFilter:
    """Return what names every right, or every right of one."""
    some: tuple[Any, ...] = (ResourceType.ANY, None, ResourcePatternType.ANY, principal, None)
    return AclBindingFilter(*(*some, AclOperation.ANY, AclPermissionType.ANY))


def secret_of(user: str) -> str:
    return f"{user}-secret"


def jaas(user: str) -> str:
    """Return how the JVM is told of a login."""
    return f'{LOGIN} username="{user}" password="{secret_of(user)}";'


def lines(settings: Mapping[str, Any]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def write_secret(file: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    file.touch(mode=0o600)
    file.write_text(text)


def make_certificates(folder: Path) -> None:
    """Make a CA, a certificate of loopback, and another CA that nobody's certificate is from."""

    def openssl(*arguments: str) -> None:
        command = [str(OPENSSL), *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "rsa:2048", "-nodes")
    for name in ("ca", "other-ca"):
        own = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")
        openssl("req", "-x509", *new, "-days", "30", *own)
    own = ("-keyout", "server.key", "-out", "server.csr", "-subj", f"/CN={LOOPBACK}")
    openssl("req", *new, *own)
    (folder / "ext").write_text(f"subjectAltName=IP:{LOOPBACK},DNS:localhost\n")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30")
    openssl(
        *("x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem", "-extfile", "ext")
    )
    openssl("pkcs8", "-topk8", "-nocrypt", "-in", "server.key", "-out", "server.p8")
    both = (folder / "server.p8").read_text() + (folder / "server.pem").read_text()
    write_secret(folder / "server-store.pem", both)


def properties_of(folder: Path, port: int) -> dict[str, Any]:
    """Return the properties of a broker whose clients come to a port."""
    controller = free_port(port)
    clients = f"SASL_SSL://{LOOPBACK}:{port}"
    return {
        **PROPERTIES,
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "listeners": f"{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": clients,
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": jaas(ADMIN),
        "ssl.keystore.location": folder / "server-store.pem",
        "ssl.truststore.location": folder / "ca.pem",
        "log.dirs": folder / "log",
    }


@contextmanager
def secure_broker(folder: Path, users: Iterable[str]) -> Iterator[SecureBroker]:
    """Run a broker for the length of a block."""
    make_certificates(folder)
    port = free_port()
    properties = folder / "server.properties"
    write_secret(properties, lines(properties_of(folder, port)))
    kafka = _Kafka(find_java(), jar_paths(BROKER))
    scram = [f"SCRAM-SHA-512=[name={user},password={secret_of(user)}]" for user in (ADMIN, *users)]
    subprocess.run(
        kafka.command(
            *(*FLAGS, "kafka.tools.StorageTool", "format", f"--cluster-id={CLUSTER}"),
            *(f"--config={properties}", *(f"--add-scram={each}" for each in scram)),
        ),
        env=kafka.environment,
        check=True,
        capture_output=True,
    )
    with (folder / "broker.log").open("ab") as output:
        process = subprocess.Popen(
            kafka.command(*FLAGS, "kafka.Kafka", str(properties)),
            env=kafka.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    try:
        broker = SecureBroker(folder, f"{LOOPBACK}:{port}")
        wait_until_ready(broker, process)
        yield broker
    finally:
        process.kill()
        process.wait()


def wait_until_ready(broker: SecureBroker, process: subprocess.Popen[bytes]) -> None:
    """Wait until the administrator is answered."""
    admin = AdminClient(
        {"bootstrap.servers": broker.bootstrap, "log_level": 0, **broker.login(ADMIN)}
    )
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            if admin.list_topics(timeout=1.0).brokers:
                return
        except KafkaException:
            assert process.poll() is None, "the broker ended while it started"
            assert time.monotonic() < deadline_s, "the broker does not come up"
