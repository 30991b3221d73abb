"""A ledger of `lakeledger up --secure` with every role: all that the README shows works unchanged.

The quick starts run word for word. Commands, caches, the feeder and a browser find their logins. A
client without one is refused by name, within two seconds.
"""

import json
import logging
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import pytest
import urllib3
from confluent_kafka import Consumer, TopicPartition
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

from ledger.client import Ledger
from ledger.config.address import Address
from ledger.errors import LoginRefusedError, ReadsRefusedError
from ledger.log.port import Topic
from ledger.machine.folder import SPARK as SPARK_FOLDER
from ledger.machine.folder import SPARK_ROWS
from ledger.machine.process import ExitCode
from ledger.reads.remote.http import HttpReads
from ledger.reads.remote.web_login import WebLogin, token_of
from projections.queries import open_reads
from projections.web.pages.menu import PAGES
from tests.docs.desk import OPERATOR, PYTHON, SPARK, Desk, block_of
from tests.integration.commands import Command, answer_of, up
from tests.web.test_ui import Seen

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

SOON_S: Final = 2.0
PATIENT_S: Final = 60.0
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
CACHED: Final = """
from pyspark.sql import SparkSession

from ledger import Ledger
from spark_sink import cached_table

spark = SparkSession.builder.master("local[1]").getOrCreate()
with Ledger.connect() as ledger, ledger.transaction() as txn:
    print(cached_table(spark, "db.sales", txn).count())
spark.stop()
"""


class Whole(NamedTuple):
    """A secured ledger with every role, after the quick starts."""

    home: Path
    address: Address
    command: Command
    desk: Desk
    said: dict[str, str]

    @property
    def login(self) -> WebLogin:
        return WebLogin(self.address.token_file, self.address.ca_file)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """Run the ledger, and the quick starts of the README on it."""
    home = tmp_path_factory.mktemp("secured") / "home"
    with up(home, "--secure", "--caches", "1", "--publish", "--spark") as command:
        address = Address.read(home / "lake")
        assert address is not None
        desk = Desk(address, tmp_path_factory.mktemp("desk"))
        said = {
            SPARK: desk.python(block_of(SPARK, "python")),
            PYTHON: desk.python(block_of(PYTHON, "python")),
            OPERATOR: desk.run("bash", "-ec", block_of(OPERATOR, "sh")),
        }
        yield Whole(home, address, command, desk, said)
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def test_the_quick_starts_for_spark_python_and_operators_end_well(whole: Whole) -> None:
    assert "35.5" in whole.said[SPARK]
    assert "'total': 16.5" in whole.said[PYTHON]
    assert "db.sales" in whole.said[OPERATOR]


def test_the_ledger_is_well_with_all_four_tables_of_the_quick_starts(whole: Whole) -> None:
    status = answer_of(whole.home, "status")
    assert (status["healthy"], status["tables"]) == (True, 4)
    assert status["publisher"]["is_caught_up"]


def test_the_cache_answers_what_a_reader_sees_of_a_table_with_its_token(whole: Whole) -> None:
    line = next(each for each in whole.command.said if "metadata cache at" in each)
    url = line.split()[-1]
    assert url.startswith("https://")
    found = answer_of(whole.home, "cache", "read", "db.sales", "--url", url)
    assert found["position"] >= 1


def test_feeder(whole: Whole) -> None:
    """The feeder of `up` comes to the end of the log, and Spark reads a table by its rows."""
    position = answer_of(whole.home, "status")["position"]
    if not any("feeding" in line for line in whole.command.said):
        whole.command.wait_for("feeding")
    with closing(open_reads(whole.home / "lake" / SPARK_FOLDER / SPARK_ROWS)) as fed:
        fed.wait(position, round(PATIENT_S * 1_000))
        assert len(fed.tables()) == 4
    assert whole.desk.python(CACHED).split()[-1] == "3"


