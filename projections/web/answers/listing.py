"""Listings: answers that become JSON chunk by chunk, so the server never holds a long one whole.

Rows are read page by page where all pages belong to one listing. Between two chunks other answers
have their turn. The next chunk is made when the client has taken the one before.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from time import thread_time
from typing import Any, Final, Generic, TypeVar

from ledger.reads.remote.http_form import to_json
from projections.web.answers.asked import LIMIT_MAX

CHUNK_BYTES: Final = 256 << 10
FEW: Final = 1_000
PAGE_ROWS: Final = 500
# After a page of more JSON the next one has fewer rows: some rows hold blocks.
PAGE_BYTES: Final = 8 << 20
# After so many rows a long answer gives way to short ones.
STRETCH: Final = 50
# A page that costs more for each row passes over rows in between, such as files removed since: then
# fewer and longer pages cost less.
ROW_S: Final = 40e-6
GROWTH: Final = 4

Asking = TypeVar("Asking")
Row = TypeVar("Row")


class Size(Enum):
    """The size of an answer: few rows, pages of rows, or all rows at once."""

    FEW = "few"
    PAGES = "pages"
    WHOLE = "whole"


class Paged(Generic[Asking, Row]):
    """At most `limit` rows, None for all, read page by page.

    `ask` takes the last row of the page before, None at first, and the number of rows to return.

    Attributes:
        sent: the bytes of JSON that the last page became.
    """

    def __init__(
        self, ask: Callable[[Asking, Row | None, int], Sequence[Row]], limit: int | None
    ) -> None:
        self._ask = ask
        self._left = limit
        self._last: Row | None = None
        self._page_rows = PAGE_ROWS
        self.sent = 0

    def page(self, source: Asking) -> Sequence[Row]:
        """Return the next page, an empty one at the end."""
        if self.sent > PAGE_BYTES:
            self._page_rows = max(1, self._page_rows // GROWTH)
        self.sent = 0
        wanted = self._page_rows if self._left is None else min(self._page_rows, self._left)
        if not wanted:
            return []
        began_s = thread_time()
        found = self._ask(source, self._last, wanted)
        if thread_time() - began_s > ROW_S * wanted:
            self._page_rows = min(LIMIT_MAX, GROWTH * self._page_rows)
        if len(found) < wanted:
            self._left = 0
        elif self._left is not None:
            self._left -= wanted
        self._last = found[-1] if found else None
        return found


class JsonAnswer(Generic[Asking]):
    """An answer as JSON, in chunks; only one thread at a time may make the next one.

    `give_way` is called now and then while a chunk is made.
    """

    def __init__(self, found: Any, give_way: Callable[[], None] = lambda: None) -> None:
        self._give_way = give_way
        self._pieces = self._pieces_of(found)
        self._source: Asking
        self.is_done = False

    def chunk(self, source: Asking) -> bytes:
        """Return the next chunk, with rows from this source."""
        self._source = source
        parts, size = [], 0
        for piece in self._pieces:
            parts.append(piece)
            if not len(parts) % (2 * STRETCH):
                self._give_way()
            size += len(piece)
            if size >= CHUNK_BYTES:
                return b"".join(parts)
        self.is_done = True
        return b"".join(parts)

    def _pieces_of(self, found: Any) -> Iterator[bytes]:
        if isinstance(found, Paged | list):
            mark = b"["
            for row in self._rows(found) if isinstance(found, Paged) else map(to_json, found):
                yield mark
                yield row
                mark = b","
            yield b"[]" if mark == b"[" else b"]"
        else:
            data = to_json(found)
            for start in range(0, len(data), CHUNK_BYTES):
                yield data[start : start + CHUNK_BYTES]

    def _rows(self, paged: Paged[Asking, Any]) -> Iterator[bytes]:
        while page := paged.page(self._source):
            for row in page:
                data = to_json(row)
                paged.sent += len(data)
                yield data
