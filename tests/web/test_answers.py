"""What the server says: rows as objects, errors by name and status, limits kept."""

import asyncio
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import pytest
from starlette.types import Message
from structlog.typing import EventDict

from ledger.core.commands import CreateTable
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.errors import (
    LedgerError,
    LimitExceededError,
    ReaderBehindError,
    UnknownTableError,
    UnknownVersionError,
)
from ledger.reads.metadata import MetadataQuestion, Read
from ledger.reads.port import AnomalyRow, Reads
from ledger.reads.remote.http_form import to_json
from ledger.reads.remote.http_questions import WAIT_MAX_MS
from projections.errors import StoreMissingError
from projections.queries import StoreReads
from projections.rows.keys import WATERMARK
from projections.store.memory import MemoryStore
from projections.web.answers.asked import LIMIT_MAX
from projections.web.answers.metadata_questions import READS_MAX
from projections.web.answers.questions import QUESTIONS
from projections.web.roles.follower import read_pages
from projections.web.server.bodies import OBJECTS_MAX, VALUES_MAX
from projections.web.server.limits import LIMITS
from projections.web.server.readers import AGAIN_S, THREADS
from tests.core.parts import footprint, table_of
from tests.driver import CATALOG, Driver
from tests.projections.filing import commit
from tests.projections.followed import Followed, rows_of
from tests.web.served import LAG_MAX_S, Served, rows_in, serving

BY_HOUR = table_of(("hour", "string"), by=["hour"])
BEYOND = 10_000


@pytest.fixture(scope="module")
def domain() -> Followed:
    """Return a domain with a table, two commits, an open txn and a dropped table."""
    domain = Followed(MemoryStore())
    session = domain.open_session()
    table = domain.create_table(session, "Flüge/db?&", made=BY_HOUR)
    commit(domain, session, table, ["a", "b"])
    commit(domain, session, table, [], ["a"], said=footprint("DELETE"))
    domain.open_txn(session)
    domain.drop_table(session, domain.create_table(session, "planes"))
    domain.follow()
    return domain


@pytest.fixture(scope="module")
def served(domain: Followed) -> Iterator[Served]:
    with serving(rows_in(domain)) as served:
        yield served


def test_every_question_has_its_client(served: Served) -> None:
    """No path is asked by nobody: each answers the request that needs nothing but numbers."""
    paths = [question.path.format(table=1, txn=1, session=3, n=1) for question in QUESTIONS]
    named = {"/v1/tables/named", "/v1/tables/1/apps/named", "/v1/sessions/opened-with"}
    lacking = {f"/v1{path}" for path in paths if served.ask(f"/v1{path}").status == 400}
    needy = {"/v1/tables/1/paths", "/v1/tables/1/changes", "/v1/metadata"}
    assert lacking == named | needy


def test_a_row_is_an_object_by_field_a_list_a_list_bytes_are_hex_digits(served: Served) -> None:
    files = served.ask("/v1/tables/1/files").form
    assert [(file["path"], file["partition"]) for file in files] == [("b", ["1"])]
    assert served.ask("/v1/snapshot").form == {"hwm": 3, "open": [3], "aborted": [], "min_open": 3}
    assert served.ask("/v1/identity").form["domain"] == 0


