"""Logins to HTTP servers: the token that a client shows, and the certificates that it trusts.

The token lies in a file and is sent over TLS, or to this machine, and nowhere else. It is no part
of a repr, an error or a log line.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import SplitResult, urlsplit

from ledger.config.address import is_loopback, running_here
from ledger.config.client_config import warn_of
from ledger.config.layers import path_of
from ledger.config.private import is_read_by_others
from ledger.errors import LedgerError, SettingsError

FILE_SETTING: Final = "token_file"
CA_SETTING: Final = "ca_file"
HTTPS: Final = "https"
SECRET_CHARS_MAX: Final = 4096


class WebLogin(NamedTuple):
    """The files of a login: with the token, and with certificates to trust; None = no file."""

    token_file: Path | None = None
    ca_file: Path | None = None

    @classmethod
    def of(cls, url: str) -> Self:
        """Return the login that the settings name, else the one of a ledger that is up here."""
        from ledger.config.config import load  # noqa: PLC0415 - only without a given login

        settings = load().settings
        found = cls(settings.token_file, settings.ca_file)
        return found if any(found) else cls.here(url)

    @classmethod
    def here(cls, url: str) -> Self:
        """Return the login of the secured ledger that is up here and may be at a URL.

        A server that is not of that ledger gets no token: its certificate is not from there.
        """
        parts = urlsplit(url)
        if parts.scheme != HTTPS or not is_loopback(parts.hostname or ""):
            return cls()
        try:
            secured = [each for each in running_here(None).up if each.token_file is not None]
        except LedgerError:
            return cls()
        at_port = [each for each in secured if each.has_port(parts.port)]
        for each in at_port or secured:
            return cls(each.token_file, each.ca_file)
        return cls()

    def headers(self, url: str) -> Mapping[str, str]:
        """Return the header with the token, {} without one or for a server beyond an open line.

        Raises SettingsError for a file that holds no token.
        """
        if self.token_file is None or not is_private(urlsplit(url)):
            return {}
        return {"authorization": f"Bearer {token_of(self.token_file)}"}

    def pool_settings(self, url: str) -> Mapping[str, Any]:
        """Return the settings of connections; raises SettingsError for unreadable certificates."""
        if self.ca_file is None or urlsplit(url).scheme != HTTPS:
            return {}
        file = path_of(str(self.ca_file), CA_SETTING)
        try:
            return {"ssl_context": ssl.create_default_context(cafile=str(file))}
        except (OSError, ValueError) as problem:
            raise SettingsError(
                f"{CA_SETTING} is {file}, which cannot be used ({problem}). Name a file with "
                "certificates in PEM"
            ) from problem

    def is_withheld(self, url: str) -> bool:
        """Return whether the token is not sent, as others could read it on the way."""
        return self.token_file is not None and not is_private(urlsplit(url))


def is_private(parts: SplitResult) -> bool:
    """Return whether only the server reads what is sent to a URL."""
    return parts.scheme == HTTPS or is_loopback(parts.hostname or "")


def token_of(given: Path) -> str:
    """Return the token in a file; raises SettingsError, which does not repeat its content."""
    try:
        file = path_of(str(given), FILE_SETTING)
        text = file.read_text(encoding="utf-8-sig").strip()
        if is_read_by_others(file):
            warn_of(str(file), FILE_SETTING)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise SettingsError(
            f"{FILE_SETTING} is {given}, which cannot be read ({why}). Name a file that holds a "
            "token and nothing else"
        ) from None
    if not text or len(text) > SECRET_CHARS_MAX or not all("!" <= char <= "~" for char in text):
        raise SettingsError(
            f"{FILE_SETTING} is {given}, which must hold one token and nothing else: a line of "
            "printable ASCII without spaces"
        )
    return text
