"""Doors: the tokens that requests must show, and the certificate of the server.

Tokens are read again when their file changes. A file that cannot be read any more lets no request
in: which tokens were taken out of it is not known.
"""

import base64
import binascii
import ssl
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from starlette.responses import Response

from ledger.clock import Clock, SystemClock
from ledger.config.address import is_loopback
from ledger.config.layers import path_of
from ledger.config.settings import WebSettings
from ledger.config.tokens import KnownToken, known_as, read_tokens
from ledger.errors import SettingsError
from ledger.log_lines import LogLines
from ledger.machine.endpoints import Endpoint
from projections.web.answers.problems import (
    TOKENS_UNREADABLE,
    UNAUTHORIZED,
    ProblemForm,
    answer_problem,
)

BEARER: Final = "bearer"
BASIC: Final = "basic"
REALM: Final = 'realm="lakeledger"'
# A browser shows a login only for Basic; the token is its password, under any name.
CHALLENGES: Final = (f"Bearer {REALM}", f"Basic {REALM}")

log_lines = LogLines("lakeledger.web")


class NotLetIn(NamedTuple):
    """Why a request is not let in."""

    status: int
    error: str
    message: str

    def response(self, form: ProblemForm) -> Response:
        """Return the answer, with the fields that the clients of the server expect."""
        found = answer_problem(self.status, self.error, self.message, form=form)
        if self.status == UNAUTHORIZED_STATUS:
            for challenge in CHALLENGES:
                found.headers.append("www-authenticate", challenge)
        return found


UNAUTHORIZED_STATUS: Final = 401
UNREADABLE_STATUS: Final = 503
NO_TOKEN: Final = NotLetIn(
    UNAUTHORIZED_STATUS,
    UNAUTHORIZED,
    "this server requires a token: send the header Authorization: Bearer <token>. Clients take it "
    "from the file that LAKELEDGER_TOKEN_FILE names",
)
UNKNOWN_TOKEN: Final = NotLetIn(
    UNAUTHORIZED_STATUS,
    UNAUTHORIZED,
    "this server does not know the token. Use one that `lakeledger token new` made for the file of "
    "this server",
)


