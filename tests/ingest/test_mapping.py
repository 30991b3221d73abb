"""What a mapping may say, and how it is refused by name."""

from pathlib import Path
from typing import Any

import pytest

from ledger.errors import SettingsError
from ledger.ingest.mapping import mapping_of, read_mapping

TOPIC: dict[str, Any] = {"topic": "t", "table": "db.t"}
WHOLE: dict[str, Any] = {"name": "shop", "topics": [TOPIC]}
REGISTRY = {"source": {"registry": "http://registry"}}


def of_topic(**more: Any) -> dict[str, Any]:
    return {**WHOLE, "topics": [{**TOPIC, **more}]}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"name": "shop"}, "missing required field `topics`"),
        ({**WHOLE, "topic": []}, "unknown field `topic`"),
        ({**WHOLE, "name": "a/b"}, "name must be 1 to 100 of the characters"),
        ({**WHOLE, "topics": []}, "must name one topic or more"),
        ({**WHOLE, "topics": [TOPIC, TOPIC]}, "topic t must be named once, got it 2 times"),
        ({**WHOLE, "batch": {"seconds": 0}}, "batch.seconds above 0"),
        ({**WHOLE, "batch": {"rows": 0}}, "batch.rows and batch.megabytes must be 1 or more"),
        ({**WHOLE, "batch": {"row": 1}}, r"unknown field `row` - at `\$.batch`"),
        ({**WHOLE, "source": {"kafka": "a:1"}}, r"unknown field `kafka` - at `\$.source`"),
        (
            {**WHOLE, "source": {"registry": "http://a", "schemas": "b"}},
            "a registry or a folder of schemas, not both",
        ),
        (of_topic(format="protobuf"), "topic t: format protobuf is not supported"),
        (of_topic(format="jsno"), "format must be json or avro, got 'jsno'"),
        (of_topic(format="avro"), "avro needs source.registry or source.schemas"),
        (of_topic(key_format="avro"), "avro needs source.registry or source.schemas"),
        (of_topic(bad="table"), 'bad = "table" and bad_table must be given together'),
        (of_topic(bad_table="x"), 'bad = "table" and bad_table must be given together'),
        (of_topic(bad="skip"), r"Invalid enum value 'skip' - at `\$.topics\[0\].bad`"),
        (of_topic(tombstones="delete"), 'tombstones = "delete" needs a key'),
        (of_topic(key=["a", "b"], key_format="text"), "the key has several"),
        (of_topic(columns={"a": {}}), "column a must have one of field, record and value"),
        (of_topic(columns={"a": {"field": "x", "value": 1}}), "column a must have one of"),
        (of_topic(columns={"a": "x..y"}), "column a must name a field, got 'x..y'"),
        (of_topic(columns={"a": {"record": "key", "form": "json"}}), "column a has a form"),
        (of_topic(columns={"a": {"field": "x", "as": "json"}}), "unknown field `as`"),
        (of_topic(columns={"a": {"record": "headers"}}), "Invalid enum value 'headers'"),
        (of_topic(columns={"a": "a"}, key=["b"]), "key column b must be one of the columns"),
        (of_topic(new_fields="evolve"), "Invalid enum value 'evolve'"),
        (of_topic(topic="^tpc.*"), r"topic must be 1 to 249 of .* got '\^tpc"),
        (of_topic(topic=""), "topic must be 1 to 249 of"),
        (of_topic(topic="a/b"), "topic must be 1 to 249 of"),
        (of_topic(topic="a\n"), "topic must be 1 to 249 of"),
        (of_topic(topic=".."), "topic must be 1 to 249 of"),
        (of_topic(topic="t" * 250), "topic must be 1 to 249 of"),
        (of_topic(table=""), "table must not be empty"),
        (of_topic(bad="table", bad_table=""), "bad_table must be another table than db.t, got ''"),
        (of_topic(bad="table", bad_table="DB.t"), "must be another table than db.t, got 'DB.t'"),
        (of_topic(columns={"id": "a", "ID": "b"}), "column id must be named once, in any case"),
        (of_topic(key=["id", "ID"]), "key column id must be named once, in any case of letters"),
        (of_topic(key_format="json"), "key_format needs a key and tombstones"),
        (
            of_topic(key=["id"], key_format="json", tombstones="ignore"),
            "key_format needs a key and tombstones",
        ),
        ({**WHOLE, **REGISTRY}, r"source\.registry is for avro, and no topic has"),
        ({**WHOLE, "source": {"schemas": "a"}}, r"source\.schemas is for avro, and no topic has"),
        ({**WHOLE, "source": {"registry_login": "a"}}, "registry_login needs source.registry"),
        ({**WHOLE, "source": {"registry": ""}}, r"source\.registry must not be empty"),
        ({**WHOLE, "source": {"brokers": ""}}, r"source\.brokers must not be empty"),
        ({**WHOLE, "source": {"client_config": ""}}, r"source\.client_config must not be empty"),
        (
            {**of_topic(format="avro"), "source": {"registry": "ftp://x"}},
            "registry must begin with http:// or https://, got 'ftp://x'",
        ),
        (of_topic(start="newest"), "Invalid enum value 'newest'"),
        (of_topic(lost="skip"), "Invalid enum value 'skip'"),
    ],
)
def test_what_is_not_obeyed_is_refused_by_name(values: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        mapping_of(values)


def test_a_key_names_a_column_in_any_case_of_letters() -> None:
    assert mapping_of(of_topic(columns={"id": "a"}, key=["ID"])).topics[0].key == ["ID"]


def test_a_tombstone_deletes_where_there_is_a_key() -> None:
    added = mapping_of(WHOLE).topics[0]
    merged = mapping_of(of_topic(key=["id"])).topics[0]

    assert (added.on_tombstone, merged.on_tombstone) == ("bad", "delete")


def test_keys_are_written_as_values_unless_the_mapping_says_otherwise() -> None:
    avro = mapping_of({**of_topic(format="avro"), **REGISTRY}).topics[0]
    text = mapping_of(
        {**of_topic(format="avro", key=["id"], key_format="text"), **REGISTRY}
    ).topics[0]

    assert (avro.written_keys, text.written_keys) == ("avro", "text")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mapping.toml"
    file.write_text(
        'name = "shop"\n[source]\nschemas = "schemas"\n[[topics]]\n'
        'topic = "t"\ntable = "t"\nformat = "avro"\n'
    )

    assert read_mapping(file).source.schemas == str(tmp_path / "schemas")


@pytest.mark.parametrize(("text", "why"), [("a = ", "must be TOML"), (None, "cannot be read")])
def test_a_file_that_is_no_mapping_is_named(tmp_path: Path, text: str | None, why: str) -> None:
    file = tmp_path / "mapping.toml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(SettingsError, match=why):
        read_mapping(file)
