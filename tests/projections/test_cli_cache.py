"""Commands over metadata caches: over the rows of this host, and of a process behind a URL."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from typer.testing import Result

from ledger.config.address import Address
from ledger.config.settings import CacheSettings
from ledger.errors import (
    LedgerError,
    LimitExceededError,
    ReaderBehindError,
    ReadsUnavailableError,
    SettingsError,
    UnknownTableError,
)
from ledger.machine.process import ExitCode, exit_code
from ledger.reads.port import Reads
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened, StoreAt
from projections.cache.topic.published import PublishedRows
from projections.cache.topic.remote import PublishedEntries, PublishedLists, PublishedStore
from projections.queries import open_reads
from projections.store.rocks_store import RocksStore
from projections.web.roles.cache import serve_cache
from tests.command_line import invoked
from tests.driver import CATALOG, LEDGER
from tests.projections.cached import made
from tests.projections.followed import Followed

Lakeledger = Callable[..., Result]
READ = ["read", "t", "--catalog", CATALOG]
LIST = ["--write-ids", f"t:0:{2**63 - 1}::"]


class Host:
    """A host with the rows of a table that was altered once, and a cache process over them."""

    def __init__(self, folder: Path, own: ExitStack) -> None:
        self.home, self.store = folder / "home", folder / "store"
        (self.home / "lake").mkdir(parents=True)
        Address("127.0.0.1:1", "demo", self.store).write(self.home / "lake")
        self.domain = Followed(own.enter_context(RocksStore.open(self.store)))
        session = self.domain.open_session()
        self.table = self.domain.create_table(session, "t", made=made("v0"))
        self.domain.open_txn(session, "read_only")
        self.held = self.domain.head.position
        self.domain.alter_table(session, self.table, made("v1"), "ALTER")
        self.domain.follow()
        self.entries = FollowedEntries(self.domain.log).start_loading()
        self.cache = MetadataCache(self.entries, StoreAt(self.store), CATALOG)
        own.callback(self.cache.close)
        reads = own.enter_context(closing(Reopened[Reads](lambda: open_reads(self.store))))
        process = CacheProcess(self.cache, ReadLists(reads))
        settings = CacheSettings(http="127.0.0.1:0")
        self.url = own.enter_context(closing(serve_cache(process, settings))).url
        while self.entries.is_loading():
            self.entries.advance(1.0)
        self.published_url = self.publish(own, settings)

    def publish(self, own: ExitStack, settings: CacheSettings) -> str:
        """Publish the rows, and return where a cache process of what is published answers."""
        self.domain.publish()
        published = PublishedRows(self.domain.log)
        published.keep()
        entries = PublishedEntries(published)
        cache = MetadataCache(entries, PublishedStore(published), CATALOG)
        own.callback(cache.close)
        process = CacheProcess(cache, PublishedLists(published))
        return own.enter_context(closing(serve_cache(process, settings))).url

    @contextmanager
    def home_of(self, ledger: str) -> Iterator[None]:
        """Have the address of a ledger of this name lead to these rows."""
        (self.home / ledger).mkdir()
        Address("127.0.0.1:1", ledger, self.store).write(self.home / ledger)
        yield
        rmtree(self.home / ledger)

    def run(self, *arguments: str) -> Result:
        return invoked("cache", *arguments, LAKELEDGER_HOME=str(self.home), COLUMNS="200")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Return a host with rows and a cache process, for those who only read."""
    with ExitStack() as own:
        yield Host(tmp_path_factory.mktemp("host"), own)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Host]:
    """Return a host that nobody has asked yet, and that may be changed."""
    with ExitStack() as own:
        yield Host(tmp_path, own)


@pytest.fixture(params=["rows", "url", "published"])
def run(request: pytest.FixtureRequest) -> Lakeledger:
    """Return a way to run a command over the rows of the host, and over each process."""
    host: Host = request.getfixturevalue("fresh" if "fresh" in request.fixturenames else "host")
    urls = {"url": ["--url", host.url], "published": ["--url", host.published_url]}
    return lambda *arguments: host.run(*arguments, *urls.get(request.param, []))


knows_positions = pytest.mark.parametrize("run", ["rows", "url"], indirect=True)


