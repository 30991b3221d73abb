"""The configuration: who goes first, where each value comes from, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger.config.config import kinds, load
from ledger.config.values import fitted
from ledger.errors import SettingsError
from ledger.machine.process import ExitCode
from ledger.machine.up_settings import UpSettings
from tests.command_line import Done, done_apart, done_in


class Place(NamedTuple):
    """A working directory, and the user's folder for configuration."""

    here: Path
    user: Path

    def project(self, text: str) -> None:
        """Write the file of the working directory."""
        (self.here / "lakeledger.toml").write_text(text, encoding="utf-8")

    def personal(self, text: str) -> None:
        (self.user / "lakeledger").mkdir()
        (self.user / "lakeledger/config.toml").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, **environ: str) -> Done:
        """Run the command line there, with nothing else in its environment."""
        run = done_apart if arguments[0] == "serve" else done_in
        fixed = {"XDG_CONFIG_HOME": str(self.user), "LAKELEDGER_HOME": str(self.here / "home")}
        return run(self.here, *arguments, **{**fixed, **environ})

    def show(self, *arguments: str, **environ: str) -> dict[str, tuple[Any, str]]:
        done = self.run("config", "show", "--origin", "--output", "json", *arguments, **environ)
        assert done.returncode == ExitCode.DONE, done.stderr
        return {
            each["setting"]: (each["value"], each["origin"]) for each in json.loads(done.stdout)
        }


# A client that may not look into its working folder, or into those that the environment names.
ANOTHER_USER = """
import os, sys
from ledger.config.search import find_address
from ledger.config.config import kinds, load
from ledger.config.values import fitted
from ledger.errors import SettingsError
from ledger.machine.kafka.maven import find_repository
load()
os.chdir(sys.argv[1])
os.chmod(".", 0)
if os.geteuid() == 0:
    os.setuid(65_534)
print(load().settings.ledger, find_address("kafka:1").ledger, find_repository())
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("here", "user"):
        (tmp_path / name).mkdir()
    return Place(tmp_path / "here", tmp_path / "user")


def test_with_nothing_said_every_setting_is_the_default(place: Place) -> None:
    found = place.show()
    assert found.pop("home") == (str(place.here / "home"), "environment")
    assert {origin for _, origin in found.values()} == {"default"}
    assert found["sequencer.lease_s"] == (10.0, "default")
    assert found["follower.http"] == ("127.0.0.1:8181", "default")


def test_flags_go_before_environment_project_user_and_default(place: Place) -> None:
    place.personal('ledger = "user"\ncatalog = "user"\nbootstrap = "user:1"\nstore = "/user"\n')
    place.project('ledger = "project"\ncatalog = "project"\nbootstrap = "project:1"\n')
    found = place.show(
        "--set", "ledger=flag", LAKELEDGER_LEDGER="environment", LAKELEDGER_CATALOG="environment"
    )
    user = str(place.user / "lakeledger/config.toml")
    assert found["ledger"] == ("flag", "flag")
    assert found["catalog"] == ("environment", "environment")
    assert found["bootstrap"] == ("project:1", "lakeledger.toml")
    assert found["store"] == ("/user", user)
    assert found["reads_url"] == (None, "default")


def test_the_lease_of_sessions_is_a_setting_of_clients_bounded_by_name(place: Place) -> None:
    place.project("lease_s = 20\n")
    assert place.show()["lease_s"] == (20.0, "lakeledger.toml")
    found = place.show(LAKELEDGER_LEASE_S="60")
    assert found["lease_s"] == (60.0, "environment")
    assert found["sequencer.lease_s"] == (10.0, "default")
    for wrong in ("0.4", "86401", "nan"):
        done = place.run("config", "show", LAKELEDGER_LEASE_S=wrong)
        assert done.returncode == ExitCode.USAGE
        assert f"lease_s is {float(wrong)} (environment); give a number from 0.5 to 86400.0" in (
            done.stderr
        )


def test_the_settings_of_a_role_stand_in_its_section(place: Place) -> None:
    place.project("[sequencer]\nlease_s = 5\n[feeder]\ntrigger_ms = 250\n")
    found = place.show(
        "-X",
        "follower.http=127.0.0.1:9",
        LAKELEDGER_SEQUENCER__SUSPECT_S="2.5",
        LAKELEDGER_FOLLOWER__HTTP="off",
    )
    assert found["sequencer.lease_s"] == (5.0, "lakeledger.toml")
    assert found["sequencer.suspect_s"] == (2.5, "environment")
    assert found["sequencer.beat_s"] == (0.3, "default")
    assert found["feeder.trigger_ms"] == (250, "lakeledger.toml")
    assert found["follower.http"] == ("127.0.0.1:9", "flag")


def test_the_folder_of_what_is_fetched_disturbs_no_section(place: Place) -> None:
    place.project("[cache]\nmax_wait_ms = 50\n")
    found = place.show(LAKELEDGER_CACHE="/var/cache", LAKELEDGER_CACHE__BYTES_MAX="1000")
    assert found["cache.max_wait_ms"] == (50, "lakeledger.toml")
    assert found["cache.bytes_max"] == (1000, "environment")
    assert found["cache.http"] == ("127.0.0.1:8182", "default")
    assert found["cache.source"] == ("events", "default")


def test_variables_of_java_and_jars_are_no_settings(place: Place) -> None:
    found = place.show(
        LAKELEDGER_JAVA="/java",
        LAKELEDGER_MAVEN_REPO="http://repository",
        LAKELEDGER_DEBUG="1",
        LAKELEDGER_LEDGR="",
    )
    assert {origin for name, (_, origin) in found.items() if name != "home"} == {"default"}


def test_a_file_named_by_the_environment_takes_the_place_of_all_others(place: Place) -> None:
    place.project('ledger = "project"\n')
    other = place.here / "other.toml"
    other.write_text('catalog = "other"\n')
    found = place.show(LAKELEDGER_CONFIG=str(other))
    assert found["catalog"] == ("other", str(other))
    assert found["ledger"] == ("lake", "default")


def test_user_without_rights(place: Place) -> None:
    """Where this user may not look is nothing of theirs: who became another user goes on."""
    place.project('ledger = "project"\n')
    done = subprocess.run(
        [sys.executable, "-c", ANOTHER_USER, str(place.here)],
        env={
            "HOME": str(place.here),
            "XDG_CONFIG_HOME": str(place.here),
            "LAKELEDGER_HOME": str(place.here / "home"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("lake lake None\n", "")


def test_users_home(place: Place) -> None:
    """A folder may begin at the user's home, wherever it is named: clients look there too."""
    place.project('store = "~/rows"\n')
    found = place.show(LAKELEDGER_HOME="~/ledgers", HOME=str(place.user))
    assert found["store"] == (str(place.user / "rows"), "lakeledger.toml")
    assert found["home"] == (str(place.user / "ledgers"), "environment")


