"""Long answers: page by page, as of one position, in little memory, and in nobody's way."""

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event as Signal
from time import monotonic
from typing import Any, Final

import pytest

from ledger.errors import UnknownTableError
from ledger.reads.port import FileRow
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.store.port import RowReader
from projections.web.answers.listing import (
    CHUNK_BYTES,
    FEW,
    PAGE_BYTES,
    PAGE_ROWS,
    STRETCH,
    JsonAnswer,
    Paged,
    Size,
)
from projections.web.app import AT_ONCE
from projections.web.server.slots import YIELDED_MAX_S, Precedence
from tests.core.parts import table_of
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.web.served import Served, rows_in, serving
from tests.web.wire import Wire, request

FILES: Final = 6_007
PATIENCE_S: Final = 20.0
SOON_S: Final = 0.5


@pytest.fixture(scope="module")
def domain() -> Followed:
    """Return a domain with a table of several pages of files, some of them removed later."""
    domain = Followed(MemoryStore())
    session = domain.open_session()
    table = domain.create_table(session, "long", made=table_of(("day", "int"), by=["day"]))
    commit(domain, session, table, [f"{n:06}-{'x' * 60}" for n in range(FILES)])
    commit(domain, session, table, [], [f"{n:06}-{'x' * 60}" for n in range(0, FILES, 3)])
    for n in range(FEW + 10):
        commit(domain, session, table, [f"late-{n}"])
    domain.follow()
    return domain


@pytest.fixture(scope="module")
def served(domain: Followed) -> Iterator[Served]:
    with serving(rows_in(domain)) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/v1/tables/1/files", FILES - (FILES + 2) // 3 + FEW + 10),
        ("/v1/tables/1/files?version=1", FILES),
        ("/v1/tables/1/files?version=2", FILES - (FILES + 2) // 3),
        (f"/v1/tables/1/files?version=1&limit={3 * PAGE_ROWS + 1}", 3 * PAGE_ROWS + 1),
        (f"/v1/tables/1/files?version=1&limit={4 * PAGE_ROWS}", 4 * PAGE_ROWS),
        ("/v1/tables/1/files?version=1&limit=0", 0),
        ("/v1/tables/1/files?version=1&path=006000&limit=2000", 7),
        (f"/v1/history?limit={FEW + 1}", FEW + 1),
        ("/v1/history?after=7&limit=5", 5),
        ("/v1/history?limit=100000", FEW + 17),
        ("/v1/tables/1/versions?limit=100000", FEW + 13),
        ("/v1/tables/1/versions?limit=100000&below=3", 3),
        ("/v1/conflicts?limit=100000", 0),
        ("/v1/tables/1/mappings", 0),
        ("/v1/tables", 1),
    ],
)
def test_as_on_the_host(domain: Followed, served: Served, path: str, number: int) -> None:
    """A long answer has the rows that reads on the host give, each once and in their order."""
    answer = served.ask(path)
    assert answer.status == 200
    assert len(answer.form) == number
    if "files?version=1" in path and number > 7:
        expected = [file.path for file in domain.reads.files(1, version=1)][:number]
        assert [each["path"] for each in answer.form] == expected
    if "history" in path:
        positions = [each["position"] for each in answer.form]
        assert positions == list(range(positions[0], positions[0] + number)) if positions else True


class Leafed(StoreReads):
    """Reads that let something happen before the second page of files."""

    def __init__(self, rows: RowReader, before_second: Signal, second: Signal) -> None:
        super().__init__(rows)
        self._before_second = before_second
        self._second = second

    def files(self, table: int, **asked: Any) -> Sequence[FileRow]:
        """Return a page of files, the second one once that is allowed."""
        if asked["path"]:
            self._second.set()
            assert self._before_second.wait(PATIENCE_S)
        return super().files(table, **asked)


def test_what_is_committed_while_a_listing_is_read_is_not_in_it() -> None:
    domain, go_on, reached = Followed(MemoryStore()), Signal(), Signal()
    session = domain.open_session()
    table = domain.create_table(session, "t")
    names = [f"{n:06}" for n in range(2 * PAGE_ROWS)]
    commit(domain, session, table, names)
    domain.follow()
    store = domain.store
    assert isinstance(store, MemoryStore)
    with (
        serving(lambda: Leafed(store.reader(), go_on, reached)) as served,
        ThreadPoolExecutor(1) as pool,
    ):
        asked = pool.submit(served.ask, f"/v1/tables/{table}/files")
        assert reached.wait(PATIENCE_S)
        commit(domain, session, table, ["000000-new", "zzz"], [names[0], names[-1]])
        domain.follow()
        go_on.set()
        assert [each["path"] for each in asked.result().form] == names