def crawled(whole: Whole) -> dict[str, str]:
    """Return the text of every page that links lead to from the overview, by its address."""
    url = str(whole.address.reads_url)
    http = urllib3.PoolManager(retries=False, **whole.login.pool_settings(url))
    headers, found, left = dict(whole.login.headers(url)), dict[str, str](), ["/ui"]
    with closing(http.connection_from_url(url)):
        while left:
            path = left.pop(0)
            if path in found:
                continue
            assert http.request("GET", url + path).status == 401, path
            answer = http.request("GET", url + path, headers=headers)
            assert answer.status == 200, (path, answer.data[:1_000])
            found[path] = answer.data.decode()
            targets = {urljoin(path, link) for link in Seen(found[path]).links}
            left += sorted(target.partition("#")[0] for target in targets if "at=" not in target)
    return found


def test_each_page_answers_to_the_token_and_to_no_one_without_it(whole: Whole) -> None:
    found = crawled(whole)
    names = {urlsplit(each).path.removeprefix("/ui").strip("/") for each in found}
    # No conflict was lost in the quick starts.
    assert names >= {page.path for page in PAGES} - {"conflict"}
    seen = Seen(found["/ui/processes"]).text
    assert seen.count("https://") >= 4
    assert "DOWN" not in seen


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_browser(whole: Whole, tmp_path: Path) -> None:
    """A person opens the pages by `lakeledger ui` and the login that it names."""
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {opened}\n')
    browser.chmod(0o755)
    text = whole.desk.run("env", f"BROWSER={browser} %s", "lakeledger", "ui", "--output", "json")
    said = json.loads(text)
    assert opened.read_text() == said["url"], "no secret is an argument of the browser"
    password = token_of(Path(said["token_file"]))
    errors: list[str] = []
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=CHROMIUM)) as chromium,
    ):
        # A person accepts the certificate of the ledger, or lets the browser trust its CA.
        stranger = chromium.new_context(ignore_https_errors=True).new_page()
        with pytest.raises(BrowserError, match="INVALID_AUTH_CREDENTIALS"):
            stranger.goto(said["url"])
        page = chromium.new_context(
            ignore_https_errors=True, http_credentials={"username": "me", "password": password}
        ).new_page()
        page.on("console", lambda each: errors.append(each.text) if each.type == "error" else None)
        page.on("requestfailed", lambda each: errors.append(each.url))
        page.goto(said["url"])
        page.get_by_role("link", name="Tables", exact=True).first.click()
        assert "db.sales" in page.inner_text("main")
        slider = page.get_by_role("slider")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**at=*")
    assert errors == []


def plain_consumer(bootstrap: str, caplog: pytest.LogCaptureFixture) -> str:
    """Return what Kafka's own client logs that reads the events without a login."""
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "group.id": "stranger"}
    with closing(Consumer(settings, logger=logging.getLogger("stranger"))) as consumer:
        consumer.assign([TopicPartition(f"lake.{Topic.EVENTS}", 0, 0)])
        until_s = time.monotonic() + PATIENT_S
        with caplog.at_level(logging.INFO, "stranger"):
            while not caplog.text and time.monotonic() < until_s:
                assert consumer.poll(0.05) is None, "it got an event"
    return caplog.text


def test_strangers(whole: Whole, caplog: pytest.LogCaptureFixture) -> None:
    """SDK, HTTP and a plain consumer without credentials are refused by name, soon."""
    at, url = whole.address.bootstrap, str(whole.address.reads_url)
    trusted = WebLogin(None, whole.address.ca_file)

    def sdk() -> str:
        with pytest.raises(LoginRefusedError) as refused:
            Ledger.connect(at, "lake", client={})
        return str(refused.value)

    def http() -> str:
        with (
            pytest.raises(ReadsRefusedError) as refused,
            closing(HttpReads(url, login=trusted)) as r,
        ):
            r.position()
        return str(refused.value)

    asked: dict[str, tuple[Callable[[], str], str]] = {
        "SDK": (sdk, "security.protocol"),
        "HTTP": (http, "token"),
        "consumer": (lambda: plain_consumer(at, caplog), "Disconnected"),
    }
    taken_s = {}
    for name, (ask, said) in asked.items():
        began_s = time.monotonic()
        assert said in ask(), name
        taken_s[name] = round(time.monotonic() - began_s, 2)
    assert max(taken_s.values()) < SOON_S, taken_s