def test_rows_become_json_one_by_one() -> None:
    rows = [AnomalyRow(number, 1, "added_live", "day=1/" * 20, "") for number in range(9_999)]
    expected = json.dumps([row._asdict() for row in rows], separators=(",", ":")).encode()
    tracemalloc.start()
    found = to_json(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == expected
    assert peak < 3 * len(expected)


def test_a_name_of_any_characters_is_found_or_absent(domain: Followed, served: Served) -> None:
    found = served.reads.table_named(CATALOG, "Flüge/db?&")
    assert found == domain.reads.table_named(CATALOG, "Flüge/db?&")
    assert found is not None
    assert served.reads.table_named(CATALOG, "../../livez") is None


@pytest.mark.parametrize("ids", [None, ValidWriteIdList("t", 0, (), (), None)])
def test_names_of_no_table(served: Served, ids: ValidWriteIdList | None) -> None:
    reads = [Read("none", ids), Read("a\0b", ids), Read("a", ids, catalog="\0")]

    assert {(each.value, each.reason) for each in served.reads.metadata(reads)} == {
        (None, "absent")
    }


@pytest.mark.parametrize("catalog", ["", "&catalog=main"])
@pytest.mark.parametrize(
    ("name", "status"), [("db.sales", 200), ("DB.Sales", 200), ("db.none", 404)]
)
@pytest.mark.parametrize("given", ["", "&write_ids={}:0:1"])
def test_metadata_by_name(catalog: str, name: str, status: int, given: str) -> None:
    driver = Driver(catalogs=["main"])
    asks = driver.asks(driver.open_session())
    driver.ask(CreateTable(*asks, 0, 0, "main", "db.sales", BY_HOUR))
    store = rows_of(driver)
    with serving(lambda: StoreReads(store.reader())) as served:
        answer = served.ask(f"/v1/metadata?table={name}{catalog}{given.format(name)}")
    assert (answer.status, bool(answer.form.get("value"))) == (status, status == 200)


def test_a_list_of_another_table(served: Served) -> None:
    answer = served.ask("/v1/metadata?table=db.sales&catalog=main&write_ids=main.db.other:2:3")
    assert answer.error == (400, "BadRequest")
    assert "a list of table main.db.sales, got a list of main.db.other" in answer.form["message"]


def test_valid_write_ids_of_now(served: Served) -> None:
    now = served.ask("/v1/tables/1/valid-write-ids")
    assert now.data == to_json(served.reads.valid_write_ids(1, served.reads.valid_txns()))


ERRORS = [
    ("/v1/txns/99", 404, "NothingFound"),
    ("/v1/tables/99", 404, "NothingFound"),
    ("/v1/tables/named?catalog=main&name=none", 404, "NothingFound"),
    ("/v1/tables/1/version?at=0", 404, "NothingFound"),
    ("/v1/tables/1/version?at=1", 404, "NothingFound"),
    ("/v1/tables/1/version?at=0&position=2", 400, "BadRequest"),
    ("/v1/tables/99/files", 404, "UnknownTableError"),
    ("/v1/tables/99/mappings", 404, "UnknownTableError"),
    ("/v1/tables/2/files", 404, "UnknownTableError"),
    ("/v1/tables/1/files?version=99", 404, "UnknownVersionError"),
    (f"/v1/snapshot?position={BEYOND}", 409, "ReaderBehindError"),
    (f"/v1/tables/1/files?position={BEYOND}", 409, "ReaderBehindError"),
    (f"/v1/position?at_least={BEYOND}&timeout_ms=20", 409, "ReaderBehindError"),
    (f"/v1/history?limit={LIMIT_MAX + 1}", 400, "LimitExceededError"),
    (f"/v1/position?timeout_ms={WAIT_MAX_MS + 1}", 400, "LimitExceededError"),
    ("/v1/history?limit=-1", 400, "BadRequest"),
    ("/v1/history?limit=many", 400, "BadRequest"),
    ("/v1/history?limit=1_0", 400, "BadRequest"),
    ("/v1/tables/99/versions", 404, "UnknownTableError"),
    ("/v1/tables/99/apps", 404, "UnknownTableError"),
    ("/v1/tables/99/domains", 404, "UnknownTableError"),
    ("/v1/tables/1/files?version=1&position=5", 400, "BadRequest"),
    ("/v1/tables/1/version?version=1&position=2", 400, "BadRequest"),
    ("/v1/tables/1/version?position=2&at=3", 400, "BadRequest"),
    ("/v1/tables/1/files?position=-7", 400, "BadRequest"),
    ("/v1/tables/-1", 400, "BadRequest"),
    ("/v1/metadata?table=a%00b", 404, "UnknownTableError"),
    ("/v1/metadata?table=a%00b&write_ids=null:0:1", 404, "UnknownTableError"),
    ("/v1/metadata?table=a%00b&write_ids=null:7:8", 404, "UnknownTableError"),
    ("/v1/metadata?table=a&catalog=%00&write_ids=null:0:1", 404, "UnknownTableError"),
    ("/v1/metadata?table_id=-1", 400, "BadRequest"),
    ("/v1/metadata?table_id=1&position=-4", 400, "BadRequest"),
    ("/v1/metadata?table_id=1&token=-4", 400, "BadRequest"),
    ("/v1/metadata?table_id=1&own_txn=-5&write_ids=t:1:3", 400, "BadRequest"),
    ("/v1/txns/seven", 400, "BadRequest"),
    (f"/v1/txns/{2**63}", 400, "BadRequest"),
    ("/v1/tables?include_dropped=yes", 400, "BadRequest"),
    ("/v1/tables/1/files?positon=5", 400, "BadRequest"),
    ("/v1/tables/1/files?table=2", 400, "BadRequest"),
    ("/v1/tables/1/files?position=5&position=6", 400, "BadRequest"),
    ("/v1/position?at_least=1&at_least=2", 400, "BadRequest"),
    ("/v1/tables/1/paths?hash=xyz", 400, "BadRequest"),
    ("/v1/tables/named?catalog=main", 400, "BadRequest"),
    ("/v1/sessions/opened-with", 400, "BadRequest"),
    ("/v1/no-such-path", 404, "UnknownPath"),
    ("/v1/tables/", 404, "UnknownPath"),
    ("/readyz/", 404, "UnknownPath"),
]


@pytest.mark.parametrize(("path", "status", "name"), ERRORS)
def test_errors(served: Served, path: str, status: int, name: str) -> None:
    """What cannot be answered has a status, a name, and says why."""
    answer = served.ask(path)
    assert answer.error == (status, name)
    assert answer.form["message"]
    assert answer.form["retry_unchanged"] == (status == 409)


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 400)])
def test_as_much_as_may_be_asked(served: Served, more: int, status: int) -> None:
    reads = to_json(MetadataQuestion([Read(1, None)] * (READS_MAX + more)))

    assert served.ask(f"/v1/history?limit={LIMIT_MAX + more}").status == status
    assert served.ask("/v1/metadata", "POST", reads).status == status


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_nothing_is_written(served: Served, method: str) -> None:
    assert served.ask("/v1/tables", method).error == (405, "UnknownMethod")


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        (
            b"{}",
            (400, "BadRequest"),
            "must be a valid txn list: Object missing required field `hwm`",
        ),
        (b"not json", (400, "BadRequest"), "must be a valid txn list: Invalid JSON"),
        (
            b'{"hwm":1,"open":[2],"aborted":[],"min_open":null}',
            (400, "BadRequest"),
            "1 to hwm 1, got 2",
        ),
        (b" " * LIMITS.body_bytes_max, (400, "BadRequest"), "Invalid JSON"),
        (b" " * (LIMITS.body_bytes_max + 1), (413, "LimitExceededError"), "bytes"),
        (b"[" + b"0," * VALUES_MAX + b"0]", (413, "LimitExceededError"), "values"),
        (b"[" + b"{}," * OBJECTS_MAX + b"0]", (413, "LimitExceededError"), "objects"),
        (b'{"open":[' + b'"",' * 99_000 + b"0]}", (400, "BadRequest"), "Expected `int`, got `str`"),
        (b'{"x":' + b"[" * 900_000, (400, "BadRequest"), "Invalid JSON: it is nested too deeply"),
    ],
    ids=[
        *("empty", "no JSON", "no list", "as long as may be", "too long"),
        *("too many values", "too many objects", "texts", "too deep"),
    ],
)
def test_bodies(served: Served, body: bytes, error: tuple[int, str], says: str) -> None:
    """A body that is no valid txn list, or a very long one, is refused by what is wrong with it."""
    answer = served.ask("/v1/tables/1/valid-write-ids", "POST", body)
    assert answer.error == error
    assert not answer.form["retry_unchanged"]
    assert says in answer.form["message"]
    assert "both sides" not in answer.form["message"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (UnknownTableError, {"reason": "UnknownTable", "subject": 99, "position": 0}),
        (UnknownVersionError, {"reason": "UnknownVersion", "subject": 1, "position": 0}),
        (LimitExceededError, {"reason": "LimitExceeded", "subject": 0, "position": 0}),
        (ReaderBehindError, {"applied": 10, "wanted": BEYOND}),
    ],
)
def test_errors_arrive(
    domain: Followed, served: Served, kind: type[LedgerError], fields: dict[str, int | str]
) -> None:
    """A client raises what reads of a store would raise, with the same fields and words."""
    found = raised(kind, served.reads)
    assert {name: getattr(found, name) for name in fields} == fields
    local = kind is not LimitExceededError and str(raised(kind, domain.reads))
    assert local in {str(found), False}


