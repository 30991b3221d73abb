"""Listeners of the embedded broker: one without a login, or secured ones.

A secured broker has three, all with TLS: clients log in by SCRAM, and administrator and controller
by the certificate of the broker itself. Whatever no right allows is denied.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ledger.machine.certificates import BROKER_NAME, BROKER_STORE, CA

SCRAM: Final = "SCRAM-SHA-512"
LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
SUPER_USER: Final = f"User:CN={BROKER_NAME}"

_SECURED: Final = {
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,ADMIN:SSL,CONTROLLER:SSL",
    "inter.broker.listener.name": "ADMIN",
    "sasl.enabled.mechanisms": SCRAM,
    "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{LOGIN_MODULE};",
    "listener.name.clients.ssl.client.auth": "none",
    "listener.name.admin.ssl.client.auth": "required",
    "listener.name.controller.ssl.client.auth": "required",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false",
    "super.users": SUPER_USER,
}


class Listeners(NamedTuple):
    """The properties of a broker that say where it listens, and the address of its clients.

    `admin` is the address of administrators.
    """

    properties: Mapping[str, str]
    clients: str
    admin: str


def make_plain(clients: str, controller: str) -> Listeners:
    """Return listeners without a login."""
    return Listeners(
        {
            "listeners": f"PLAINTEXT://{clients},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{clients}",
        },
        clients,
        clients,
    )


def secured(clients: str, controller: str, admin: str, files: Path) -> Listeners:
    """Return secured listeners; `files` is the folder of the certificates, seen from the broker.

    The path must be plain letters: Kafka reads the properties as Latin-1.
    """
    ours = f"ADMIN://{admin},CLIENTS://{clients}"
    return Listeners(
        {
            **_SECURED,
            "listeners": f"CONTROLLER://{controller},{ours}",
            # The port that the folder keeps is the last one here.
            "advertised.listeners": ours,
            "ssl.keystore.location": str(files / BROKER_STORE),
            "ssl.truststore.location": str(files / CA),
        },
        clients,
        admin,
    )
