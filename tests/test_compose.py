"""The deployment in containers: valid by the schema of Compose, and true to what is here."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.errors import BrokerError
from ledger.machine.endpoints import Endpoint, free_endpoint
from tests.command_line import done_in, invoked
from tests.container_broker import IMAGE, environment, running_container

pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed; it is in [dev]")
yaml = pytest.importorskip("ruamel.yaml", reason="ruamel.yaml comes with check-jsonschema")

ROOT: Final = Path(__file__).parent.parent
FILE: Final = ROOT / "docker-compose.yml"
COMPOSE: Final[Any] = yaml.YAML(typ="safe").load(FILE)
ROLES: Final = {
    name: each
    for name, each in COMPOSE["services"].items()
    if each["image"].startswith("lakeledger")
}


def test_the_file_is_valid_by_the_schema_that_check_jsonschema_brings_along() -> None:
    schema = ("--builtin-schema", "vendor.compose-spec", str(FILE))
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *schema],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_broker_of_tests() -> None:
    """Tests in containers meet the broker of the deployment: its image, and all that it is told."""
    broker = COMPOSE["services"]["broker"]
    told = {name: str(each) for name, each in broker["environment"].items()}
    own = environment(Endpoint("127.0.0.1", 9092), Endpoint("127.0.0.1", 9093))
    # Where it is reached differs, and where it keeps what need not last.
    places = {name for name in told if re.search("LISTENERS|PROTOCOL_MAP|VOTERS|LOG_DIRS", name)}

    assert broker["image"] == IMAGE
    assert {name: own.get(name) for name in told.keys() - places} == {
        name: told[name] for name in told.keys() - places
    }
    assert own["KAFKA_ADVERTISED_LISTENERS"] == "INSIDE://127.0.0.1:9092"


def test_without_an_engine_it_is_said_what_to_do() -> None:
    nowhere = {"DOCKER_HOST": f"tcp://{free_endpoint()}"}
    with (
        pytest.raises(BrokerError, match="Start a container engine, or leave"),
        running_container(nowhere),
    ):
        raise AssertionError("there is no engine to start a broker in")


@pytest.mark.parametrize("role", sorted(ROLES))
def test_each_role_is_a_command_with_options_that_it_has(role: str) -> None:
    done = invoked(*ROLES[role]["command"], "--help")
    assert done.exit_code == 0, done.output
    assert "Usage:" in done.output


@pytest.mark.parametrize("role", sorted(ROLES))
def test_each_role_gets_the_same_settings(role: str, tmp_path: Path) -> None:
    environ = {name: str(each) for name, each in ROLES[role]["environment"].items()}
    found = {"XDG_CONFIG_HOME": str(tmp_path), **environ}
    done = done_in(tmp_path, "config", "show", "--origin", **found)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" environment") == len(environ)
    environ.pop("LAKELEDGER_KEYS", None)
    assert environ == ROLES["follower"]["environment"]


def test_the_publisher_finds_the_files_at_the_path_that_clients_have() -> None:
    warehouse = ROLES["publisher"]["environment"]["LAKELEDGER_WAREHOUSE"]
    assert f"{warehouse}:{warehouse}" in ROLES["publisher"]["volumes"]
    default = re.fullmatch(r"\$\{LAKELEDGER_WAREHOUSE:-(\S+)\}", warehouse)
    assert default is not None
    assert f"export LAKELEDGER_WAREHOUSE={default[1]} " in FILE.read_text(encoding="utf-8")


def test_a_role_that_opens_encrypted_rows_has_the_folder_of_keys_that_clients_have() -> None:
    """A role with the setting alone would make keys in its container, which go with that."""
    told = {name for name, each in ROLES.items() if "LAKELEDGER_KEYS" in each["environment"]}
    assert told == {"flusher"}
    keys = ROLES["flusher"]["environment"]["LAKELEDGER_KEYS"]
    assert f"{keys}:{keys}" in ROLES["flusher"]["volumes"]
    assert ROLES["flusher"]["user"] == ROLES["publisher"]["user"]
    default = re.fullmatch(r"\$\{LAKELEDGER_KEYS:-(\S+)\}", keys)
    assert default is not None
    assert f"LAKELEDGER_KEYS={default[1]}\n" in FILE.read_text(encoding="utf-8")


def test_kafka_is_the_pinned_one() -> None:
    pinned = re.search(
        r"embedded Kafka ([\d.]+\d)", (ROOT / "ledger/machine/kafka/jars.txt").read_text()
    )
    assert pinned is not None
    assert COMPOSE["services"]["broker"]["image"] == f"apache/kafka:{pinned[1]}"


def test_the_image_is_made_of_what_is_here() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    names = " ".join(copied).split()
    sent = (ROOT / ".dockerignore").read_text().split()
    assert {f"!{name}" for name in names} <= set(sent)
    assert all((ROOT / name).exists() for name in names)
    assert {role["build"]["target"] for role in ROLES.values()} == set(
        re.findall(r"^FROM \S+ AS (\w+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    )