def raised(kind: type[LedgerError], reads: Reads) -> LedgerError:
    """Return what reads raise for a question that has this error."""
    asks: dict[type[LedgerError], Callable[[], object]] = {
        UnknownTableError: lambda: reads.mappings(99),
        UnknownVersionError: lambda: reads.files(1, version=99),
        LimitExceededError: lambda: reads.open_txns(LIMIT_MAX + 1),
        ReaderBehindError: lambda: reads.valid_txns(BEYOND),
    }
    with pytest.raises(kind) as found:
        asks[kind]()
    return found.value


def test_before_there_is_a_store_the_server_says_so_and_goes_on(tmp_path: Path) -> None:
    def none_yet() -> Reads:
        raise StoreMissingError(tmp_path)

    with serving(none_yet) as served:
        assert served.ask("/v1/identity").error == (503, "StoreMissingError")
        assert served.ask("/v1/position").error == (503, "StoreMissingError")
        assert served.ask("/livez").status == 200


def test_of_many_who_ask_without_a_store_few_look_for_it(tmp_path: Path) -> None:
    looks = Counter[str]()

    def none_yet() -> Reads:
        looks["store"] += 1
        raise StoreMissingError(tmp_path)

    with serving(none_yet) as served, ThreadPoolExecutor(8) as pool:
        began_s = monotonic()
        asked = [pool.submit(served.ask, "/v1/identity") for _ in range(200)]
        assert {each.result().error for each in asked} == {(503, "StoreMissingError")}
        rounds = (monotonic() - began_s) / AGAIN_S + 1
    assert looks["store"] <= THREADS * rounds


