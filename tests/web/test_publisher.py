"""The publisher over HTTP: its status, its health and its metrics, with a table that stopped."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from ledger.cli.answers import Output
from ledger.cli.machine.status import seen_of_publisher
from ledger.config.settings import PublisherSettings
from ledger.reads.remote.publisher import HttpPublisher, StoppedStatus
from projections.delta.log.log_folder import version_file
from projections.delta.publisher import DeltaPublisher
from projections.web.roles.publisher import serve_publisher
from tests.conformance.case_ledger import ManualClock
from tests.projections.filing import commit
from tests.projections.test_delta_publication import Lake
from tests.projections.test_delta_publisher import two_tables
from tests.web.served import Served, samples

ANYWHERE = PublisherSettings(http="127.0.0.1:0")
PATIENCE_S = 20.0


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a domain with two published tables; another program wrote into the log of one."""
    lake = two_tables(tmp_path)
    folder = tmp_path / "a" / "_delta_log"
    folder.mkdir(parents=True)
    (folder / version_file(1)).write_text("{}\n")
    commit(lake, lake.session, lake.table, ["y"])
    return lake


@contextmanager
def publishing(publisher: DeltaPublisher) -> Iterator[Served]:
    """Serve a publisher that runs, once it has caught up."""
    stop, caught_up = Signal(), Signal()
    thread = Thread(target=publisher.run, args=(stop, caught_up.set))
    thread.start()
    try:
        assert caught_up.wait(PATIENCE_S)
        with closing(Served(serve_publisher(publisher, ANYWHERE))) as served:
            yield served
    finally:
        stop.set()
        thread.join()


def test_the_status_has_position_lag_and_stopped_tables(lake: Lake) -> None:
    with (
        publishing(DeltaPublisher(lake.log)) as served,
        closing(HttpPublisher(served.url)) as client,
    ):
        found = client.status()
        said = seen_of_publisher(served.url, Output.TABLE)["publisher"]
        fields = seen_of_publisher(served.url, Output.JSON)["publisher"]

    (stopped,) = found.stopped
    reason = stopped.reason
    assert stopped == StoppedStatus(lake.table, "t", version=0, behind=3, reason=reason)
    assert version_file(1) in reason
    assert found._replace(stopped=()) == (lake.head.position, True, 0, 0, 3, 2, 2, (), 0)
    position = lake.head.position
    assert said == f"2 tables, at position {position}, lag 0 ms; t stopped before version 0"
    assert fields["stopped"][0]["name"] == "t"


def test_a_table_that_stopped_is_named_and_does_not_make_the_publisher_unready(lake: Lake) -> None:
    with publishing(DeltaPublisher(lake.log)) as served:
        answer, found = served.ask("/readyz"), samples(served)
        assert served.ask("/livez").status == 200

    checks = answer.form["checks"]
    assert (answer.status, set(checks)) == (200, {"position", "lag", "tables", "registered"})
    assert checks["tables"]["detail"] == "2 published, stopped: t"
    assert {
        name.removeprefix("lakeledger_publisher_"): value
        for name, value in found.items()
        if name.startswith("lakeledger_publisher_") and "created" not in name
    } == {
        "position": lake.head.position,
        "lag_versions": 3,
        "lag_positions": 0,
        "lag_seconds": 0,
        "waiting_seconds": 0,
        "tables": 2,
        "stopped_tables": 1,
        "retried_tables": 0,
        "versions_written_total": 2,
        "stopped_table_behind t": 3,
    }


def test_not_ready_while_behind(lake: Lake) -> None:
    clock = ManualClock()
    publisher = DeltaPublisher(lake.log, clock=clock)
    with closing(Served(serve_publisher(publisher, ANYWHERE))) as served:
        first = served.ask("/readyz")
        assert publisher.lag().records > 0
        clock.elapsed_s += 2 * ANYWHERE.lag_max_s
        lag = publisher.lag()

    assert first.status == 503
    assert first.form["checks"]["position"]["status"] == "DOWN"
    assert lag.behind_ms > 1000 * ANYWHERE.lag_max_s


def test_released_table_is_not_stopped(lake: Lake) -> None:
    lake.alter(lake.state.tables.by_id[lake.table].definition._replace(properties=[]))
    publisher = DeltaPublisher(lake.log)
    with publishing(publisher):
        assert (publisher.stopped_now(), publisher.published()) == ([], 1)


def test_the_status_says_why_nothing_is_known_of_a_publisher() -> None:
    url = "http://127.0.0.1:9"
    assert url in seen_of_publisher(url, Output.TABLE)["publisher"]
    assert url in seen_of_publisher(url, Output.JSON)["publisher"]["problem"]