class TokenDoor:
    """Lets requests in that show a known token; raises SettingsError for an unreadable file."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._stamp = stamp_of(file)
        self._known: Sequence[KnownToken] | None = read_tokens(file)

    def look_at(self, headers: Iterable[tuple[bytes, bytes]]) -> KnownToken | NotLetIn:
        """Return the token by which a request is let in, or why it is not let in."""
        known = self._current()
        if known is None:
            text = f"the tokens of this server cannot be read; its log says why ({self._file.name})"
            return NotLetIn(UNREADABLE_STATUS, TOKENS_UNREADABLE, text)
        given = [text for name, text in headers if name == b"authorization"]
        token = token_in(given[0]) if len(given) == 1 else None
        if token is None:
            return NO_TOKEN
        found = known_as(known, token)
        if found is None:
            return UNKNOWN_TOKEN
        if found.is_expired(self._clock.now_ms()):
            return NotLetIn(
                UNAUTHORIZED_STATUS,
                UNAUTHORIZED,
                f"the token {found.name} has expired. Make another one with: lakeledger token new",
            )
        return found

    def _current(self) -> Sequence[KnownToken] | None:
        """Return the tokens of the file as it is now, None if it cannot be read."""
        stamp = stamp_of(self._file)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._known = read_tokens(self._file)
            except SettingsError as problem:
                self._known = None
                log_lines.error("tokens cannot be read: no request is let in", why=str(problem))  # noqa: TRY400
            else:
                log_lines.info("tokens read", tokens=len(self._known))
        return self._known


class Doors:
    """What a server demands of its clients, and how it shows that it is the right server.

    Raises SettingsError for files that cannot be read.
    """

    def __init__(self, settings: WebSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._tokens = (
            None
            if settings.tokens is None
            else TokenDoor(path_of(str(settings.tokens), "web.tokens"), clock or SystemClock())
        )
        self._context: ssl.SSLContext | None = None
        self._pair: tuple[Path, Path] | None = None
        if settings.certificate is not None or settings.key is not None:
            self._pair = pair_of(settings)
            self._stamps = stamps_of(self._pair)
            self._context = context_of(*self._pair)

    def context_factory(self) -> Callable[..., ssl.SSLContext] | None:
        """Return what makes the context of TLS, None for a server without a certificate."""
        context = self._context
        return None if context is None else lambda *_: context

    @property
    def scheme(self) -> str:
        """The scheme of the server's URL."""
        return "http" if self._context is None else "https"

    def check(self, endpoint: Endpoint) -> None:
        """Raise SettingsError for an open door to other hosts that no setting asks for."""
        lacks = [
            *(["tokens (web.tokens)"] if self._tokens is None else []),
            *(["TLS (web.certificate, web.key)"] if self._context is None else []),
        ]
        if not lacks or is_loopback(endpoint.host):
            return
        what = (
            f"{endpoint} is reached by other hosts, and the server has no {' and no '.join(lacks)}"
        )
        if not self._settings.open:
            raise SettingsError(
                f"{what}: every client could read the whole ledger, or what others read. Set them, "
                "listen at 127.0.0.1, or set web.open=true to answer so on purpose"
            )
        log_lines.warning("answers other hosts by web.open=true", why=what)

    def look_at(self, headers: Iterable[tuple[bytes, bytes]]) -> KnownToken | NotLetIn | None:
        """Return the token by which a request is let in, or why it is not let in.

        None is returned where no token is required.
        """
        return None if self._tokens is None else self._tokens.look_at(headers)

    def look(self) -> None:
        """Take a renewed certificate; connections that are open keep the former one."""
        if self._pair is None or self._context is None:
            return
        stamps = stamps_of(self._pair)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            # The one in use would be damaged by a certificate that does not fit its key.
            context_of(*self._pair)
            self._context.load_cert_chain(*self._pair)
        except (SettingsError, OSError) as problem:
            log_lines.error("the new certificate is not used", why=str(problem))  # noqa: TRY400
        else:
            log_lines.info("certificate read", certificate=str(self._pair[0]))


def token_in(header: bytes) -> str | None:
    """Return the token in an Authorization header, None if absent."""
    kind, _, rest = header.decode("latin-1").strip().partition(" ")
    text = rest.strip()
    if kind.lower() == BEARER:
        # Some clients of Python send the word None where they have no token.
        return text if text != str(None) else None
    if kind.lower() == BASIC:
        try:
            plain = base64.b64decode(text, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return None
        return plain.partition(":")[2] or None
    return None


def pair_of(settings: WebSettings) -> tuple[Path, Path]:
    """Return the files of the certificate and its key; raises SettingsError if one is missing."""
    if settings.certificate is None or settings.key is None:
        lacking = "web.certificate" if settings.certificate is None else "web.key"
        raise SettingsError(f"web.certificate and web.key go together, but {lacking} is not set")
    names = ("web.certificate", settings.certificate), ("web.key", settings.key)
    certificate, key = (path_of(str(file), name) for name, file in names)
    return certificate, key


def context_of(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context of a server with a certificate; raises SettingsError."""
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a password would ask the terminal for it.
        found.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as problem:
        raise SettingsError(
            f"web.certificate {certificate} and web.key {key} cannot be used ({problem}). Both "
            "must be PEM files, the key without a password, and belong together"
        ) from problem
    return found


def stamp_of(file: Path) -> tuple[int, ...]:
    """Return what changes when a file does, () for a file that is not there."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def stamps_of(files: Iterable[Path]) -> list[tuple[int, ...]]:
    """Return what changes when one of the files is replaced."""
    return [stamp_of(file) for file in files]
