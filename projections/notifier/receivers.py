"""Receivers: where messages go. Each takes them in order and says which ones it has for good.

`deliver` removes each message from the front of the queue once the receiver has it, and raises
DeliveryError if the receiver refuses the next one, or does not answer. The caller repeats what is
left, so a receiver may see a message twice.
"""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError

from ledger.errors import LogUnavailableError, SettingsError
from ledger.log.port import LogWriter
from ledger.reads.remote.web_login import WebLogin

# Shorter than the time that a supervisor gives a role to end.
ANSWER_S: Final = 10.0
FLUSH_S: Final = 30.0
TAKEN: Final = range(200, 300)
SHOWN: Final = 200
WEB: Final = frozenset({"http", "https"})
# A line is shorter than this; a file that a killed notifier left may end with a part of one.
TAIL: Final = 16 << 20


class DeliveryError(Exception):
    """A receiver refused a message, or did not answer; it may take the message later."""


class Receiver(Protocol):
    """Takes messages, for one thread."""

    def deliver(self, messages: deque[bytes]) -> None:
        """Take messages from the front of a queue; raises DeliveryError with the rest left."""

    def close(self) -> None:
        """Release what the receiver holds."""


class WebReceiver(Receiver):
    """A program that takes each message as a POST at a URL, and answers 2xx once it has it."""

    def __init__(self, url: str, content_type: str, token_file: Path | None = None) -> None:
        check_url(url)
        login = WebLogin.of(url)._replace(token_file=token_file)
        self._url = url
        self._headers = {"content-type": content_type, **login.headers(url)}
        self._pool = PoolManager(
            retries=False, timeout=Timeout(ANSWER_S), maxsize=1, **login.pool_settings(url)
        )

    def deliver(self, messages: deque[bytes]) -> None:
        while messages:
            try:
                answer = self._pool.request(
                    "POST", self._url, body=messages[0], headers=self._headers
                )
            except HTTPError as problem:
                raise DeliveryError(f"{self._url} does not answer: {problem}") from problem
            if answer.status not in TAKEN:
                said = answer.data[:SHOWN].decode("utf-8", "replace")
                raise DeliveryError(f"{self._url} answers with status {answer.status}: {said}")
            messages.popleft()

    def close(self) -> None:
        self._pool.clear()


class FileReceiver(Receiver):
    """A file of JSON lines, which is flushed to the disk; a last line without an end is removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def deliver(self, messages: deque[bytes]) -> None:
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            end = whole_lines(self._file)
            os.ftruncate(self._file, end)
            data = b"".join(message + b"\n" for message in messages)
            written = os.pwrite(self._file, data, end)
            os.fsync(self._file)
        except OSError as problem:
            raise DeliveryError(f"{self._path} cannot be written: {problem}") from problem
        if written < len(data):
            raise DeliveryError(f"{self._path} takes only {written} of {len(data)} bytes")
        messages.clear()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class TopicReceiver(Receiver):
    """A topic of Kafka, in which all messages of a ledger have one key."""

    def __init__(self, make_writer: Callable[[], LogWriter], key: str) -> None:
        self._make_writer = make_writer
        self._writer: LogWriter | None = None
        self._key = key.encode()

    def deliver(self, messages: deque[bytes]) -> None:
        try:
            if self._writer is None:
                self._writer = self._make_writer()
            for message in messages:
                self._writer.append(self._key, message)
            self._writer.flush(FLUSH_S)
        except LogUnavailableError as problem:
            # A writer that lost a record is of no more use.
            self.close()
            raise DeliveryError(str(problem)) from problem
        messages.clear()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def whole_lines(file: int) -> int:
    """Return where the last line of a file ends that has an end."""
    size = os.fstat(file).st_size
    first = max(0, size - TAIL)
    return first + os.pread(file, size - first, first).rfind(b"\n") + 1


def is_web(place: str) -> bool:
    """Return whether a place is a URL of HTTP, not a file."""
    return urlsplit(place).scheme in WEB


def check_url(url: str) -> None:
    """Raise SettingsError for what is no URL of HTTP."""
    if not is_web(url) or not urlsplit(url).hostname:
        raise SettingsError(f"a receiver must be an http:// or https:// URL, got {url!r}")