def told(result: Result) -> Any:
    """Return what a command answered to a program."""
    assert result.exit_code == ExitCode.DONE, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ([], "v1"),
        (["--position", "now"], "v1"),
        (["--table-id", "1"], "v1"),
        (LIST, "v0"),
        ([*LIST, "--token", "5", "--max-wait-ms", "10000"], "v0"),
        (["--token", "5f3a9c1e:0:5", "--policy", "latest"], "v1"),
        (["--max-lag-ms", "1000"], "v1"),
    ],
    ids=" ".join,
)
def test_read(run: Lakeledger, options: list[str], place: str) -> None:
    """A table is read by the newest list or by a given one, with what must be seen at least."""
    found = told(run(*READ, *options, "--output", "json"))

    assert (found["location"], found["source"], found["name"]) == (place, "cache", "t")
    assert found["reason"] in {"hit", "hit_old_version"}
    assert (found["kind"], found["columns"], found["properties"]) == ("managed", [], {})


@pytest.mark.parametrize("options", [[], LIST, ["--what", "stats:delay"]], ids=" ".join)
def test_a_table_is_read_by_its_id_as_by_its_name(run: Lakeledger, options: list[str]) -> None:
    by_id, by_name = (
        told(run("read", each, "--catalog", CATALOG, *options, "--output", "json"))
        for each in ("1", "t")
    )

    assert by_id == {**by_name, "reason": by_id["reason"]}


@knows_positions
def test_read_at_a_position(run: Lakeledger, host: Host) -> None:
    found = told(run(*READ, "--position", str(host.held), "--output", "json"))

    assert (found["location"], found["reason"]) == ("v0", "hit_old_version")


def test_read_at_a_position_that_is_not_published(host: Host) -> None:
    read = [*READ, "--position", str(host.held), "--url", host.published_url]
    raised = host.run(*read).exception

    assert isinstance(raised, LimitExceededError)
    assert "reads published rows" in str(raised)
    assert "cache.source=events" in str(raised)


def test_statistics_are_read_alone(run: Lakeledger) -> None:
    found = told(run(*READ, "--what", "stats:delay", "--output", "json"))

    assert (found["value"], found["reason"]) == ("stats of v1", "hit")


