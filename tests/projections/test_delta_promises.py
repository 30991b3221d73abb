"""Properties of Delta in published tables: obeyed, refused by name, or without any effect."""

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from ledger.core.commands import Protocol
from ledger.core.state.traits import FEATURES_NAMED_FROM, KNOWN_FEATURES
from ledger.properties.column_mapping import PUBLISH
from ledger.properties.promises import (
    FEATURES,
    PROMISES,
    check_promises,
    is_without_effect,
    reasons_against,
)
from ledger.testing import InMemoryLedger
from projections.delta.log.log_folder import LogFolder, version_file
from projections.delta.log.log_writer import DeltaLogWriter
from tests.projections.published import action, published
from tests.projections.test_delta_publication import BY_DAY, Lake
from tests.projections.test_delta_publisher import run

MEANT = {
    "delta.checkpointInterval": "5",
    "delta.isolationLevel": "Serializable",
    "delta.constraints.*": "id > 0",
    "delta.columnMapping.mode": "name",
    "delta.universalFormat.*": "iceberg",
    "delta.checkpointPolicy": "v2",
}
CASES = [(key, MEANT.get(key, "true")) for key in PROMISES] + [("delta.notKnown", "true")]
HARMLESS = [
    ("delta.enableChangeDataFeed", "false"),
    ("delta.enableRowTracking", "FALSE"),
    ("delta.checkpointPolicy", "classic"),
    ("delta.universalFormat.enabledFormats", ""),
    ("delta.requireCheckpointProtectionBeforeVersion", "0"),
    ("Delta.AppendOnly", "true"),
    ("deltas.own", "true"),
]
NO_VALUE = [
    ("delta.checkpointInterval", "0"),
    ("delta.checkpointInterval", "often"),
    ("delta.appendOnly", "yes"),
    ("delta.isolationLevel", "ReadUncommitted"),
    ("delta.enableInCommitTimestamps", "false"),
    ("delta.columnMapping.mode", "id"),
    ("DELTA.ENABLECHANGEDATAFEED", "TRUE"),
]


def verdict(key: str) -> str:
    """Return the verdict of a property, `refused` for one that is not known."""
    return PROMISES[key].verdict if key in PROMISES else "refused"


@pytest.mark.parametrize(("key", "value"), CASES)
def test_what_is_not_obeyed_is_refused_where_it_is_set(key: str, value: str) -> None:
    name = key.replace("*", "x")
    made = published(BY_DAY, **{name: value})
    is_refused = verdict(key) in ("refused", "not set")
    plain = published(BY_DAY)
    for before in (None, plain):
        with pytest.raises(ValueError, match=re.escape(name)) if is_refused else nullcontext():
            check_promises("t", before, made)
    check_promises("t", made, published(made, other="1"))
    check_promises("t", None, made._replace(properties=made.properties[:-1]))
    assert bool([*reasons_against(made)]) is (verdict(key) == "refused")
    assert is_without_effect(name, value) is (verdict(key) == "not set")


@pytest.mark.parametrize(("key", "value"), HARMLESS)
def test_a_switch_that_is_off_and_a_key_that_is_not_deltas_are_taken(key: str, value: str) -> None:
    check_promises("t", None, published(BY_DAY, **{key: value}))


@pytest.mark.parametrize(("key", "value"), NO_VALUE)
def test_a_value_that_has_no_meaning_here_is_refused(key: str, value: str) -> None:
    with pytest.raises(ValueError, match="must"):
        check_promises("t", None, published(BY_DAY, **{key: value}))


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_that_the_files_lack_forbids_adopting(feature: str) -> None:
    assert feature in KNOWN_FEATURES
    assert [feature in each for each in reasons_against(BY_DAY, [feature])] == [True]


def test_every_way_to_set(tmp_path: Path) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        columns = [("id", "int")]
        ledger.create_table("plain", columns, location=tmp_path / "p", properties=feed)
        ledger.create_table("t", columns, location=tmp_path / "t", properties={PUBLISH: "delta"})
        ways = (
            lambda: ledger.create_table("u", columns, properties={PUBLISH: "delta", **feed}),
            lambda: ledger.alter_table("t", properties=feed),
            lambda: ledger.alter_table("plain", properties={PUBLISH: "delta"}),
            lambda: ledger.run(lambda txn: txn.alter_table("t", properties=feed)),
        )
        before = ledger.tables()
        for way in ways:
            with pytest.raises(ValueError, match="enableChangeDataFeed"):
                way()
        assert ledger.tables() == before


def test_a_table_that_has_such_properties_is_published_without_them() -> None:
    flags = {"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": "v2"}
    lake = Lake(published(BY_DAY, **{"delta.enableChangeDataFeed": "true", **flags}))
    lake.files("a")
    features = ["deletionVectors", "v2Checkpoint"]
    protocol = Protocol(3, FEATURES_NAMED_FROM, features)
    lake.files("b", protocol=protocol)
    lake.alter(published(BY_DAY, **flags))
    told = [action(each, "metaData") for each in lake.found]
    configurations = [None if each is None else each["configuration"] for each in told]
    own = {"delta.enableInCommitTimestamps": "true"}
    assert configurations == [own, None, {**own, **flags}, {**own, **flags}]


def test_log_of_an_earlier_release(tmp_path: Path) -> None:
    """A version that promised more stays; one that says something else is foreign."""
    lake = Lake(
        published(BY_DAY, **{"delta.enableChangeDataFeed": "true"})._replace(location=str(tmp_path))
    )
    lake.files("a")
    run(lake)
    file = tmp_path / "_delta_log" / version_file(0)
    text = file.read_text()
    promised = text.replace(
        '"configuration":{', '"configuration":{"delta.enableChangeDataFeed":"true",'
    )
    assert promised != text
    file.write_text(promised)
    lake.alter(published(BY_DAY)._replace(location=str(tmp_path)))
    assert not run(lake).stopped
    assert file.read_text() == promised
    (last,) = lake.found[-1:]
    told = action(last, "metaData")
    assert told is not None
    assert "delta.enableChangeDataFeed" not in told["configuration"]
    assert DeltaLogWriter(LogFolder(str(tmp_path))).write(last) is False

    odd = json.loads(promised.splitlines()[2])
    odd["metaData"]["partitionColumns"] = []
    file.write_text(
        "\n".join([*promised.splitlines()[:2], json.dumps(odd, separators=(",", ":"))]) + "\n"
    )
    assert run(lake).stopped
