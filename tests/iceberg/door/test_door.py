"""Who is let in, who may change, in whose name, and what every refusal looks like."""

from pathlib import Path
from threading import Barrier, Thread

import pytest

from ledger.config.settings import WebSettings
from ledger.testing import InMemoryLedger
from projections.web.iceberg.clients import UserLedgers
from projections.web.iceberg.routes import ICEBERG_ROUTES
from tests.iceberg.door.doors import V1, Door, answering, tokens_in

READ_ONLY = (403, "ForbiddenException")


def test_the_config_says_what_the_server_has_and_the_prefix(door: Door) -> None:
    door.ledger.create_namespace("a")
    for name in ("", "?warehouse=", "?warehouse=main", "?warehouse=test"):
        found = door.ask(f"/v1/config{name}").form
        assert found["overrides"] == {"prefix": "main"}
    assert found["defaults"] == {}
    assert found["idempotency-key-lifetime"] == "PT30M"
    offered = set(found["endpoints"])
    assert "POST /v1/{prefix}/transactions/commit" in offered
    assert "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}" in offered
    assert "POST /v1/{prefix}/namespaces/{namespace}/register" not in offered
    assert offered <= {route.endpoint for route in ICEBERG_ROUTES}

    pinned = door.ask("/v1/config?warehouse=main@1").form
    assert pinned["overrides"] == {"prefix": "main@1"}


@pytest.mark.parametrize(
    ("warehouse", "status"),
    [("nope", 404), ("nope@1", 404), ("main@", 400), ("main@x", 400), ("main@999", 400)],
)
def test_an_unknown_warehouse_is_refused(door: Door, warehouse: str, status: int) -> None:
    assert door.ask(f"/v1/config?warehouse={warehouse}").error[0] == status


def test_another_prefix_is_refused(door: Door) -> None:
    for prefix in ("other", "MAIN", "other@1"):
        assert door.ask(f"/v1/{prefix}/namespaces").error[0] == 404


def test_a_change_is_made_in_the_name_of_the_token(memory: InMemoryLedger, tmp_path: Path) -> None:
    headers = tokens_in(tmp_path / "tokens", etl=True, ada=True)
    with answering(memory, tmp_path, doors=WebSettings(tmp_path / "tokens")) as door:
        for name in ("ada", "etl", "ada"):
            made = door.post("namespaces", {"namespace": [f"of_{name}"]}, headers[name])
            assert made.status in {200, 409}

        history = memory.reads.history(0, 100)
        sessions = {row.session for row in history if row.type == "NamespaceChanged"}
        users = {found.user for each in sessions if (found := memory.reads.session(each))}
        assert users == {"ada", "etl"}
        assert door.lake.users() == 2


def test_a_token_may_only_read_unless_it_was_made_to_write(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    headers = tokens_in(tmp_path / "tokens", reader=False, writer=True)
    with answering(memory, tmp_path, doors=WebSettings(tmp_path / "tokens")) as door:
        reads = headers["reader"]
        before = memory.reads.position()
        for route in ICEBERG_ROUTES:
            path = route.path.format(prefix="main", namespace="db", table="t")
            found = door.ask(path, route.method, {"x": 1}, reads)
            if route.changes:
                assert found.error == READ_ONLY, route.name
                assert "--write" in found.form["error"]["message"]
            else:
                assert found.status in {200, 400, 404}, route.name
        assert memory.reads.position() == before
        assert door.ask("namespaces", headers=reads).status == 200
        made = door.post("namespaces", {"namespace": ["db"]}, headers["writer"])
        assert made.status == 200


def test_no_token_is_let_in_by_its_lack(memory: InMemoryLedger, tmp_path: Path) -> None:
    """Python's client sends the word None where it has no token."""
    tokens_in(tmp_path / "tokens", etl=True)
    with answering(memory, tmp_path, doors=WebSettings(tmp_path / "tokens")) as door:
        for header in ({}, {"authorization": "Bearer None"}, {"authorization": "Bearer lkl_no"}):
            found = door.ask("namespaces", headers=header)
            assert found.error == (401, "NotAuthorizedException")
            assert "www-authenticate" in found.headers
        assert door.ask("/livez").status == 200
        assert door.ask("/metrics").error == (401, "NotAuthorizedException")


def test_without_tokens_that_word_is_ignored(door: Door) -> None:
    assert door.ask("namespaces", headers={"authorization": "Bearer None"}).status == 200


def test_a_page_of_a_browser_changes_nothing(door: Door) -> None:
    """It may send a form to this host without asking, and the browser would log it in."""
    site = {"origin": "http://evil.example", "content-type": "text/plain"}
    found = door.post("namespaces", {"namespace": ["a"]}, site)
    assert found.error == READ_ONLY
    assert list(door.ledger.namespaces()) == []
    assert door.ask("namespaces", headers={"origin": "http://evil.example"}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1", 404),
        ("GET", f"{V1}/namespaces/", 404),
        ("GET", f"{V1}/namespaces/db/tables/t/more/parts", 404),
        ("GET", f"{V1}/namespaces/db/views", 404),
        ("POST", "/v1/oauth/tokens", 404),
        ("GET", "/v1/position", 404),
        ("PUT", f"{V1}/namespaces", 405),
        ("PATCH", f"{V1}/namespaces/db/tables/t", 405),
        ("GET", f"{V1}/transactions/commit", 405),
    ],
)
def test_what_is_not_there_is_refused_in_the_form_of_the_protocol(
    door: Door, method: str, path: str, status: int
) -> None:
    assert door.ask(path, method).error[0] == status


