"""The AsyncAPI document of a ledger's topics, made from the published Avro schemas."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from ledger.log.port import Topic
from ledger.log.wire.published_schemas import COMMAND_IDS, EVENT_IDS, schema_ids, schema_text
from ledger.version import CODE_VERSION
from projections.web.api.form_schemas import Schema

AVRO: Final = "application/vnd.apache.avro"
CHANNELS: Final[Mapping[Topic, tuple[range, str, str]]] = {
    Topic.EVENTS: (
        EVENT_IDS,
        "receive",
        "The history of the ledger. Its key is the catalog, and only a sequencer writes it.",
    ),
    Topic.COMMANDS: (
        COMMAND_IDS,
        "send",
        "What clients ask for. Its key is the session; one event answers each command.",
    ),
}
"""The topics for programs of others: the ids of their schemas, and what such a program does."""


@cache
def asyncapi() -> Schema:
    """Return the document."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "LakeLedger topics",
            "version": str(CODE_VERSION),
            "description": (
                "A value is a zero byte, the id of its schema in 4 bytes, and Avro in binary form."
            ),
        },
        "defaultContentType": AVRO,
        "channels": {str(topic): channel(topic) for topic in CHANNELS},
        "operations": {
            f"{action}-{topic}": {
                "action": action,
                "channel": {"$ref": f"#/channels/{topic}"},
                "summary": text,
            }
            for topic, (_, action, text) in CHANNELS.items()
        },
        "components": {
            "messages": {name: message(name) for topic in CHANNELS for name in names_of(topic)}
        },
    }


def channel(topic: Topic) -> Schema:
    """Return a topic as a channel of AsyncAPI, with the messages it may hold."""
    return {
        "address": f"{{ledger}}.{topic}",
        "description": CHANNELS[topic][2],
        "parameters": {"ledger": {"description": "The name of the ledger."}},
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names_of(topic)},
    }


def names_of(topic: Topic) -> list[str]:
    """Return the records of a topic, by id."""
    ids = schema_ids()
    return sorted((name for name in ids if ids[name] in CHANNELS[topic][0]), key=ids.__getitem__)


def message(name: str) -> Schema:
    """Return a record as a message, with its schema as it is published."""
    schema = json.loads(schema_text(name))
    return {
        "name": name,
        "title": name,
        "summary": schema.get("doc", ""),
        "contentType": AVRO,
        "x-schema-id": schema_ids()[name],
        "payload": {"schemaFormat": "application/vnd.apache.avro;version=1.9.0", "schema": schema},
    }
