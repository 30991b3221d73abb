"""Opens an ingest: its mapping, the schemas of its topics, and the Kafka that holds them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ledger.client import Ledger
from ledger.config.client_config import client_settings
from ledger.errors import SettingsError
from ledger.ingest.ingest import Ingest
from ledger.ingest.kafka_source import KafkaSource
from ledger.ingest.mapping import IngestMapping, SourceMapping
from ledger.ingest.source import Assignment
from ledger.ingest.tables import Formats
from ledger.ingest.values.avro import AvroSchemas, SchemaFolder, SchemaRegistry
from ledger.ingest.values.formats import format_named

OpenSource = Callable[[Assignment], KafkaSource]


def opened_ingest(
    ledger: Ledger, mapping: IngestMapping, bootstrap: str, client: Mapping[str, Any]
) -> Ingest:
    """Return a process of an ingest; `bootstrap` and `client` are those of the ledger's Kafka."""
    group = f"lakeledger-{ledger.id}-{mapping.name}"
    opened = opener(mapping, bootstrap, client, group)
    return Ingest(ledger, mapping, opened, formats_of(mapping.source))


def opener(
    mapping: IngestMapping, bootstrap: str, client: Mapping[str, Any], group: str
) -> OpenSource:
    """Return what joins the group of an ingest at the Kafka that its mapping names."""
    source, topics = mapping.source, [each.topic for each in mapping.topics]
    if source.client_config is not None:
        client = client_settings(Path(source.client_config), "source.client_config")
    elif source.brokers is not None:
        client = {}
    brokers = source.brokers or bootstrap
    return lambda assignment: KafkaSource(brokers, group, topics, assignment, client)


def formats_of(source: SourceMapping) -> Formats:
    """Return the forms of values by name; raises SettingsError if schemas cannot be had."""
    schemas = schemas_of(source)
    return lambda name: format_named(name, schemas)


def schemas_of(source: SourceMapping) -> AvroSchemas | None:
    """Return the schemas of Avro, None if a mapping names none."""
    if source.schemas is not None:
        return SchemaFolder(Path(source.schemas))
    if source.registry is None:
        return None
    if source.registry_login is None:
        return SchemaRegistry(source.registry)
    try:
        login = Path(source.registry_login).read_text().strip()
    except OSError as problem:
        raise SettingsError(
            f"source.registry_login is {source.registry_login}, which cannot be read: {problem}"
        ) from problem
    return SchemaRegistry(source.registry, login)
