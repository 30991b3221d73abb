"""Bearer tokens of HTTP: how one is made, and the file of a server that lists the known ones.

The file has a token a line: its name, the SHA-256 of the token, when it expires, and `write` if it
may make changes. A token has 256 random bits, so its hash cannot be searched for, and the file does
not give it away.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, Self

from ledger.clock import time_text
from ledger.config.private import write_private
from ledger.errors import SettingsError

PREFIX: Final = "lkl_"
"""How every token begins, so that programs that look for secrets in files find it."""

RANDOM_BYTES: Final = 32
NEVER: Final = "never"
WRITE: Final = "write"
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")
COMMENT: Final = "#"
HEAD: Final = (
    "# Tokens of HTTP, a line each: name, SHA-256, expiry, and `write` for one that may make "
    "changes. Made by `lakeledger token`.\n"
)


class KnownToken(NamedTuple):
    """A token as its server knows it; `expires_ms` is its end in ms since 1970, None = never.

    Every token may read. Only one that `may_write` makes changes where a server offers them.
    """

    name: str
    digest: str
    expires_ms: int | None
    may_write: bool = False

    @classmethod
    def made(
        cls, name: str, expires_ms: int | None, *, may_write: bool = False
    ) -> tuple[Self, str]:
        """Return a new token as its server knows it, and the token itself."""
        if not NAME.fullmatch(name):
            raise SettingsError(
                "the name of a token must be 1 to 64 letters, digits and any of . _ @ -, got "
                f"{name!r}"
            )
        token = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        return cls(name, digest_of(token), expires_ms, may_write), token

    def is_expired(self, now_ms: int) -> bool:
        """Return whether the token counts no more."""
        return self.expires_ms is not None and now_ms >= self.expires_ms

    def line(self) -> str:
        """Return the line of the file."""
        ends = NEVER if self.expires_ms is None else time_text(self.expires_ms)
        words = (self.name, self.digest, ends, *((WRITE,) if self.may_write else ()))
        return f"{' '.join(words)}\n"


def digest_of(token: str) -> str:
    """Return the hash by which a token is known."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def known_as(known: Iterable[KnownToken], token: str) -> KnownToken | None:
    """Return the known token that a text is, None if absent; the time shows nothing of them."""
    digest, found = digest_of(token), None
    for each in known:
        if hmac.compare_digest(each.digest, digest):
            found = each
    return found


def read_tokens(file: Path) -> list[KnownToken]:
    """Return the tokens in a file; raises SettingsError for a file that is not one of tokens."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise SettingsError(
            f"the tokens in {file} cannot be read ({problem}). Make one with: lakeledger token new "
            f"NAME --file {file}"
        ) from problem
    found = list(tokens_in(text, file))
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"{file} has {names.count(name)} tokens {name}; leave one of them")
    return found


def tokens_in(text: str, file: Path) -> Iterator[KnownToken]:
    """Yield the tokens in a text; an error names the line and repeats nothing of it."""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith(COMMENT):
            continue
        try:
            known = token_of_words(*words)
        except (TypeError, ValueError):
            raise SettingsError(
                f"line {number} of {file} must be a name, 64 hex digits, a time or {NEVER!r}, and "
                f"{WRITE!r} or nothing; make tokens with: lakeledger token new"
            ) from None
        yield known


def token_of_words(name: str, digest: str, ends: str, right: str = "") -> KnownToken:
    """Return the token of a line's words; raises ValueError."""
    if not NAME.fullmatch(name) or not DIGEST.fullmatch(digest) or right not in {"", WRITE}:
        raise ValueError(name)
    ends_ms = None if ends == NEVER else time_ms(ends)
    return KnownToken(name, digest.lower(), ends_ms, may_write=bool(right))


def time_ms(text: str) -> int:
    """Return a time in ISO 8601 in ms; a time without a zone is in UTC. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def change_tokens(
    file: Path, change: Callable[[Sequence[KnownToken]], Sequence[KnownToken]]
) -> None:
    """Write a file of tokens anew, for its owner only; a reader finds all of it, or the old one.

    Raises SettingsError if the file cannot be read or written.
    """
    tokens = change(read_tokens(file) if file.exists() else [])
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        write_private(draft, HEAD + "".join(token.line() for token in tokens))
        draft.replace(file)
    except OSError as problem:
        raise SettingsError(f"the tokens cannot be written to {file}: {problem}") from problem
