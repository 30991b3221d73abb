"""Two metastores as processes on a real broker, step by step as on Hive's design page."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import NamedTuple

import pytest

from ledger.client import Ledger
from ledger.log.kafka.topics import create_topics
from ledger.machine.kafka.broker import Broker
from projections.queries import open_reads
from tests.demo.metastores.metastore import Mode, TablePlace
from tests.demo.metastores.metastore_process import MetastoreProcess
from tests.demo.metastores.metastore_steps import WANTED
from tests.demo.metastores.two_metastores import walk
from tests.demo.report import CheckFailedError
from tests.integration.commands import Command
from tests.integration.fleet import Fleet

pytestmark = pytest.mark.kafka


class Lake(NamedTuple):
    """A ledger that is up, with rows, and where metastores find both."""

    ledger: Ledger
    place: TablePlace


@pytest.fixture(scope="module")
def lake(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Run a sequencer and a follower."""
    home = tmp_path_factory.mktemp("metastores")
    store = home / "store"
    name = f"test-{home.name}"
    where = ("--bootstrap", broker.bootstrap, "--ledger", name)
    create_topics(broker.bootstrap, name)
    with ExitStack() as held:
        held.enter_context(Fleet(broker.bootstrap, name, 1))
        follow = ("serve", "follower", "--store", str(store), "--no-http", *where)
        held.enter_context(Command(home, *follow)).wait_for("caught up")
        reads = held.enter_context(closing(open_reads(store)))
        ledger = held.enter_context(Ledger.connect(broker.bootstrap, name, reads=reads))
        yield Lake(ledger, TablePlace(broker.bootstrap, name, str(store), "one version"))


@pytest.mark.parametrize("mode", WANTED)
def test_steps_of_the_page(lake: Lake, mode: Mode) -> None:
    """Lists, flags and answers are those of the page with one version, better ones with many."""
    place = lake.place._replace(mode=mode)
    with MetastoreProcess("M1", place) as first, MetastoreProcess("M2", place) as second:
        assert walk(lake.ledger, first, second, mode) == WANTED[mode]


def test_a_metastore_that_cannot_do_what_it_is_asked_says_so_and_goes_on(lake: Lake) -> None:
    with MetastoreProcess("M1", lake.place) as metastore:
        with pytest.raises(CheckFailedError, match="M1 cannot alter: UnknownTableError"):
            metastore.ask("alter", table=999, word="v1")
        assert metastore.ask("follow", position=1)["position"] >= 1