def test_another_host_and_a_long_head_are_refused_in_that_form(door: Door) -> None:
    assert door.ask("namespaces", headers={"host": "evil.example"}).error[0] == 421
    assert door.ask("namespaces", headers={"x-long": "x" * 40_000}).error[0] == 431


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"namespace": NaN}',
        b'{"namespace": ["\\ud800"]}',
        b"[" * 100_000,
        b'{"namespace":' * 3_000,
        b"\xff\xfe",
        b"9" * 10_000,
    ],
)
def test_a_body_that_is_no_object_is_refused_at_every_route(door: Door, data: bytes) -> None:
    before = door.ledger.reads().position()
    for route in ICEBERG_ROUTES:
        if route.body is not None:
            path = route.path.format(prefix="main", namespace="db", table="t")
            found = door.ask(path, route.method, data=data)
            assert found.error[0] in {400, 404, 406}, route.name
    assert door.ledger.reads().position() == before


def test_a_body_of_too_many_bytes_or_parts_is_refused(door: Door) -> None:
    assert door.ask("namespaces", "POST", data=b" " * (9 << 20)).error[0] == 413
    many = b'{"namespace":[' + b",".join([b'"a"'] * 300_000) + b"]}"
    assert door.ask("namespaces", "POST", data=many).error[0] == 413


def test_few_ledgers_are_open_and_idle_ones_give_way(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    names = {f"user{number}": True for number in range(4)}
    headers = tokens_in(tmp_path / "tokens", **names)
    doors = WebSettings(tmp_path / "tokens")
    with answering(memory, tmp_path, doors=doors, users_max=2) as door:
        for name in names:
            assert door.post("namespaces", {"namespace": [name]}, headers[name]).status == 200
            assert door.lake.users() <= 2
            listed = door.ask("namespaces", headers=headers[name]).form["namespaces"]
            assert [name] in listed
        again = door.post("namespaces", {"namespace": ["again"]}, headers["user0"])
        assert again.status == 200


def test_a_ledger_in_use_does_not_give_way(memory: InMemoryLedger) -> None:
    ledgers = UserLedgers(lambda user: memory.connect(user=user), most=1)
    with ledgers.of("ada") as first, ledgers.of("ada") as same:
        assert first is same
        with pytest.raises(Exception, match="1 users"), ledgers.of("etl"):
            raise AssertionError
    with ledgers.of("etl") as other:
        assert other is not first
    ledgers.leave()
    assert len(ledgers) == 0


def test_changes_at_once_all_happen(door: Door) -> None:
    begin, statuses = Barrier(8), list[int]()

    def create(number: int) -> None:
        begin.wait()
        statuses.append(door.post("namespaces", {"namespace": [f"n{number}"]}).status)

    threads = [Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 8
    assert len(door.ask("namespaces").form["namespaces"]) == 8


def test_health_and_metrics(door: Door) -> None:
    """Both are those of other roles; changes are counted by route and status."""
    door.post("namespaces", {"namespace": ["a"]})
    door.post("namespaces", {"namespace": ["a"]})

    ready = door.ask("/readyz")
    assert ready.status == 200
    assert ready.form["role"] == "iceberg"
    assert set(ready.form["checks"]) == {"rows", "broker"}
    text = door.ask("/metrics").data.decode()
    for line in (
        'lakeledger_iceberg_changes_total{route="create_namespace",status="200"} 1.0',
        'lakeledger_iceberg_changes_total{route="create_namespace",status="409"} 1.0',
        "lakeledger_iceberg_users 1.0",
        "lakeledger_iceberg_kept_answers 0.0",
        'lakeledger_http_requests_total{path="/{prefix}/namespaces",status="409"} 1.0',
    ):
        assert f"{line}\n" in text
    assert f"lakeledger_iceberg_position {door.ledger.reads().position()}.0\n" in text
