"""A secured ledger of one machine: its certificates, users, rights and tokens, in one folder.

    ca.pem                  what clients trust
    server.pem, server.key  the certificate of the HTTP servers
    broker-*.pem, .key      the certificate of the broker, by which `up` administers it
    <user>.properties       the login of a user, for librdkafka; *-jvm.properties for Spark's client
    tokens, token           the tokens that HTTP servers know, and the one of this machine's clients

All of it is for the owner of the ledger. The folder says that the ledger is a secured one.
"""

import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Final

from ledger.config.address import FEEDER_LOGIN
from ledger.config.client_config import client_settings
from ledger.config.private import make_private, write_private
from ledger.config.tokens import KnownToken, change_tokens, known_as, read_tokens
from ledger.log.kafka.rights import CREATE, READ, USER, WRITE, Acl, acls
from ledger.log.kafka.users import set_users
from ledger.machine.certificates import (
    BROKER_CERTIFICATE,
    BROKER_KEY,
    CA,
    CERTIFICATE,
    KEY,
    LOOPBACK_NAMES,
    is_usable,
    make_certificates,
)
from ledger.machine.kafka.listeners import LOGIN_MODULE, SCRAM

FOLDER: Final = "secure"
CLIENT: Final = "client"
SEQUENCER: Final = "sequencer"
FEEDER: Final = "feeder"
NOTIFIER: Final = "notifier"
INGEST: Final = "ingest"
GROUPS: Final = "lakeledger-"
"""How the names of the consumer groups of ingests begin."""

TOKENS: Final = "tokens"
TOKEN: Final = "token"  # noqa: S105 - the name of a file
# The roles of each user; clients of this machine may also look at the ledger and back it up. A trim
# removes records, and a search for forgotten rows reads all topics: each has a login of its own.
USERS: Final[Mapping[str, Sequence[str]]] = {
    SEQUENCER: ("sequencer",),
    "follower": ("follower",),
    "cache": ("cache",),
    "publisher": ("publisher",),
    "iceberg": ("iceberg",),
    "flusher": ("flusher",),
    NOTIFIER: ("notifier",),
    INGEST: ("ingest",),
    FEEDER: ("feeder",),
    CLIENT: ("client", "operator", "backup"),
    "trim": ("trim",),
    "forget": ("forget",),
}
PASSWORD_BYTES: Final = 32
ANSWER_S: Final = 30.0


class Secured:
    """The security of the ledger in a folder; `prepare` makes what is missing."""

    def __init__(self, folder: Path) -> None:
        self.at = folder / FOLDER

    @property
    def is_there(self) -> bool:
        """Whether the ledger was made secure before; an empty folder says nothing."""
        return self.at.is_dir() and any(self.at.iterdir())

    def prepare(self, hosts: Sequence[str] = ()) -> None:
        """Make certificates, logins and tokens that are missing or about to expire.

        `hosts` are further names of the HTTP servers. Raises SettingsError.
        """
        make_private(self.at)
        names = list(dict.fromkeys((*LOOPBACK_NAMES, gethostname(), *hosts)))
        if not is_usable(self.at, names):
            make_certificates(self.at, names)
        for user in USERS:
            if not self.client_file(user).exists():
                self._write_login(user, secrets.token_urlsafe(PASSWORD_BYTES))
        self._make_token()

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Let a block make the ledger secure; if it fails at the first time, nothing is left."""
        is_new = not self.is_there
        try:
            yield
        except BaseException:
            if is_new:
                shutil.rmtree(self.at, ignore_errors=True)
            raise

    def client_file(self, user: str = CLIENT) -> Path:
        """Return the file of a user's login, as `client_config` names one."""
        return self.at / f"{user}.properties"

    @property
    def ca(self) -> Path:
        """The file with the certificate of the CA."""
        return self.at / CA

    @property
    def token(self) -> Path:
        """The file with the token of this machine's clients."""
        return self.at / TOKEN

    def admin(self) -> Mapping[str, str]:
        """Return the settings of Kafka's client for an administrator."""
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.ca),
            "ssl.certificate.location": str(self.at / BROKER_CERTIFICATE),
            "ssl.key.location": str(self.at / BROKER_KEY),
        }

    def admit(
        self,
        bootstrap: str,
        ledger: str,
        topic: str | None = None,
        *,
        trims: bool = False,
        sources: Iterable[str] = (),
    ) -> None:
        """Give the users their passwords and rights, at the address of administrators.

        The notifier may also make and write `topic`. With `trims` a leader may take old events from
        the log. An ingest reads the topics in `sources`.
        """
        words = {user: client_settings(self.client_file(user))["sasl.password"] for user in USERS}
        rights: list[Acl] = [
            acl
            for user, roles in USERS.items()
            for role in roles
            for acl in acls(ledger, user, role)
        ]
        if trims:
            rights += acls(ledger, SEQUENCER, "trimming-sequencer")
        if topic is not None:
            whole = partial(Acl, f"{USER}{NOTIFIER}", "*", "TOPIC", topic, "LITERAL")
            rights += [whole(right, "ALLOW") for right in (CREATE, WRITE)]
        groups = ("GROUP", GROUPS, "PREFIXED")
        for read in (groups, *(("TOPIC", source, "LITERAL") for source in sources)):
            rights.append(Acl(f"{USER}{INGEST}", "*", *read, READ, "ALLOW"))
        set_users(bootstrap, self.admin(), words, rights, ANSWER_S)

    def environ(self, role: str) -> Mapping[str, str]:
        """Return the variables by which a role finds its login, its tokens and its certificate."""
        user = role.partition("-")[0]
        return {
            "LAKELEDGER_CLIENT_CONFIG": str(self.client_file(user)),
            "LAKELEDGER_FEEDER__CLIENT_CONFIG": str(self.jvm_file()),
            "LAKELEDGER_WEB__TOKENS": str(self.at / TOKENS),
            "LAKELEDGER_WEB__CERTIFICATE": str(self.at / CERTIFICATE),
            "LAKELEDGER_WEB__KEY": str(self.at / KEY),
        }

    def jvm_file(self) -> Path:
        """Return the file with which the JVM's client logs in as the feeder."""
        return self.at / FEEDER_LOGIN

    def _write_login(self, user: str, password: str) -> None:
        login = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": SCRAM,
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": str(self.ca),
        }
        if user == FEEDER:
            jaas = f'{LOGIN_MODULE} username="{user}" password="{password}";'
            of_jvm = {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": SCRAM,
                "sasl.jaas.config": jaas,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.ca),
            }
            write_private(self.jvm_file(), lines(of_jvm))
        write_private(self.client_file(user), lines(login))

    def _make_token(self) -> None:
        """Make the token of this machine's clients, if its servers do not know it.

        It may write: these clients have a login to Kafka that may. One of an older version may not.
        """
        file = self.at / TOKENS
        known = read_tokens(file) if file.exists() else []
        given = self.token.read_text(encoding="utf-8").strip() if self.token.exists() else ""
        found = known_as(known, given)
        if found is not None and not found.may_write:
            own = found._replace(may_write=True)
            change_tokens(file, lambda all_: [own if each == found else each for each in all_])
        if found is None:
            own, token = KnownToken.made(CLIENT, None, may_write=True)
            change_tokens(file, lambda all_: [*(each for each in all_ if each.name != CLIENT), own])
            write_private(self.token, f"{token}\n")


def lines(settings: Mapping[str, str]) -> str:
    """Return settings as a file has them."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())
