"""A client that sends bytes as it likes, half of them or too many, and reads when it likes."""

import select
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import parse_headers
from typing import Final, Self
from urllib.parse import urlsplit

from tests.web.served import Answer

PATIENCE_S: Final = 20.0
HALF_HEAD: Final = b"GET /v1/identity HTTP/1.1\r\nHo"


class Wire:
    """A connection to a URL."""

    def __init__(self, url: str, *, receive_bytes: int | None = None) -> None:
        parts = urlsplit(url)
        self._socket = socket.socket()
        if receive_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect((parts.hostname, parts.port))
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> Self:
        """Write bytes to the connection, however they are cut."""
        self._socket.sendall(data)
        return self

    def answer(self, method: str = "GET") -> tuple[Answer, dict[str, str]]:
        """Return the next answer, and its headers in lower case."""
        status = int(self._file.readline().split()[1])
        headers = {name.lower(): text for name, text in parse_headers(self._file).items()}
        if method == "HEAD":
            return Answer(status, b""), headers
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, b"".join(self._chunks())), headers
        return Answer(status, self._file.read(int(headers["content-length"]))), headers

    def read_to_end(self) -> bytes:
        """Return all that comes until the server closes."""
        return self._file.read()

    def is_cut(self) -> bool:
        """Tell, without reading, whether the server resets the connection in time."""
        poll = select.poll()
        poll.register(self._socket, 0)
        found = poll.poll(PATIENCE_S * 1000)
        return any(event & select.POLLERR for _, event in found)

    def drip(self, byte: bytes = b"x") -> bytes:
        """Send a byte now and then until the server says something, and return that."""
        self._socket.settimeout(0.05)
        try:
            while True:
                self._socket.sendall(byte)
                try:
                    return self._socket.recv(1 << 16)
                except TimeoutError:
                    continue
        finally:
            self._socket.settimeout(PATIENCE_S)

    def close(self) -> None:
        """End the connection from this side."""
        self._file.close()
        self._socket.close()

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._file.readline(), 16):
            yield self._file.read(size)
            self._file.readline()
        self._file.readline()


def request(path: str, method: str = "GET", *headers: str) -> bytes:
    """Return the head of a request as its bytes on the line."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


@contextmanager
def wires(url: str, number: int, sent: bytes = b"") -> Iterator[list[Wire]]:
    """Have so many connections while the block runs, each of which sent some bytes."""
    with ExitStack() as own:
        found = [Wire(url) for _ in range(number)]
        for each in found:
            own.callback(each.close)
        send_all(found, sent)
        yield found


def send_all(found: Iterable[Wire], sent: bytes) -> None:
    """Send the same bytes by each connection."""
    for each in found:
        each.send(sent)