class Breaking(StoreReads):
    """Reads whose table is not known any more from some page on."""

    def files(self, table: int, **asked: Any) -> Sequence[FileRow]:
        if asked["path"] > "004":
            raise UnknownTableError("it went", reason="UnknownTable")
        return super().files(table, **asked)


def test_a_listing_that_breaks_off(domain: Followed) -> None:
    """A listing that cannot be ended is cut, so that no client takes the part for the whole."""
    store = domain.store
    assert isinstance(store, MemoryStore)
    with serving(lambda: Breaking(store.reader())) as served, closing(Wire(served.url)) as wire:
        said = wire.send(request("/v1/tables/1/files?version=1")).read_to_end()
        assert b"0\r\n\r\n" not in said
        assert served.ask("/v1/identity").status == 200


def test_of_a_listing_no_more_than_a_page_and_a_chunk_is_held_however_long_it_is() -> None:
    row = FileRow(1, "x" * 100, "", ("1",), 1, 1, "", 1, 1, 0)
    pages = 80

    def page(_source: None, last: FileRow | None, rows: int) -> Sequence[FileRow]:
        behind = 0 if last is None else last.size
        return [row._replace(size=behind + n + 1) for n in range(rows)]

    answered = JsonAnswer[None](Paged(page, pages * PAGE_ROWS))
    tracemalloc.start()
    total = 0
    while not answered.is_done:
        total += len(answered.chunk(None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total > 24 * CHUNK_BYTES
    assert peak < 12 * CHUNK_BYTES


@pytest.mark.parametrize("found", [[], [1], ["a", None], {}, "x" * 3 * CHUNK_BYTES])
def test_chunks_make_up_the_answer(found: object) -> None:
    answered = JsonAnswer[None](found)
    parts = [answered.chunk(None)]
    while not answered.is_done:
        parts.append(answered.chunk(None))
    assert json.loads(b"".join(parts)) == found


def test_pages_of_rows_with_blocks_get_fewer_rows() -> None:
    """Not more bytes wait than a page may have, once the first page has shown what rows weigh."""
    block, asked = b"\1" * (64 << 10), list[int]()

    def ask(_: None, last: tuple[int, bytes] | None, rows: int) -> Sequence[tuple[int, bytes]]:
        asked.append(rows)
        first = 0 if last is None else last[0] + 1
        return [(number, block) for number in range(first, min(first + rows, 1_300))]

    answer: JsonAnswer[None] = JsonAnswer(Paged(ask, None))
    parts = []
    while not answer.is_done:
        parts.append(answer.chunk(None))
    assert [number for number, _ in json.loads(b"".join(parts))] == list(range(1_300))
    assert asked[0] == PAGE_ROWS
    assert max(asked[2:]) * 2 * len(block) <= 2 * PAGE_BYTES


def test_long_answers_give_way() -> None:
    precedence = Precedence()
    answered = JsonAnswer[None](list(range(100 * STRETCH)), precedence.give_way)
    began_s = monotonic()
    with precedence.short(), ThreadPoolExecutor(1) as pool:
        chunk = pool.submit(answered.chunk, None)
        assert json.loads(chunk.result()) == list(range(100 * STRETCH))
    assert monotonic() - began_s >= YIELDED_MAX_S


class Held(StoreReads):
    """Reads of which files are told once that is allowed."""

    def __init__(self, rows: RowReader, may_go_on: Signal) -> None:
        super().__init__(rows)
        self._may_go_on = may_go_on

    def files(self, table: int, **asked: Any) -> Sequence[FileRow]:
        assert self._may_go_on.wait(PATIENCE_S)
        return super().files(table, **asked)


def test_short_answers_wait_for_no_listing(domain: Followed) -> None:
    store, go_on = domain.store, Signal()
    assert isinstance(store, MemoryStore)
    more = 2 * AT_ONCE[Size.PAGES]
    with serving(lambda: Held(store.reader(), go_on)) as served, ThreadPoolExecutor(more) as pool:
        asked = [pool.submit(served.ask, "/v1/tables/1/files?version=1") for _ in range(more)]
        try:
            for path in ("/livez", "/readyz", "/metrics", "/v1/identity", "/v1/position") * 3:
                began_s = monotonic()
                assert served.ask(path).status in {200, 503}
                assert monotonic() - began_s < SOON_S
            assert not any(each.done() for each in asked)
        finally:
            go_on.set()
        assert {len(each.result().form) for each in asked} == {FILES}