def test_folder_of_a_ledger(place: Place) -> None:
    """A ledger's folder is a whole path: whoever is told it may run elsewhere."""
    assert UpSettings("sea", Path("data")).folder == Path.cwd() / "data/sea"
    assert UpSettings("sea", place.here).folder == place.here / "sea"


def test_the_settings_alone_are_one_record(place: Place) -> None:
    done = place.run("config", "show", "--output", "json", LAKELEDGER_LEDGER="sea")
    assert json.loads(done.stdout)["ledger"] == "sea"


REFUSED = [
    ('ledgr = "lake"', {}, [], "no setting ledgr (lakeledger.toml); is ledger meant?"),
    ("[sequencer]\nleese_s = 5", {}, [], "no setting sequencer.leese_s (lakeledger.toml); is"),
    ("[sequncer]\nlease_s = 5", {}, [], "is sequencer.lease_s meant?"),
    ("ledger = lake", {}, [], "the settings in lakeledger.toml cannot be read"),
    ("", {"LAKELEDGER_CONFIG": "none.toml"}, [], "the settings in none.toml cannot be read"),
    ("", {"LAKELEDGER_CONFIG": "/"}, [], "the settings in / cannot be read: [Errno 21]"),
    (
        "",
        {"LAKELEDGER_CONFIG": "/bin/sh"},
        [],
        "the settings in /bin/sh cannot be read: 'utf-8' codec",
    ),
    ("[sequencer]\nlease_s = 'x'", {}, [], "sequencer.lease_s is 'x' (lakeledger.toml)"),
    ("[sequencer]\nflight_max = true", {}, [], "sequencer.flight_max is true (lakeledger.toml)"),
    ("[sequencer]\nlease_s = true", {}, [], "sequencer.lease_s is true (lakeledger.toml); give a"),
    ("[sequencer]\nbeat_s = 2", {}, [], "sequencer.beat_s is 2.0 and sequencer.suspect_s 1.2: a"),
    ("sequencer = 5", {}, [], "no setting sequencer (lakeledger.toml)"),
    ("", {"LAKELEDGER_SEQUENCER__LEESE_S": "5"}, [], "sequencer.leese_s (environment)"),
    ("", {"LAKELEDGER_LEDGR": "x"}, [], "no setting ledgr (environment); is ledger meant?"),
    ("", {"LAKELEDGER_SEQUNCER__LEASE_S": "5"}, [], "no setting sequncer.lease_s (environment)"),
    ("", {"LAKELEDGER_SEQUENCER": "5"}, [], "no setting sequencer (environment)"),
    ("", {"LAKELEDGER_LEDGER__NAME": "x"}, [], "no setting ledger.name (environment)"),
    ("", {"LAKELEDGER_SEQUENCER__LEASE_S": "0"}, [], "sequencer.lease_s is 0.0 (environment)"),
    ("", {}, ["-X", "a=b"], "no setting a (flag). `lakeledger config show` lists all of them"),
    ("", {}, ["-X", "nothing"], "a setting must look like name=value, got 'nothing'"),
    ("", {}, ["-X", "flight_max=1"], "no setting flight_max (flag)"),
    ("", {}, ["-X", "feeder.trigger_ms=soon"], "feeder.trigger_ms is 'soon' (flag)"),
    ("ledger = 5", {}, [], "ledger is 5 (lakeledger.toml): must be a text"),
    ("[web]\nopen = 'maybe'", {}, [], "web.open is 'maybe' (lakeledger.toml): must be true or"),
    ("[web]\ntokens = 5", {}, [], "web.tokens is 5 (lakeledger.toml): must be a path"),
    ("[cache]\nmax_wait_ms = 2.5", {}, [], "cache.max_wait_ms is 2.5 (lakeledger.toml): must be a"),
    ("[feeder]\npublish = 3", {}, [], "feeder.publish is 3 (lakeledger.toml): must be true or"),
    ("store = ''", {}, [], "store is '' (lakeledger.toml): must not be empty"),
    ("", {}, ["-X", "home="], "home is '' (flag): must not be empty"),
    ("store = '~nobody-here/rows'", {}, [], "store is '~nobody-here/rows' (lakeledger.toml): "),
    ("", {"LAKELEDGER_CONFIG": "~nobody-here/x"}, [], "Set LAKELEDGER_CONFIG to a path without ~"),
    (
        "[cache]\nsource = 'rows'",
        {},
        [],
        "cache.source is 'rows' (lakeledger.toml): must be 'events' or 'published'",
    ),
]


