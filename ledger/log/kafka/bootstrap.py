"""The bootstrap address of Kafka: `host:port` of one broker or of several."""

from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import urlsplit

from ledger.errors import SettingsError

PORTS: Final = range(1, 2**16)
NO_PLACE: Final = frozenset("@ \t\n")


def check_bootstrap(text: object) -> None:
    """Raise SettingsError for a text that is no bootstrap address, TypeError for another type.

    librdkafka accepts anything: it looks up a host named `a:b`, takes port `x` for 0, and port
    99999 for 34463, where another program may listen.
    """
    if not isinstance(text, str):
        raise TypeError(f"bootstrap must be a text such as '127.0.0.1:9092', got {text!r}")
    brokers = [each.strip() for each in text.split(",") if each.strip()]
    wrong = next((broker for broker in brokers if not is_broker(broker)), None if brokers else text)
    if wrong is not None:
        raise SettingsError(
            "bootstrap must be host:port, such as 127.0.0.1:9092, or several with commas between "
            f"them, got {wrong!r} in {text!r}"
        )


def is_broker(text: str) -> bool:
    """Tell whether a text is `host:port`; a protocol may come before, and port 9092 is optional.

    An IPv6 address before a port must be in brackets.
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
    """Tell whether a text is an IPv6 address without brackets."""
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
