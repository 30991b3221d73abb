"""A preview shows what the ingest would do, however slowly the records come."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from ledger.client import Ledger
from ledger.errors import LogUnavailableError, TopicMissingError
from ledger.ingest.mapping import mapping_of
from ledger.ingest.preview import GrownTables, Starts, first_records, previews
from ledger.ingest.source import Partition, TopicRecord
from ledger.ingest.tables import TopicTable
from ledger.ingest.values.formats import format_named
from tests.command_line import invoked
from tests.ingest.benches import IngestBench
from tests.ingest.test_ingest import EVENTS, made
from tests.ingest.topics import MemorySource, MemoryTopics

FIRST, SECOND = Partition("events", 0), Partition("users", 0)


class SlowSource(MemorySource):
    """Gives one record at a time, and nothing in every second call, as a busy broker does."""

    calls = 0

    def take(self, limit: int, wait_s: float) -> Sequence[TopicRecord]:
        self.calls += 1
        return super().take(self.calls % 2 and min(1, limit), wait_s)


def previewed(topics: MemoryTopics, offsets: dict[Partition, int]) -> list[tuple[Partition, int]]:
    starts = Starts(offsets)
    source = SlowSource(topics, starts)
    topics.give(source)
    source.calls = 1
    found = first_records(source, starts, list(topics.ids))
    return [(record.partition, record.offset) for record in found]


def test_records_that_come_after_an_empty_answer_are_shown() -> None:
    topics = MemoryTopics()
    for partition in (FIRST, SECOND):
        topics.create(partition.topic)
        for _ in range(3):
            topics.put(partition.topic, b"{}")

    shown = previewed(topics, {FIRST: 2, SECOND: 0})

    assert sorted(shown) == [(FIRST, 2), (SECOND, 0), (SECOND, 1), (SECOND, 2)]


def test_partitions_without_new_records_are_not_waited_for() -> None:
    topics = MemoryTopics()
    topics.create("events")
    topics.create("users")
    topics.put("users", b"{}")

    assert previewed(topics, {FIRST: 0, SECOND: 1}) == []


@pytest.mark.parametrize(
    "values",
    [
        (b'{"id": 1, "price": 1.5}', b'{"id": 2, "paid": true}'),
        (b'{"id": 1}', b'{"id": 2, "price": 2.5, "paid": false, "more": "x"}'),
        (b'{"id": 1, "price": 1.5}', b'{"id": 2, "price": "dear"}', b'{"id": 3}'),
    ],
)
def test_a_preview_of_a_table_that_grows_shows_what_the_ingest_makes_of_it(
    bench: IngestBench, values: Sequence[bytes]
) -> None:
    made(bench)
    options: dict[str, Any] = {**EVENTS, "new_fields": "add", "bad": "table", "bad_table": "db.bad"}
    records = [bench.topics.put("events", value) for value in values]
    (topic,) = mapping_of({"name": "shop", "topics": [options]}).topics
    grown = GrownTables(bench.ledger)
    table = TopicTable(cast("Ledger", grown), topic, lambda name: format_named(name, None))
    shown = grown.rows(table, records)
    before = [column.name for column in bench.ledger.table("db.events").definition.columns]

    ingest, _ = bench.process(options)
    bench.drain(ingest)

    assert before == ["id", "name"]
    assert shown.rows.to_pylist() == bench.rows("db.events")
    columns = [column.name for column in bench.ledger.table("db.events").definition.columns]
    assert columns == [*before, *grown.new("db.events")]
    bad = [each.record.offset for each in shown.bad]
    assert bad == [row["offset"] for row in bench.rows("db.bad", "offset")]


def test_a_preview_without_partitions_is_an_error() -> None:
    """So it is where the brokers hand out none."""
    topics = MemoryTopics()
    topics.create("events")
    starts = Starts({})

    with pytest.raises(LogUnavailableError, match="no partition of events came"):
        first_records(MemorySource(topics, starts), starts, ["events"], wait_s=0.1)


def test_a_preview_names_a_topic_that_is_missing() -> None:
    starts = Starts({})

    with pytest.raises(TopicMissingError, match="there is no topic events"):
        first_records(MemorySource(MemoryTopics(), starts), starts, ["events"])


def test_a_preview_of_brokers_that_do_not_answer_is_an_error(bench: IngestBench) -> None:
    made(bench)
    plan = mapping_of({"name": "shop", "topics": [EVENTS]})

    with pytest.raises(LogUnavailableError, match="no answer in time"):
        previews(bench.ledger, plan, "127.0.0.1:1", {})


@pytest.mark.parametrize(
    "line",
    [
        ("{}", "--dry-run"),
        ("--dry-run", "{}"),
        ("--ledger", "lake", "{}"),
        ("run", "--dry-run", "{}"),
    ],
)
def test_options_stand_before_or_behind_the_mapping(line: Sequence[str], tmp_path: Path) -> None:
    mapping = tmp_path / "none.toml"

    done = invoked("ingest", *(word.format(mapping) for word in line))

    assert "none.toml" in str(done.exception)
    assert "No such option" not in done.output