@pytest.mark.parametrize(
    "options",
    [
        [*LIST, "--position", "3"],
        ["--position", "then"],
        ["--write-ids", "seven"],
        ["--policy", "none"],
        ["--token", "1:2"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_first(run: Lakeledger, options: list[str]) -> None:
    assert run(*READ, *options).exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("table", "listed", "said"),
    [
        ("t", "garbage", "got 'garbage'"),
        ("t", "lake.sales:2:2::", "a list of table lake.t, got a list of lake.sales"),
        ("t", "other.t:2:2::", "a list of table lake.t, got a list of other.t"),
        ("1", f"sales:{2**63 - 1}::", "got 'sales:9223372036854775807::'"),
        ("1", "lake.sales:0:1::", "a list of table lake.t, got a list of lake.sales"),
    ],
)
def test_lists_of_others(run: Lakeledger, table: str, listed: str, said: str) -> None:
    """A list is refused with the text that was given, and one of another table by its name."""
    result = run("read", table, "--catalog", CATALOG, "--write-ids", listed)

    assert result.exit_code == ExitCode.USAGE
    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("name", ["t", "T", f"{CATALOG}.t", f"{CATALOG.upper()}.T", "null"])
@pytest.mark.parametrize("table", ["t", "1"])
def test_lists_of_the_table(run: Lakeledger, table: str, name: str) -> None:
    listed = f"{name}:0:{2**63 - 1}::"
    answer = told(
        run("read", table, "--catalog", CATALOG, "--write-ids", listed, "--output", "json")
    )
    assert answer["name"] == "t"


@pytest.mark.parametrize(
    ("command", "error", "code"),
    [
        (["read", "none"], UnknownTableError, ExitCode.NOT_FOUND),
        (["read", "7"], UnknownTableError, ExitCode.NOT_FOUND),
        (["read", str(2**63)], UnknownTableError, ExitCode.NOT_FOUND),
        ([*READ, "--token", "99", "--max-wait-ms", "1"], ReaderBehindError, ExitCode.DEADLINE),
        (["wait", "99", "--timeout-ms", "1"], ReaderBehindError, ExitCode.DEADLINE),
    ],
    ids=["unknown", "unknown id", "no id", "token", "wait"],
)
def test_errors(
    run: Lakeledger, command: list[str], error: type[LedgerError], code: ExitCode
) -> None:
    """Each error says what it is, by its exit code too."""
    raised = run(*command).exception

    assert isinstance(raised, error)
    assert exit_code(raised) == code


@knows_positions
def test_a_position_that_is_not_applied_yet_is_not_waited_for(run: Lakeledger) -> None:
    assert isinstance(run(*READ, "--position", "99").exception, ReaderBehindError)


def test_what_a_reader_does_not_see_is_told_with_an_exit_code(run: Lakeledger) -> None:
    result = run(*READ, "--what", "stats:none")

    assert result.exit_code == ExitCode.NOT_FOUND
    assert "stats:none t does not exist for this reader at position" in result.stderr


def test_a_cache_is_waited_for_by_a_position_or_a_token(run: Lakeledger, host: Host) -> None:
    here = host.domain.head.position

    assert told(run("wait", str(here), "--output", "json")) == {"position": here}
    assert told(run("wait", f"{LEDGER}:0:{here}", "--output", "json")) == {"position": here}


@pytest.mark.parametrize("command", [["wait"], [*READ, "--token"]], ids=" ".join)
@pytest.mark.parametrize("token", ["other:0:5", f"{LEDGER}:1:5"])
def test_token_of_another_ledger(run: Lakeledger, command: list[str], token: str) -> None:
    """A position of another ledger or domain says nothing about this one."""
    result = run(*command, token)

    assert result.exit_code == ExitCode.USAGE
    assert f"token {token} is not of this ledger" in result.stderr


def test_some_tables_are_compared_with_the_store(run: Lakeledger) -> None:
    found = told(run("verify", "--tables", "5", "--output", "json"))

    assert found == {"compared": 1, "mismatches": []}


def test_a_process_that_found_a_difference_is_unhealthy_as_its_exit_code_tells(fresh: Host) -> None:
    fresh.cache.sampler.mismatched += 1

    result = fresh.run("status", "--url", fresh.url)

    assert result.exit_code == ExitCode.UNHEALTHY
    assert "see lakeledger cache verify" in result.stderr


def test_the_status_tells_position_and_answers(run: Lakeledger, fresh: Host) -> None:
    found = told(run("status", "--output", "json"))

    assert (found["position"], found["mismatches"]) == (fresh.domain.head.position, 0)
    assert (found["reads"], found["hit_ratio"]) == ([], 1.0)
    assert found["ledger"] == {"ledger": LEDGER, "name": "demo", "domain": 0}


def test_a_process_tells_its_lag_and_counts_by_reason(fresh: Host) -> None:
    fresh.run(*READ, "--url", fresh.url)

    found = told(fresh.run("status", "--url", fresh.url, "--output", "json"))
    shown = fresh.run("status", "--url", fresh.url).stdout

    assert (found["lag_positions"], found["lag_ms"], found["entries"]) == (0, 0, 1)
    assert found["reads"] == [{"source": "cache", "reason": "hit", "number": 1}]
    assert "cache hit 1" in shown


@pytest.mark.parametrize("is_process", [False, True])
def test_who_names_no_process_is_told_of_this_one(host: Host, *, is_process: bool) -> None:
    result = host.run("status", *(["--url", host.url] if is_process else []))

    assert ("made for this answer" in result.stderr) != is_process


def test_a_url_without_an_answer_is_named(host: Host) -> None:
    raised = host.run("status", "--url", "http://127.0.0.1:1").exception

    assert isinstance(raised, ReadsUnavailableError)


@pytest.mark.parametrize("command", [READ, ["status"], ["wait", "1"], ["verify"]], ids=" ".join)
def test_another_ledger(run: Lakeledger, host: Host, command: list[str]) -> None:
    """A cache of another ledger than the one that is named is not asked."""
    with host.home_of("two"):
        raised = run(*command, "--ledger", "two").exception

    assert isinstance(raised, SettingsError)
    assert "the rows belong to ledger demo" in str(raised)


@pytest.mark.parametrize(
    ("reads_url", "why"),
    [
        (None, "there are no rows of ledger lake on this host"),
        ("http://127.0.0.1:8181", "are read at http://127.0.0.1:8181, where a follower answers"),
    ],
)
@pytest.mark.parametrize("command", [READ, ["status"], ["wait", "1"], ["verify"]], ids=" ".join)
def test_no_rows_here(tmp_path: Path, command: list[str], reads_url: str | None, why: str) -> None:
    """Without rows on this host the way out is named; a follower elsewhere is no cache."""
    (tmp_path / "lake").mkdir()
    Address("127.0.0.1:1", "lake", None, reads_url).write(tmp_path / "lake")
    raised = invoked("cache", *command, LAKELEDGER_HOME=str(tmp_path)).exception

    assert isinstance(raised, SettingsError)
    assert why in str(raised)
    assert "LAKELEDGER_STORE to their folder on this host, or name a cache process with --url" in (
        str(raised)
    )