class IllStore(MemoryStore):
    """Rows of which one is not what it should be."""

    def get(self, key: bytes) -> bytes | None:
        return b"]" if key == WATERMARK else super().get(key)


def test_a_fault_is_told_and_survived(domain: Followed) -> None:
    stores = iter((IllStore(), rows_of(domain)))

    with serving(lambda: StoreReads(next(stores))) as served:
        assert served.ask("/v1/watermark").error == (500, "Fault")
        assert served.ask("/v1/watermark").status == 200


def test_client_that_goes_away(domain: Followed, log_lines: Sequence[EventDict]) -> None:
    """A request whose body does not come to its end is no fault of the program."""
    pages = read_pages(rows_in(domain), lambda: None, lag_max_s=LAG_MAX_S)
    began: Message = {"type": "http.request", "body": b"{", "more_body": True}
    heard = iter([began, {"type": "http.disconnect"}])
    said: list[Message] = []

    async def receive() -> Message:
        return next(heard)

    async def send(message: Message) -> None:
        said.append(message)

    asked = {"type": "http", "method": "POST", "path": "/v1/metadata", "query_string": b""}
    asyncio.run(pages.app({**asked, "headers": []}, receive, send))
    pages.close()

    assert said[0]["status"] == 400
    assert not log_lines


def test_clients_that_wait_do_not_stand_in_the_way(domain: Followed, served: Served) -> None:
    txns = domain.reads.valid_txns()
    expected = domain.reads.valid_write_ids(1, txns)
    with ThreadPoolExecutor(24) as pool:
        waiting = [pool.submit(served.reads.wait, BEYOND, 400) for _ in range(16)]
        asking = [pool.submit(served.reads.valid_write_ids, 1, txns) for _ in range(64)]
        assert {each.result() for each in asking} == {expected}
        assert {type(each.exception()) for each in waiting} == {ReaderBehindError}
