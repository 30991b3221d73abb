"""What is searched, and what is said to be left out, for a user that may not read all topics."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from ledger.machine.process import ExitCode
from projections.queries import open_reads
from tests.command_line import done_in
from tests.integration.secure_broker import SecureBroker
from tests.integration.test_rights import (
    LEDGER,
    PATIENT_S,
    connected,
    done_of,
    ledger,  # noqa: F401 - a fixture
    role_of,
)

pytestmark = pytest.mark.kafka


@pytest.mark.usefixtures("ledger")
def test_the_size_of_a_log_leaves_out_what_may_not_be_read(
    secured: SecureBroker, tmp_path: Path
) -> None:
    with connected(secured) as client:
        client.begin().commit()
    done = done_of(secured, tmp_path, "operator", "log", "size", "--output", "json")
    assert done.returncode == ExitCode.DONE, done.stderr
    found = {each["what"] for each in json.loads(done.stdout)["held"]}
    assert {"topic events", "topic catalogs"} <= found
    assert "topic commands" not in found
    absent = ("--backup", str(tmp_path / "none"))
    done = done_of(secured, tmp_path, "operator", "log", "size", *absent)
    assert (done.returncode, done.stdout) == (ExitCode.FAILED, "")
    assert str(tmp_path / "none") in done.stderr


@pytest.mark.usefixtures("ledger")
def test_rows_are_forgotten_without_the_right_to_search_all_topics(
    secured: SecureBroker, tmp_path: Path
) -> None:
    """A client does the work, and reports which topics it may not read; `forget` reads them all."""
    rows, location = tmp_path / "rows", tmp_path / "people"
    people = [{"id": 7, "name": "planted Pauline"}, {"id": 8, "name": "another one"}]
    store = ("--store", str(rows), "--no-http")
    with role_of(secured, tmp_path, "follower", "follower", *store) as follower:
        follower.wait_for("caught up")
        unread: dict[str, set[str]] = {}
        for user in ("client", "forget"):
            name = f"db.{user}"
            with connected(secured) as client, closing(open_reads(rows)) as reads:
                columns = [("id", "bigint"), ("name", "string")]
                client.create_table(name, columns, location=location / user)
                client.append(name, people)
                reads.wait(client.token.position, round(PATIENT_S * 1000))
            environ = {**secured.environ(user, LEDGER), "LAKELEDGER_STORE": str(rows)}
            command = ("table", "forget", name, "--where", "id = 7", "--yes", "--output", "json")
            done = done_in(tmp_path, *command, **environ, LAKELEDGER_HOME=str(tmp_path))
            assert done.returncode == ExitCode.DONE, done.stderr
            answer = json.loads(done.stdout)
            assert (answer["rows"], len(answer["files"])) == (1, 1)
            unread[user] = {
                each["place"] for each in answer["remains"] if each["holds"] == "not searched"
            }
    others = {"topic commands", "topic heartbeats", "topic beats", "topic consumers"}
    # A topic without a record has nothing to search: the client may end before its first heartbeat.
    unread["client"] |= {"topic heartbeats"}
    assert unread["client"] - {"topic cache"} == {*others, "rows of other processes"}
    assert "rows of other processes" not in unread["forget"]
    assert not [place for place in unread["forget"] if place.startswith("topic ")]
