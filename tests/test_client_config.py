"""The settings of Kafka's client come from a file, and reach whoever connects."""

from pathlib import Path

import pytest

from ledger.config.client_config import client_settings
from ledger.errors import SettingsError
from ledger.machine.process import ExitCode
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from tests.command_line import Done, done_apart, done_in

NOWHERE = "127.0.0.1:9"
SAID = """
# Who may log in.
security.protocol=SASL_SSL
 sasl.password = a=b c#d
! also a remark
sasl.oauthbearer.config=
"""
# What the client refuses before it looks for a broker.
UNKNOWN = "no.such.setting=1\n"


def file_with(folder: Path, content: str | bytes) -> Path:
    path = folder / "client.properties"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_private(tmp_path: Path, mode: int, recwarn: pytest.WarningsRecorder) -> None:
    """Of a file for its owner only nothing is said."""
    file = file_with(tmp_path, SAID)
    file.chmod(mode)
    client_settings(file)
    assert not recwarn


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_of_a_file_that_others_can_read_it_is_said_once(tmp_path: Path, mode: int) -> None:
    file = file_with(tmp_path, SAID)
    file.chmod(mode)
    with pytest.warns(UserWarning, match=r"other than its owner can read; do: chmod 600") as told:
        client_settings(file)
    client_settings(file)
    (said,) = (str(each.message) for each in told if "chmod" in str(each.message))
    assert "a=b" not in said


def test_read_by_others_of_a_role(tmp_path: Path) -> None:
    file = file_with(tmp_path, UNKNOWN)
    file.chmod(0o644)
    environ = {"LAKELEDGER_BOOTSTRAP": NOWHERE, "LAKELEDGER_CLIENT_CONFIG": str(file)}
    done = done_apart(tmp_path, "log", "verify", **environ)
    assert f"chmod 600 {file}" in done.stderr


def test_a_line_sets_what_stands_before_the_first_equals_sign(tmp_path: Path) -> None:
    assert client_settings(file_with(tmp_path, SAID)) == {
        "security.protocol": "SASL_SSL",
        "sasl.password": "a=b c#d",
        "sasl.oauthbearer.config": "",
    }
    assert client_settings(None) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a=1\n\nhunter2\n", "line 3 of "),
        ("=hunter2", "sets nothing; write name=value"),
        (b"sasl.password=\xff hunter2", "cannot be read ('utf-8' codec"),
    ],
    ids=["no equals sign", "no name", "no text"],
)
def test_what_cannot_be_read_is_told_without_a_secret(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    with pytest.raises(SettingsError) as told:
        client_settings(file_with(tmp_path, content))
    assert said in str(told.value)
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize("name", ["none", "."])
def test_a_file_that_is_not_there_is_named_with_its_setting(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"feeder\.client_config is .* cannot be read"):
        client_settings(tmp_path / name, "feeder.client_config")


@pytest.mark.parametrize(
    "command",
    ["init", "log verify", "log tail", "conflict whatif --level snapshot", "serve feeder"],
)
def test_every_command_says_that_its_file_is_unreadable(tmp_path: Path, command: str) -> None:
    environ = {"LAKELEDGER_BOOTSTRAP": NOWHERE, "LAKELEDGER_CLIENT_CONFIG": str(tmp_path / "none")}
    arguments = [*command.split(), *(["--store", "x"] if command == "serve feeder" else [])]
    run = done_apart if command == "serve feeder" else done_in
    done = run(tmp_path, *arguments, **environ)

    assert done.returncode == ExitCode.USAGE
    assert "client_config is " in done.stderr


@pytest.mark.parametrize(
    "command",
    ["init", "log verify", "log tail", "conflict whatif --level snapshot", "txn abort 1 --yes"],
)
def test_clients_of_commands_are_made_with_what_it_says(tmp_path: Path, command: str) -> None:
    path = file_with(tmp_path, UNKNOWN)
    environ = {"LAKELEDGER_BOOTSTRAP": NOWHERE, "LAKELEDGER_CLIENT_CONFIG": str(path)}

    assert_refused(done_in(tmp_path, *command.split(), **environ))


@pytest.mark.parametrize("role", ["sequencer", "follower", "cache"])
def test_clients_of_roles_are_made_with_what_it_says(tmp_path: Path, role: str) -> None:
    given = (f"bootstrap={NOWHERE}", f"client_config={file_with(tmp_path, UNKNOWN)}", "store=rows")
    flags = [part for each in given for part in ("-X", each)]
    assert_refused(done_apart(tmp_path, "serve", role, *flags))


def assert_refused(done: Done) -> None:
    """Hold a command to have ended with what the client does not know."""
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert "no.such.setting" in done.stderr


@pytest.mark.parametrize(
    ("bootstrap", "said"), [(NOWHERE, r"no\.such\.setting"), (None, "client_config .* --bootstrap")]
)
def test_up(tmp_path: Path, bootstrap: str | None, said: str) -> None:
    """So are those that `up` makes for itself at a Kafka of others; the embedded one takes none."""
    settings = UpSettings(home=tmp_path, bootstrap=bootstrap, client={"no.such.setting": "1"})
    with pytest.raises(SettingsError, match=said), running(settings):
        pass
