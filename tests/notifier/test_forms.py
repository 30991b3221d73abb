"""Notices in public forms, as programs of others read them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from openlineage.client import serde
from openlineage.client.generated import (
    base,
    dataset_version_dataset,
    error_message_run,
    output_statistics_output_dataset,
    schema_dataset,
    symlinks_dataset,
)

from ledger.core.state.domain import DomainState
from ledger.log.port import Log
from ledger.log.replay import Replay
from ledger.testing import InMemoryLedger
from projections.notifier.cloud_events import COMMITTED, CONFLICTED, cloud_event
from projections.notifier.notices import Notice, notice_of
from projections.notifier.open_lineage import PRODUCER, link_to, run_event
from projections.rows.applying import apply
from projections.store.memory import MemoryStore
from tests.notifier.receiving import history

NAMES: Final = ("main.shop.orders", "main.shop.bills")


def notices_of(log: Log) -> Iterator[Notice]:
    state, nothing = DomainState(), MemoryStore()
    for event in Replay(log):
        notice = notice_of(apply(state, event, nothing), event.body)
        if notice is not None:
            yield notice


@pytest.fixture(scope="module")
def notices(tmp_path_factory: pytest.TempPathFactory) -> list[Notice]:
    with InMemoryLedger() as memory:
        history(memory.connect(warehouse=tmp_path_factory.mktemp("lake"), application="night run"))
        return list(notices_of(memory.log))


def test_each_commit_and_each_lost_conflict_is_told_with_its_tables(notices: list[Notice]) -> None:
    said = [
        [(table.name, table.is_read, table.is_written, table.rows) for table in notice.tables]
        for notice in notices
    ]
    orders, bills = NAMES

    assert said == [
        [(orders, False, True, None)],
        [(bills, False, True, None)],
        [(orders, False, True, 2)],
        [(bills, False, True, 2), (orders, True, False, None)],
        [(orders, True, True, 2)],
        [(orders, True, True, None)],
    ]
    assert [notice.lost is not None for notice in notices] == [False] * 5 + [True]


def test_an_event_is_a_cloud_event_whose_id_is_its_position(notices: list[Notice]) -> None:
    events = [JSONFormat().read(CloudEvent, cloud_event(notice)) for notice in notices]

    assert [event.get_specversion() for event in events] == ["1.0"] * len(notices)
    assert [int(event.get_id()) for event in events] == [notice.position for notice in notices]
    assert len({event.get_source() for event in events}) == 1
    assert [event.get_type() for event in events] == [COMMITTED] * 5 + [CONFLICTED]
    assert events[2].get_subject() == NAMES[0]
    assert (events[3].get_subject(), events[3].get_extension("partitionkey")) == (
        None,
        notices[0].ledger_name,
    )


def test_a_conflict_says_in_a_cloud_event_against_which_txn_it_was_lost(
    notices: list[Notice],
) -> None:
    data = json.loads(cloud_event(notices[-1]))["data"]

    assert data["conflict"]["winner"]["txn"] == notices[-2].txn
    assert data["conflict"]["winner"]["position"] == notices[-2].position
    assert (data["application"], data["tables"][0]["version"]) == ("night run", None)


def facets_in(event: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from event["run"]["facets"].items()
    for dataset in (*event["inputs"], *event["outputs"]):
        yield from dataset["facets"].items()
        yield from dataset.get("outputFacets", {}).items()


FACETS: Final[Mapping[str, Any]] = {
    "schema": schema_dataset.SchemaDatasetFacet,
    "symlinks": symlinks_dataset.SymlinksDatasetFacet,
    "version": dataset_version_dataset.DatasetVersionDatasetFacet,
    "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
}


def test_each_facet_is_one_of_the_public_classes_by_its_fields_and_its_schema(
    notices: list[Notice],
) -> None:
    seen = set[str]()
    for notice in notices:
        for name, facet in facets_in(json.loads(run_event(notice))):
            fields = {key: field for key, field in facet.items() if not key.startswith("_")}
            public = serde.Serde.to_dict(FACETS[name](**fields))
            assert facet["_schemaURL"] == public["_schemaURL"]
            assert {key: public[key] for key in fields} == fields
            assert facet["_producer"] == PRODUCER
            seen.add(name)

    assert seen == FACETS.keys()


def test_a_run_event_is_one_of_the_public_classes(notices: list[Notice]) -> None:
    """The class refuses a wrong time and a wrong id of a run."""
    for notice in notices:
        event = json.loads(run_event(notice))
        run_of_class = base.RunEvent(
            eventTime=event["eventTime"],
            producer="https://example.org",
            run=base.Run(runId=event["run"]["runId"]),
            job=base.Job(event["job"]["namespace"], event["job"]["name"]),
            eventType=base.EventType(event["eventType"]),
            inputs=[base.InputDataset(at["namespace"], at["name"]) for at in event["inputs"]],
            outputs=[base.OutputDataset(at["namespace"], at["name"]) for at in event["outputs"]],
        )
        public = serde.Serde.to_dict(run_of_class)
        assert event.keys() - {"schemaURL"} <= public.keys()
        assert event["schemaURL"] == public["schemaURL"]


def test_lineage_has_the_tables_read_as_inputs_and_those_written_as_outputs(
    notices: list[Notice],
) -> None:
    events = [json.loads(run_event(notice)) for notice in notices]
    copied, lost = events[3], events[5]

    assert [table["name"] for table in copied["inputs"]] == [NAMES[0]]
    assert [table["name"] for table in copied["outputs"]] == [NAMES[1]]
    statistics = copied["outputs"][0]["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["fileCount"], statistics["size"] > 0) == (2, 1, True)
    assert copied["inputs"][0]["facets"]["schema"]["fields"] == [
        {"name": "id", "type": "BIGINT"},
        {"name": "paid", "type": "BOOLEAN"},
    ]
    assert [event["eventType"] for event in events] == ["COMPLETE"] * 5 + ["FAIL"]
    assert lost["run"]["facets"]["errorMessage"]["message"].startswith("Concurrent")
    assert len({UUID(event["run"]["runId"]) for event in events}) == len(events)


@pytest.mark.parametrize(
    ("location", "namespace", "name"),
    [
        ("/lake/orders", "file", "/lake/orders"),
        ("file:///lake/orders", "file", "/lake/orders"),
        ("s3://bucket/lake/orders", "s3://bucket", "lake/orders"),
        ("abfss://lake@host.net/orders", "abfss://lake@host.net", "orders"),
    ],
)
def test_a_location_has_the_name_that_other_producers_give_it(
    location: str, namespace: str, name: str
) -> None:
    assert link_to(location) == {"namespace": namespace, "name": name, "type": "LOCATION"}
