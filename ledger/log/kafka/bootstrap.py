"""What names a Kafka: `host:port`, of one broker or of several."""

from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import urlsplit

from ledger.errors import SettingsError

PORTS: Final = range(1, 2**16)
NO_PLACE: Final = frozenset("@ \t\n")


def check_bootstrap(text: object) -> None:
    """Raise SettingsError for what names no Kafka, TypeError for what is no text.

    librdkafka takes anything: it looks for a host of the name `a:b`, takes port `x` for 0, and
    port 99999 for 34463, where something else may listen.
    """
    if not isinstance(text, str):
        raise TypeError(f"bootstrap is a text, such as '127.0.0.1:9092', not {text!r}")
    brokers = [each.strip() for each in text.split(",") if each.strip()]
    wrong = next((each for each in brokers if not is_broker(each)), None if brokers else text)
    if wrong is not None:
        raise SettingsError(
            f"bootstrap {text!r} names no Kafka: {wrong!r} is no host:port. Say 127.0.0.1:9092, or "
            "several with commas between them"
        )


def is_broker(text: str) -> bool:
    """Tell whether this is `host:port`, with its protocol in front or not; port 9092 may be left.

    An IPv6 address stands in brackets where a port follows it.
    """
    place = text.partition("://")[2] or text
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return is_ipv6(place)
    is_whole = parts.netloc == place and not place.endswith(":") and not set(place) & NO_PLACE
    return bool(host) and is_whole and (port is None or port in PORTS)


def is_ipv6(text: str) -> bool:
    """Tell whether this is an IPv6 address as it is, without brackets."""
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
