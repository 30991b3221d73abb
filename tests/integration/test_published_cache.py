"""A cache process on a host that has the cache topic and nothing else, from before there is one."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest
import urllib3

from ledger.client import Ledger
from ledger.definitions.definitions import changed_definition
from ledger.errors import LimitExceededError, UnknownTableError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import add_topic, create_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode
from ledger.reads.metadata import Bounds, MetadataAnswer, Read, ReadAt, TableMetadata
from ledger.reads.remote.http import HttpCache
from ledger.session.receipt import Token
from projections.cache.topic.publishing import publishing
from projections.fold.follower import Follower
from projections.queries import open_reads
from projections.store.rocks_store import RocksStore
from tests.integration.commands import Command, answer_of, lakeledger
from tests.integration.fleet import Fleet

pytestmark = pytest.mark.kafka

WAIT_MS = 10_000
PATIENCE_MS = 60_000
END_S = 60.0
ASKED_MAX = 2_000


class Home:
    """A ledger that is led, and the host that reads its events and may publish."""

    def __init__(self, broker: Broker, ledger: str, folder: Path) -> None:
        self.bootstrap, self.ledger, self.folder = broker.bootstrap, ledger, folder

    @contextmanager
    def feeding(self) -> Iterator[Ledger]:
        """Do what a feeder with --publish does, without Spark; yield a client of its rows."""
        stop, root = Signal(), self.folder / "rows"
        with ExitStack() as own:
            log = own.enter_context(closing(KafkaLog(self.bootstrap, self.ledger)))
            rows = own.enter_context(RocksStore.open(root))
            store = own.enter_context(publishing(log, rows))
            thread = Thread(target=Follower(log, store).run, args=(stop,))
            thread.start()
            own.callback(thread.join, END_S)
            own.callback(stop.set)
            yield own.enter_context(self.client(root))

    @contextmanager
    def client(self, root: Path) -> Iterator[Ledger]:
        with (
            closing(open_reads(root)) as reads,
            Ledger.connect(self.bootstrap, self.ledger, reads=reads) as ledger,
        ):
            yield ledger

    def serve(self, *settings: str) -> Command:
        """Return a cache process that is fed from the topic alone."""
        fed = ("--http", "127.0.0.1:0", "--source", "published")
        return Command(self.folder, "serve", "cache", *fed, *self._where, *settings)

    def serve_feeder(self, *options: str) -> Command:
        """Return a Spark feeder that publishes; its rows lie in `rows`."""
        store = ("--store", str(self.folder), *options)
        return Command(self.folder, "serve", "feeder", "--publish", *store, *self._where)

    @property
    def _where(self) -> tuple[str, ...]:
        return "--bootstrap", self.bootstrap, "--ledger", self.ledger

    def add_topic(self) -> None:
        """Create the cache topic, as the first feeder that publishes does."""
        add_topic(self.bootstrap, self.ledger, Topic.CACHE)


@pytest.fixture
def home(broker: Broker, ledger_name: str, tmp_path: Path) -> Iterator[Home]:
    create_topics(broker.bootstrap, ledger_name)
    with Fleet(broker.bootstrap, ledger_name, 1):
        yield Home(broker, ledger_name, tmp_path)


def url_of(command: Command) -> str:
    url: str = json.loads(command.wait_for("answering HTTP"))["url"]
    return url


def ready(url: str) -> tuple[int, dict[str, Any]]:
    found = urllib3.request("GET", f"{url}/readyz")
    return found.status, found.json()["checks"]


def once(url: str, status: int) -> dict[str, Any]:
    """Return the checks as soon as the process has a status; it looks at the log now and then."""
    for _ in range(ASKED_MAX):
        found = ready(url)
        if found[0] == status:
            return found[1]
    raise AssertionError(f"not {status}, but {found}")


def place(answer: MetadataAnswer) -> str:
    assert isinstance(answer.value, TableMetadata)
    return answer.value.definition.location


def test_nothing_is_published_yet(home: Home) -> None:
    with home.serve() as command:
        url = url_of(command)
        command.wait_for("CacheTopicMissingError")
        status, checks = ready(url)
        assert (status, checks["following"]["status"]) == (503, "DOWN")
        assert f"no topic {home.ledger}.cache" in checks["following"]["detail"]
        assert urllib3.request("GET", f"{url}/livez").status == 200
        missed = lakeledger(home.folder, "cache", "read", "db.t", "--url", url)
        assert missed.returncode == ExitCode.FAILED
        assert "lakeledger serve feeder --publish" in missed.stderr
        home.add_topic()
        command.wait_for("NothingPublishedError")
        assert "its cache topic ends at offset 0" in ready(url)[1]["following"]["detail"]
        with home.feeding() as ledger:
            command.wait_for("caught up")
            with closing(HttpCache(url)) as cache:
                cache.wait(ledger.token.position, PATIENCE_MS)
            once(url, 200)
        assert command.end(signal.SIGTERM) == ExitCode.DONE
        command.wait_for("stopped")


def test_changes_are_seen_through_the_topic(home: Home) -> None:
    home.add_topic()
    with home.feeding() as ledger:
        ledger.create_table("db.t", [("day", "int")], location="v0")
        number = ledger.table("db.t").table
        held = ledger.begin("read_only")
        before = held.valid_write_ids("db.t")
        with home.serve() as command:
            url = url_of(command)
            command.wait_for("caught up")
            walk(home, ledger, url, Read(number, before, number))
            command.end(signal.SIGKILL)
        with home.serve() as command:
            url = url_of(command)
            command.wait_for("caught up")
            with closing(HttpCache(url)) as cache:
                assert place(cache.metadata([Read(number, before, number)])[0]) == "v0"
                assert place(cache.metadata_at(ReadAt("db.u", "main"))) == "v1"
                cache.wait(ledger.drop_table("db.u").token.position, PATIENCE_MS)
                with pytest.raises(UnknownTableError):
                    cache.metadata_at(ReadAt("db.u", "main"))
            assert command.end(signal.SIGTERM) == ExitCode.DONE


def walk(home: Home, ledger: Ledger, url: str, old: Read) -> None:
    """Change the table step by step; the reader with the old list sees what it saw."""
    with closing(HttpCache(url)) as cache:

        def told(name: str, position: int) -> MetadataAnswer:
            return cache.metadata_at(ReadAt(name, "main"), Bounds(position, WAIT_MS))

        token = ledger.alter_table(
            "db.t", lambda found: changed_definition(found, location="v1")
        ).token
        cache.wait(token.position, PATIENCE_MS)
        found = told("db.t", token.position)
        assert (place(found), found.source, found.reason) == ("v1", "cache", "hit")
        commands_agree(home, url, str(token))
        token = ledger.rename_table("db.t", "db.u").token
        cache.wait(token.position, PATIENCE_MS)
        assert place(told("db.u", token.position)) == "v1"
        with pytest.raises(UnknownTableError):
            told("db.t", token.position)
        found = cache.metadata([old], Bounds(token.position, WAIT_MS))[0]
        assert (place(found), found.source, found.reason) == ("v0", "cache", "hit_old_version")
        with pytest.raises(LimitExceededError, match="reads published rows"):
            cache.metadata_at(ReadAt("db.t", "main", position=1))


def commands_agree(home: Home, url: str, token: str) -> None:
    """See that the commands work against the process as against any other."""
    found = answer_of(home.folder, "cache", "wait", token, "--url", url)
    assert found["position"] >= Token.parse(token).position
    assert answer_of(home.folder, "cache", "read", "db.t", "--url", url)["location"] == "v1"
    verified = answer_of(home.folder, "cache", "verify", "--url", url)
    assert verified == {"compared": 1, "mismatches": []}
    status = answer_of(home.folder, "cache", "status", "--url", url)
    assert (status["is_loading"], status["mismatches"]) == (False, 0)
    text = urllib3.request("GET", f"{url}/metrics").data.decode()
    assert 'lakeledger_cache_reads_total{reason="hit",source="cache"}' in text
    assert "lakeledger_cache_lag_seconds" in text


def test_a_cache_that_is_behind_by_more_than_allowed_answers_on(home: Home) -> None:
    home.add_topic()
    with home.serve("--set", "cache.lag_max_s=0.5") as command:
        url = url_of(command)
        with home.feeding() as ledger:
            ledger.create_table("db.t", [("day", "int")], location="v0")
            command.wait_for("caught up")
            with closing(HttpCache(url)) as cache:
                cache.wait(ledger.token.position, PATIENCE_MS)
        with home.client(home.folder / "rows") as ledger:
            ledger.create_table("db.late", [("day", "int")])
            lag = once(url, 503)["lag"]
        assert lag["status"] == "DOWN"
        assert "check that the feeder with --publish runs" in lag["detail"]
        with closing(HttpCache(url)) as cache:
            assert place(cache.metadata_at(ReadAt("db.t", "main"))) == "v0"


@pytest.mark.slow
@pytest.mark.spark
def test_a_feeder_creates_the_topic_goes_on_after_a_kill_makes_its_rows_anew(home: Home) -> None:
    with home.serve_feeder() as feeder, home.serve() as command:
        url = url_of(command)
        feeder.wait_for("feeding")
        with home.client(home.folder / "rows") as ledger, closing(HttpCache(url)) as cache:
            ledger.create_table("db.t", [("day", "int")], location="v0")
            command.wait_for("caught up")
            cache.wait(ledger.token.position, PATIENCE_MS)
            assert place(cache.metadata_at(ReadAt("db.t", "main"))) == "v0"
            feeder.end(signal.SIGKILL)
            ledger.alter_table("db.t", lambda found: changed_definition(found, location="v1"))
            with home.serve_feeder() as successor:
                successor.wait_for("feeding")
                cache.wait(ledger.token.position, PATIENCE_MS)
                found = cache.metadata_at(ReadAt("db.t", "main"))
                assert (place(found), found.source) == ("v1", "cache")
                assert successor.end(signal.SIGINT) == ExitCode.DONE
            with home.serve_feeder("--rebuild") as anew:
                anew.wait_for("feeding")
                ledger.alter_table("db.t", lambda found: changed_definition(found, location="v2"))
                cache.wait(ledger.token.position, PATIENCE_MS)
                assert place(cache.metadata_at(ReadAt("db.t", "main"))) == "v2"
                assert anew.end(signal.SIGTERM) == ExitCode.DONE
