"""The command `ui`: it opens the pages, prints where they are, or says why there are none."""

import json
from pathlib import Path

from ledger.config.address import BOOTSTRAP, READS_URL
from ledger.machine.exit_codes import ExitCode
from tests.command_line import done_apart, done_in

URL = "http://127.0.0.1:8181"
UP = {BOOTSTRAP: "127.0.0.1:9"}


def test_the_address_of_the_pages_follows_from_the_url_of_the_reads(tmp_path: Path) -> None:
    here = {"LAKELEDGER_HOME": str(tmp_path), **UP, READS_URL: f"{URL}/"}
    done = done_in(tmp_path, "ui", "--no-open", "--output", "json", **here)
    assert json.loads(done.stdout) == {"url": f"{URL}/ui"}


def test_the_browser_of_the_environment_is_started_with_the_address(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    here = {"LAKELEDGER_HOME": str(tmp_path), **UP, READS_URL: URL}
    done = done_apart(tmp_path, "ui", BROWSER=f"{browser} %s", **here)
    assert done.returncode == 0, done.stderr
    assert opened.read_text() == f"{URL}/ui"


def test_for_a_server_with_a_login_its_files_are_named(tmp_path: Path) -> None:
    token = tmp_path / "etl.token"
    token.touch(mode=0o600)
    token.write_text("secret-word")
    here = {"LAKELEDGER_HOME": str(tmp_path), **UP, READS_URL: "https://lake:8181"}
    login = {"LAKELEDGER_TOKEN_FILE": str(token), "LAKELEDGER_CA_FILE": "/etc/ca.pem"}
    done = done_in(tmp_path, "ui", "--no-open", "--output", "json", **here, **login)
    assert json.loads(done.stdout) == {
        "url": "https://lake:8181/ui",
        "token_file": str(token),
        "ca_file": "/etc/ca.pem",
    }
    assert "password" in done.stderr
    assert "secret-word" not in done.stdout + done.stderr


def test_without_a_follower_over_http_the_command_says_what_to_set(tmp_path: Path) -> None:
    done = done_in(tmp_path, "ui", LAKELEDGER_HOME=str(tmp_path), **UP)
    assert done.returncode == ExitCode.NOT_FOUND
    assert READS_URL in done.stderr
