"""Pins: entries among the consumers that keep events in the log, without a process."""

from socket import gethostname

from ledger.errors import SettingsError
from ledger.log.consumers import PIN, Consumer, forget, register, registered
from ledger.log.log_end import last_position
from ledger.log.port import Log
from ledger.log.trimmed import start_of

NAME_CHARS_MAX = 100


def pin(log: Log, name: str, position: int, now_ms: int, domain: int = 0) -> None:
    """Keep the events from a position on, whatever is trimmed later.

    Raises SettingsError for a name that is no name, and a position that the log has not or no more.
    """
    if not 0 < len(name) <= NAME_CHARS_MAX or not name.isprintable():
        raise SettingsError(f"a pin must have a name of 1 to {NAME_CHARS_MAX} signs, got {name!r}")
    first, last = start_of(log, domain).head.position + 1, last_position(log, domain)
    if not first <= position <= last:
        raise SettingsError(
            f"a pin must be at a position that the log has, {first} to {last}, got {position}"
        )
    register(log, domain, Consumer(PIN, name, gethostname(), position, now_ms))


def unpin(log: Log, name: str, domain: int = 0) -> None:
    """Remove a pin; raises SettingsError for one that is not there."""
    pins = [each.name for each in registered(log, domain) or () if each.role == PIN]
    if name not in pins:
        raise SettingsError(f"there is no pin {name}; the pins are {', '.join(pins) or 'none'}")
    forget(log, domain, PIN, name)
