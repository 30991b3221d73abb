"""The rights of the roles: one table, which the command prints and the docs show."""

import json
import shlex
from pathlib import Path
from typing import Final

import pytest

from ledger.config.address import Address
from ledger.errors import SettingsError
from ledger.log.kafka.rights import ROLES, WRITE, acls, commands, shown, tool_spelling
from ledger.log.port import Topic
from ledger.machine.process import ExitCode
from tests.command_line import done_in

PAGE: Final = Path(__file__).parents[1] / "docs" / "security.md"
KAFKA: Final = "kafka:9092"
# What a role may write to is what no other kind of process may.
WRITERS: Final = {
    Topic.COMMANDS: {
        "forget",
        "client",
        "iceberg",
        "flusher",
        "ingest",
        "trim",
        "trimming-sequencer",
    },
    Topic.EVENTS: {"sequencer", "trimming-sequencer", "recover", "restore"},
    Topic.HEARTBEATS: {
        "forget",
        *("sequencer", "trimming-sequencer", "client", "iceberg", "flusher", "ingest", "trim"),
    },
    Topic.BEATS: {"sequencer", "trimming-sequencer"},
    Topic.CHECKPOINTS: {"sequencer", "trimming-sequencer", "recover"},
    Topic.CATALOGS: {"restore", "recover", "trim", "trimming-sequencer"},
    Topic.CONSUMERS: {
        *("follower", "cache", "feeder", "publishing-feeder", "publisher", "notifier", "trim"),
        "ingest",
    },
    Topic.CACHE: {"publishing-feeder"},
}


@pytest.mark.parametrize("role", ROLES)
def test_the_page_shows_each_role_with_its_rights(role: str) -> None:
    does, rights = ROLES[role]
    words = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"- **`{role}`.** {does}. Rights: {shown(rights)}." in words


@pytest.mark.parametrize("topic", Topic)
def test_each_topic_is_written_to_by_no_other_role(topic: Topic) -> None:
    writers = {name for name, role in ROLES.items() if WRITE in role.rights.get(topic, ())}
    assert writers == WRITERS[topic]


@pytest.mark.parametrize("role", ROLES)
def test_commands_and_rights_of_a_role_say_the_same(role: str, tmp_path: Path) -> None:
    asked = ("acl", "--principal", "etl", "--role", role, "--bootstrap", KAFKA, "--ledger", "lake")
    said = done_in(tmp_path, *asked)
    rows = json.loads(done_in(tmp_path, *asked, "--output", "json").stdout)
    found = set()
    for words in map(shlex.split, said.stdout.splitlines()):
        assert words[:4] == ["kafka-acls.sh", "--bootstrap-server", KAFKA, "--add"]
        given = list(zip(words[4::2], words[5::2], strict=True))
        assert given[0] == ("--allow-principal", "User:etl")
        topic = dict(given)["--topic"]
        found |= {(topic, value) for name, value in given if name == "--operation"}
    assert found == {(row["name"], tool_spelling(row["operation"])) for row in rows}
    assert found


def test_a_right_as_data_has_all_that_kafkas_api_for_rights_asks_for(tmp_path: Path) -> None:
    asked = ("acl", "--principal", "User:CN=lake", "--role", "follower", "--output", "json")
    assert json.loads(done_in(tmp_path, *asked).stdout)[0] == {
        "principal": "User:CN=lake",
        "host": "*",
        "resource": "TOPIC",
        "name": "lake.events",
        "pattern": "LITERAL",
        "operation": "READ",
        "permission": "ALLOW",
    }


# The ledgers that are up here, what is given, and the ledger and Kafka of the rights.
FOUND: list[tuple[list[str], tuple[str, ...], str, str]] = [
    (["second"], (), "second", "127.0.0.1:9000"),
    (["lake", "second"], ("--ledger", "second"), "second", "127.0.0.1:9001"),
    (["second"], ("--bootstrap", KAFKA), "lake", KAFKA),
    (["second"], ("--bootstrap", KAFKA, "--ledger", "sea"), "sea", KAFKA),
    (["second"], ("--ledger", "sea"), "", "Give --bootstrap"),
    (["lake", "second"], (), "", "several ledgers are up"),
    ([], (), "", "Give --bootstrap"),
]


@pytest.mark.parametrize(("up", "given", "ledger", "where"), FOUND)
def test_up_here(
    up: list[str], given: tuple[str, ...], ledger: str, where: str, tmp_path: Path
) -> None:
    """A ledger that is up here needs no address, and rights for another one are never printed."""
    for number, each in enumerate(up):
        (tmp_path / each).mkdir()
        Address(f"127.0.0.1:{9000 + number}", each).write(tmp_path / each)
    asked = ("acl", "--principal", "etl", "--role", "cache", *given)
    done = done_in(tmp_path, *asked, LAKELEDGER_HOME=str(tmp_path))
    if not ledger:
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
        assert where in done.stderr
        return
    lines = [shlex.split(line) for line in done.stdout.splitlines()]
    assert {line[2] for line in lines} == {where}
    assert {line[-1].partition(".")[0] for line in lines} == {ledger}


def test_a_principal_with_a_blank_is_one_word_of_the_command() -> None:
    line = next(commands(acls("lake", "User:CN=a lake,O=x", "follower"), KAFKA))
    assert "User:CN=a lake,O=x" in shlex.split(line)


def test_a_role_that_is_not_one_is_a_wrong_usage_and_the_roles_are_named(tmp_path: Path) -> None:
    done = done_in(tmp_path, "acl", "--principal", "etl", "--role", "leader")
    assert done.returncode == ExitCode.USAGE
    assert "published-cache" in done.stderr


def test_a_name_that_no_ledger_can_have_is_refused() -> None:
    with pytest.raises(SettingsError, match="a ledger name must"):
        acls("a.b", "etl", "client")