@pytest.mark.parametrize(("file", "environ", "arguments", "said"), REFUSED)
def test_unknown_names_and_unfit_values_are_refused_with_their_origin(
    place: Place, file: str, environ: dict[str, str], arguments: list[str], said: str
) -> None:
    place.project(file)
    done = place.run("config", "show", *arguments, **environ)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("feeder.publish", "yes", True),
        ("feeder.publish", "FALSE", False),
        ("feeder.publish", 1, True),
        ("web.open", True, True),
        ("cache.max_wait_ms", "50", 50),
        ("cache.max_wait_ms", 50.0, 50),
        ("sequencer.lease_s", "2.5", 2.5),
        ("sequencer.lease_s", 3, 3.0),
        ("store", Path("/rows"), Path("/rows")),
        ("warehouse", "s3://lake", "s3://lake"),
        ("cache.source", "published", "published"),
        ("publish", "delta", "delta"),
    ],
)
def test_a_value_becomes_one_of_its_kind(name: str, given: object, found: object) -> None:
    loaded = load({name: given}).given(name)
    assert (loaded, type(loaded)) == (found, type(found))


@pytest.mark.parametrize(("name", "kind"), kinds().items())
def test_every_kind_is_known(name: str, kind: Any) -> None:
    with pytest.raises(ValueError, match=r"^must be "):
        fitted(kind, [])
    with pytest.raises(SettingsError, match=f"^{name} is "):
        load({name: []})


@pytest.mark.parametrize(
    ("given", "least"),
    [
        ("sequencer.beat_s=nan", 0.001),
        ("sequencer.beat_s=-1", 0.001),
        ("sequencer.suspect_s=0", 0.001),
        ("sequencer.lease_s=nan", 0.5),
        ("sequencer.lease_s=1e300", 0.5),
        ("sequencer.gather_s=-inf", 0),
        ("sequencer.flight_max=0", 1),
        ("follower.checkpoint_s=inf", 0.001),
        ("cache.bytes_max=-5", 1),
        ("cache.bytes_max=9999999999999999", 1),
        ("feeder.trigger_ms=-5", 0),
    ],
)
def test_numbers_that_cannot_be_are_refused(place: Place, given: str, least: float) -> None:
    name, _, _ = given.partition("=")
    done = place.run("config", "show", "--set", given)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert done.stderr.startswith(f"SettingsError: {name} is ")
    assert f"(flag); give a number from {least} to " in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["serve", "sequencer"],
            "bootstrap is not set. Give --bootstrap, set LAKELEDGER_BOOTSTRAP",
        ),
        (["serve", "follower", "--bootstrap", "kafka:1"], "store is not set. Give --store"),
        (["serve", "feeder", "--store", "rows"], "bootstrap is not set"),
        (["serve", "cache", "--bootstrap", "kafka:1"], "store is not set. Give --store"),
        (["init"], "bootstrap is not set"),
        (
            ["serve", "follower", "-X", "bootstrap=kafka:1", "-X", "store=/x", "--http", "here"],
            "must be host:port, such as 127.0.0.1:8181, got 'here'",
        ),
    ],
    ids=lambda each: " ".join(each[:2]) if isinstance(each, list) else "",
)
def test_what_a_role_lacks(place: Place, command: list[str], said: str) -> None:
    """A role that is not told what it needs says which setting it is and how to give it."""
    done = place.run(*command)
    assert done.returncode == ExitCode.USAGE
    assert said in done.stderr


@pytest.mark.parametrize("variable", ["LAKELEDGER_BOOTSTRAP", "lakeledger_bootstrap"])
def test_clients_look_there_too(place: Place, variable: str) -> None:
    place.project('ledger = "sea"\nreads_url = "http://127.0.0.1:1"\n')
    done = place.run("txn", "list", **{variable: "127.0.0.1:1"})
    assert done.returncode == ExitCode.FAILED
    assert "ReadsUnavailableError: http://127.0.0.1:1 does not answer" in done.stderr
