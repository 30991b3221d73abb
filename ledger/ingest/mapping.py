"""The mapping of an ingest: which topics go into which tables, and what bad records do.

It is a file of TOML. A key that is not obeyed is refused by its name.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from ledger.errors import SettingsError

NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)
TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", re.ASCII)
"""The names that Kafka takes for topics; its client reads another one as a pattern of names."""

SECONDS_MAX: Final = 60
REFUSED_FORMATS: Final = frozenset({"protobuf", "json_schema", "csv", "xml"})

Format = Literal["json", "avro"]
KeyFormat = Literal["json", "text", "avro"]
RecordPart = Literal["topic", "partition", "offset", "timestamp", "key", "value"]


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; it has the named keys and no others."""


class ColumnSource(Strict, frozen=True):
    """Where the values of a column come from: one of field, record and value.

    Attributes:
        field: the path of a field: names with points between them, or a list of names.
        record: a part of the record itself, such as its offset.
        value: a constant for all rows.
        form: how a field is read: `json` keeps it as text of JSON, `epoch_ms` reads a number as a
            time.
    """

    field: str | list[str] | None = None
    record: RecordPart | None = None
    value: str | int | float | bool | None = None
    form: Literal["json", "epoch_s", "epoch_ms", "epoch_us"] | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the field, from the outermost on."""
        if isinstance(self.field, str):
            return tuple(self.field.split("."))
        return tuple(self.field or ())


class SourceMapping(Strict, frozen=True):
    """The Kafka that holds the topics: the ledger's own by default.

    Attributes:
        brokers: its host:port.
        client_config: a file of settings for librdkafka, such as the login.
        registry: the URL of a schema registry, for Avro.
        registry_login: a file with user:password for the registry.
        schemas: a folder of schemas, ID.avsc each, instead of a registry.
    """

    brokers: str | None = None
    client_config: str | None = None
    registry: str | None = None
    registry_login: str | None = None
    schemas: str | None = None


class BatchMapping(Strict, frozen=True):
    """When a batch is committed: at a number of records, at a size, or after the last one."""

    rows: int = 20_000
    megabytes: int = 64
    seconds: float = 0.5

    @property
    def bytes(self) -> int:
        """The size of a batch in bytes."""
        return self.megabytes << 20


class TopicMapping(Strict, frozen=True):
    """A topic and its table.

    Attributes:
        topic: its name.
        table: the table that gets the rows; it exists.
        format: how values are written.
        columns: where each column comes from; by default from the field of its name.
        key: the columns of the key: rows with the same key replace each other. () = rows are added.
        key_format: how keys of records are written, for tombstones; by default as values.
        tombstones: what a record without a value does.
        bad: what a record does that does not fit: it stops the ingest, or goes into `bad_table`.
        new_fields: what a field does that no column has.
        start: where a topic begins that was never read.
        lost: what records do that were deleted before they were read.
    """

    topic: str
    table: str
    format: str = "json"
    columns: dict[str, str | ColumnSource] = {}
    key: list[str] = []
    key_format: KeyFormat | None = None
    tombstones: Literal["delete", "ignore", "bad"] | None = None
    bad: Literal["stop", "table"] = "stop"
    bad_table: str | None = None
    new_fields: Literal["ignore", "refuse", "add"] = "ignore"
    start: Literal["earliest", "latest"] = "earliest"
    lost: Literal["stop", "continue"] = "stop"

    @property
    def on_tombstone(self) -> str:
        """What a record without a value does: a table with a key loses the row."""
        return self.tombstones or ("delete" if self.key else "bad")

    @property
    def written_keys(self) -> str:
        """How the keys of records are written."""
        return self.key_format or self.format

    @property
    def is_avro(self) -> bool:
        """Whether values or keys are written in Avro."""
        return "avro" in {self.format, self.key_format}

    def sources(self) -> dict[str, ColumnSource]:
        """Return where the named columns come from."""
        return {
            name: ColumnSource(field=source) if isinstance(source, str) else source
            for name, source in self.columns.items()
        }


class IngestMapping(Strict, frozen=True):
    """All that one ingest does; its offsets stand in the ledger under `name`."""

    name: str
    topics: list[TopicMapping]
    source: SourceMapping = SourceMapping()
    batch: BatchMapping = BatchMapping()

    def of(self, topic: str) -> TopicMapping:
        """Return the mapping of one of the topics."""
        return next(each for each in self.topics if each.topic == topic)


def read_mapping(path: Path) -> IngestMapping:
    """Return the mapping in a file; raises SettingsError with the place of what is wrong."""
    try:
        found = tomllib.loads(path.read_text())
    except OSError as problem:
        raise SettingsError(f"the mapping {path} cannot be read: {problem}") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SettingsError(f"the mapping {path} must be TOML: {problem}") from problem
    return mapping_of(found, str(path), path.absolute().parent)


def mapping_of(values: Any, name: str = "mapping", folder: Path | None = None) -> IngestMapping:
    """Return a mapping from its values; raises SettingsError as `read_mapping`.

    Paths in it are relative to `folder`.
    """
    try:
        made = msgspec.convert(values, IngestMapping)
    except msgspec.ValidationError as problem:
        raise SettingsError(f"{name}: {problem}. docs/ingest.md lists all keys") from problem
    for fault in faults_of(made):
        raise SettingsError(f"{name}: {fault}")
    return made if folder is None else based(made, folder)


def based(mapping: IngestMapping, folder: Path) -> IngestMapping:
    """Return a mapping whose paths are absolute."""
    names = ("client_config", "registry_login", "schemas")
    places = {
        name: str(folder / Path(path).expanduser())
        for name in names
        if (path := getattr(mapping.source, name)) is not None
    }
    source = msgspec.structs.replace(mapping.source, **places)
    return msgspec.structs.replace(mapping, source=source)


def faults_of(mapping: IngestMapping) -> list[str]:
    """Return what the parts of a mapping say against each other, the first fault first."""
    faults = []
    if NAME.fullmatch(mapping.name) is None:
        faults.append(
            f"name must be 1 to 100 of the characters A-Z a-z 0-9 . _ -, got {mapping.name!r}"
        )
    batch = mapping.batch
    if min(batch.rows, batch.megabytes) < 1 or not 0 < batch.seconds <= SECONDS_MAX:
        faults.append(
            "batch.rows and batch.megabytes must be 1 or more, and batch.seconds above 0 and at "
            f"most {SECONDS_MAX}"
        )
    if not mapping.topics:
        faults.append("topics must name one topic or more")
    faults += faults_of_source(mapping)
    names = [each.topic for each in mapping.topics]
    for topic in mapping.topics:
        where = f"topic {topic.topic}"
        if names.count(topic.topic) > 1:
            faults.append(f"{where} must be named once, got it {names.count(topic.topic)} times")
        faults += [f"{where}: {fault}" for fault in faults_of_topic(topic, mapping.source)]
    return faults


def faults_of_source(mapping: IngestMapping) -> list[str]:
    """Return what is wrong with the source of a mapping."""
    source = mapping.source
    named = [name for name in source.__struct_fields__ if getattr(source, name) is not None]
    faults = [f"source.{name} must not be empty" for name in named if not getattr(source, name)]
    has_avro = any(topic.is_avro for topic in mapping.topics)
    if {"registry", "schemas"}.issubset(named):
        faults.append("source must name a registry or a folder of schemas, not both")
    faults += [
        f"source.{name} is for avro, and no topic has format or key_format avro"
        for name in ("registry", "schemas")
        if name in named and not has_avro
    ]
    if "registry_login" in named and "registry" not in named:
        faults.append("source.registry_login needs source.registry")
    if source.registry and not source.registry.startswith(("http://", "https://")):
        faults.append(
            f"source.registry must begin with http:// or https://, got {source.registry!r}"
        )
    return faults


def faults_of_topic(topic: TopicMapping, source: SourceMapping) -> list[str]:
    """Return what is wrong with the mapping of a topic by itself."""
    faults = {
        f"topic must be 1 to 249 of the characters A-Z a-z 0-9 . _ -, got {topic.topic!r}": (
            TOPIC.fullmatch(topic.topic) is None
        ),
        "table must not be empty": not topic.table,
        f"format {topic.format} is not supported: give json or avro": (
            topic.format in REFUSED_FORMATS
        ),
        f"format must be json or avro, got {topic.format!r}": (
            topic.format not in {"json", "avro", *REFUSED_FORMATS}
        ),
        "avro needs source.registry or source.schemas": (
            topic.is_avro and not (source.registry or source.schemas)
        ),
        'bad = "table" and bad_table must be given together, or neither of them': (
            (topic.bad == "table") != (topic.bad_table is not None)
        ),
        f"bad_table must be another table than {topic.table}, got {topic.bad_table!r}": (
            topic.bad_table is not None and topic.bad_table.lower() in {"", topic.table.lower()}
        ),
        'key_format needs a key and tombstones = "delete"': (
            topic.key_format is not None and not (topic.key and topic.on_tombstone == "delete")
        ),
        'tombstones = "delete" needs a key': topic.tombstones == "delete" and not topic.key,
        "key_format text holds one column, and the key has several": (
            topic.written_keys == "text" and len(topic.key) > 1
        ),
    }
    found = [text for text, holds in faults.items() if holds]
    for name, given in topic.sources().items():
        found += [f"column {name} {fault}" for fault in faults_of_column(given)]
    small = [name.lower() for name in topic.columns]
    for what, names in (("column", [*topic.columns]), ("key column", topic.key)):
        lower = [name.lower() for name in names]
        found += [
            f"{what} {name} must be named once, in any case of letters"
            for name in names
            if lower.count(name.lower()) > 1
        ]
    if topic.columns and topic.new_fields != "add":
        lacking = [name for name in topic.key if name.lower() not in small]
        found += [f"key column {name} must be one of the columns" for name in lacking]
    return found


def faults_of_column(given: ColumnSource) -> list[str]:
    """Return what is wrong with the place of a column's values."""
    named = sum(part is not None for part in (given.field, given.record, given.value))
    faults = {
        "must have one of field, record and value": named != 1,
        "has a form, which needs a field": given.form is not None and given.field is None,
        f"must name a field, got {given.field!r}": given.field is not None
        and not (given.path and all(given.path)),
    }
    return [text for text, holds in faults.items() if holds]
