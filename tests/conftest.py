"""What many tests share: one real broker, and names that no two tests have in common."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict

from ledger.machine.kafka.broker import Broker
from tests.container_broker import ContainerBroker, is_chosen, running_container
from tests.quick_java import quick_java

# Whoever starts the tests in the background has them ignore Ctrl-C, and with nohup the end of the
# terminal, and all that they start too. A signal that is caught, though nothing is done about it,
# is none that is ignored to a process that is started.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

HERE: Final = Path(__file__).parent
# Modules that start processes or servers of this machine, wait for what takes its time, go up to
# limits, or play whole histories against each other: most of the time of all tests without Java.
INTEGRATION: Final = frozenset(
    {
        "backup/test_s3.py",
        "benchmarks/test_caches.py",
        "core/test_far_too_much.py",
        "isolation/test_cleaning.py",
        "log/test_kafka_out_of_reach.py",
        "projections/test_cache_laws.py",
        "projections/test_cli.py",
        "projections/test_cli_cache.py",
        "projections/test_cli_refusals.py",
        "projections/test_follower.py",
        "projections/test_reads_agree.py",
        "projections/test_rocks_reader.py",
        "projections/test_stores_agree.py",
        "sdk/test_forks.py",
        "sdk/test_retries.py",
        "sdk/test_sessions.py",
        "sdk/test_staging.py",
        "sdk/test_txn_outcome.py",
        "simulation/test_simulation.py",
        "spark_sink/test_host_tables.py",
        "tables/test_threads_writing.py",
        "test_cli.py",
        "test_client_config.py",
        "test_config.py",
        "test_process.py",
        "test_supervisor.py",
        *(f"web/{path.name}" for path in HERE.glob("web/test_*.py")),
    }
)


# Where one test has such a mark its module takes long.
LONG: Final = frozenset({"integration", "kafka", "spark"})
HEEDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


@pytest.fixture(autouse=True)
def signals_as_they_were() -> Iterator[None]:
    """Let a command that ran in this process leave no signal to itself.

    A thread of it heeds them, and a process that is forked later has no such thread: it would not
    end when it is told to.
    """
    before = {number: signal.getsignal(number) for number in HEEDED}
    yield
    for number, call in before.items():
        if signal.getsignal(number) is not call:
            signal.signal(number, call)
            signal.set_wakeup_fd(-1)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Let a command that ran in this process set up no logging of later tests."""
    was_set_up = structlog.is_configured()
    yield
    if structlog.is_configured() and not was_set_up:
        structlog.reset_defaults()


def pytest_configure(config: pytest.Config) -> None:
    """Let every Java of the tests start sooner; the workers of xdist get the variables of this."""
    starts_java = "not kafka" not in config.option.markexpr
    if starts_java and not hasattr(config, "workerinput"):
        os.environ.update(quick_java())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of those modules their mark, and put the modules that take long first.

    Two workers take one module after the other: with the short ones last, both end at one time.
    """
    for item in items:
        if item.path.relative_to(HERE).as_posix() in INTEGRATION:
            item.add_marker("integration")
    long = {
        item.path for item in items if LONG.intersection(mark.name for mark in item.iter_markers())
    }
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker | ContainerBroker]:
    """Run one Kafka for all tests marked `kafka`: embedded, or in a container if that is chosen."""
    if is_chosen():
        with running_container() as container:
            yield container
        return
    with Broker.start(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def ledger_name() -> str:
    return f"test-{uuid4().hex[:12]}"


@pytest.fixture
def log_lines() -> Iterator[Sequence[EventDict]]:
    """Return the lines that are logged from here on, and leave logging as if never set up."""
    with capture_logs() as lines:
        yield lines
    structlog.reset_defaults()
