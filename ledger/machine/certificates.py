"""Certificates of a machine: a CA for one ledger alone, and the certificate of its servers.

The key of the CA is not kept, so it signs nothing else. A renewal makes both anew; clients read the
CA's certificate from its file at each connection.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ledger.config.address import is_address
from ledger.config.private import write_private
from ledger.errors import SettingsError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

LOOPBACK_NAMES: Final = ("127.0.0.1", "::1", "localhost")
DAYS: Final = 825
LEFT_DAYS: Final = 30
CA_NAME: Final = "LakeLedger CA"
CA: Final = "ca.pem"
CERTIFICATE: Final = "server.pem"
KEY: Final = "server.key"
BROKER_NAME: Final = "lakeledger-broker"
BROKER_CERTIFICATE: Final = "broker.pem"
BROKER_KEY: Final = "broker.key"
BROKER_STORE: Final = "broker-store.pem"
"""The key and the certificate in one file, as Kafka's broker takes them."""


def make_certificates(folder: Path, names: Collection[str] = LOOPBACK_NAMES) -> None:
    """Write a new CA's certificate, and certificates and keys of a server and of a broker.

    `names` are the names of the server; the broker is on loopback.

    Raises SettingsError without the package `cryptography`.
    """
    library()
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat  # noqa: PLC0415

    authority, server, broker = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))

    def write(key: Any, made: Any, key_name: str, name: str) -> str:
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        public = made.public_bytes(Encoding.PEM).decode()
        write_private(folder / key_name, private)
        write_private(folder / name, public)
        return str(private + public)

    root = signed(CA_NAME, authority, authority)
    write(server, signed("LakeLedger", server, authority, names), KEY, CERTIFICATE)
    own = signed(BROKER_NAME, broker, authority, LOOPBACK_NAMES, is_client=True)
    both = write(broker, own, BROKER_KEY, BROKER_CERTIFICATE)
    write_private(folder / BROKER_STORE, both)
    write_private(folder / CA, root.public_bytes(Encoding.PEM).decode())


def signed(
    name: str, key: Any, authority: Any, names: Collection[str] = (), *, is_client: bool = False
) -> "Certificate":
    """Return the certificate of a key; one without names is of a CA."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: PLC0415

    def make_name(text: str) -> Any:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now, is_ca = datetime.now(UTC), not names
    made = (
        x509.CertificateBuilder()
        .subject_name(make_name(name))
        .issuer_name(make_name(CA_NAME))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # The clock of a client may be a little behind.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()),
            critical=False,
        )
        .add_extension(usage_of(x509, is_ca=is_ca), critical=True)
    )
    if names:
        alternatives = [
            x509.IPAddress(ip_address(each)) if is_address(each) else x509.DNSName(each)
            for each in names
        ]
        uses = [ExtendedKeyUsageOID.SERVER_AUTH]
        if is_client:
            uses.append(ExtendedKeyUsageOID.CLIENT_AUTH)
        made = made.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        made = made.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    found: Certificate = made.sign(authority, hashes.SHA256())
    return found


def usage_of(x509: Any, *, is_ca: bool) -> Any:
    """Return what a key may be used for: a CA's signs certificates, a server's its handshakes."""
    never = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        digital_signature=not is_ca,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        encipher_only=False,
        decipher_only=False,
        **dict.fromkeys(never, False),
    )


def is_usable(folder: Path, names: Collection[str] = LOOPBACK_NAMES) -> bool:
    """Return whether a folder has a certificate of these names that is valid for long enough."""
    x509 = library()
    if not all((folder / each).exists() for each in (CA, CERTIFICATE, KEY, BROKER_STORE)):
        return False
    try:
        found = x509.load_pem_x509_certificate((folder / CERTIFICATE).read_bytes())
        known = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    of = {*known.get_values_for_type(x509.DNSName)}
    of |= {str(each) for each in known.get_values_for_type(x509.IPAddress)}
    ends = datetime.now(UTC) + timedelta(days=LEFT_DAYS)
    return set(names) <= of and bool(found.not_valid_after_utc > ends)


def library() -> Any:
    """Return the library of certificates; raises SettingsError if it is not installed."""
    try:
        from cryptography import x509  # noqa: PLC0415 - only where certificates are made
    except ModuleNotFoundError as missing:
        raise SettingsError(
            "certificates are made with the package cryptography, which is not installed: "
            "pip install 'lakeledger[secure]'"
        ) from missing
    return x509
