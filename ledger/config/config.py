"""Configuration: the settings of a process, and where each of them comes from.

The first of these counts: a flag, the environment (`LAKELEDGER_LEDGER`, for a section
`LAKELEDGER_SEQUENCER__LEASE_S`), `lakeledger.toml` in the working directory, `config.toml` in the
user's configuration folder, the default. `LAKELEDGER_CONFIG` names one file instead of both. An
unknown name is an error, wherever it stands.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ledger.config.address import FEEDER_LOGIN, running_here
from ledger.config.client_config import client_settings
from ledger.config.layers import PREFIX, PROJECT_FILE, Layer, file_layer, files, split, variables
from ledger.config.settings import (
    CATALOG_DEFAULT,
    LEASE_MAX_S,
    LEASE_MIN_S,
    CacheSettings,
    FeederSettings,
    FlusherSettings,
    FollowerSettings,
    IcebergSettings,
    IngestSettings,
    LogSettings,
    NotifierSettings,
    PublisherSettings,
    SequencerSettings,
    WebSettings,
)
from ledger.config.values import fitted
from ledger.errors import SettingsError

# A number is a duration, a size or a count: above 0, unless another bound is given here.
LEAST: Final = {
    "lease_s": LEASE_MIN_S,
    "sequencer.lease_s": LEASE_MIN_S,
    "sequencer.jitter_s": 0,
    "sequencer.gather_s": 0,
    "cache.max_wait_ms": 0,
    "feeder.trigger_ms": 0,
    "publisher.retention_h": 0,
    # A second, for tests of a ledger of one's own.
    "log.keep_days": 1e-5,
}
LEAST_OF: Final = {int: 1, float: 0.001}
MOST: Final = {"lease_s": LEASE_MAX_S, "log.keep_days": 10_000}
MOST_OF: Final = {int: 2**48, float: 365 * 24 * 3600}
DEFAULT: Final = "default"
FOLDERS: Final = frozenset({"store", "home", "keys"})
"""The folders that may begin with `~`, and that must not be empty."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting: the shared ones, and a section for each role.

    Attributes:
        bootstrap: Kafka's host:port.
        ledger: the ledger's name.
        catalog: the first catalog of a new ledger.
        store: the folder of the rows; the follower writes them, others of this host read them.
        reads_url: where a follower of another host answers HTTP, in the place of `store`.
        publisher_url: where the publisher answers HTTP, for `lakeledger status`.
        iceberg_url: where the Iceberg catalog answers HTTP, for `lakeledger status`.
        home: where ledgers of this machine keep their data.
        warehouse: the folder, or the URI, below which new tables without a location lie.
        keys: the folder of the keys of encrypted rows in the log, outside the log and the tables.
        publish: how new tables that clients here make are published, if they do not say: `delta`.
        lease_s: how long sessions of clients here may be silent; by default the ledger's lease.
        client_config: a file of settings for librdkafka, such as the login; see `client_config`.
        token_file: a file with the token that clients here show to HTTP servers.
        ca_file: the certificates, in PEM, that clients here trust besides the system's.
        trace: the URL of an OTLP collector for traces of commands, such as http://host:4318.
    """

    bootstrap: str | None = None
    ledger: str = "lake"
    catalog: str = CATALOG_DEFAULT
    store: Path | None = None
    reads_url: str | None = None
    publisher_url: str | None = None
    iceberg_url: str | None = None
    home: Path | None = None
    warehouse: str | None = None
    keys: Path | None = None
    publish: Literal["delta"] | None = None
    lease_s: float | None = None
    client_config: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    trace: str | None = None
    sequencer: SequencerSettings = field(default_factory=SequencerSettings)
    follower: FollowerSettings = field(default_factory=FollowerSettings)
    feeder: FeederSettings = field(default_factory=FeederSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    publisher: PublisherSettings = field(default_factory=PublisherSettings)
    notifier: NotifierSettings = field(default_factory=NotifierSettings)
    iceberg: IcebergSettings = field(default_factory=IcebergSettings)
    flusher: FlusherSettings = field(default_factory=FlusherSettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    log: LogSettings = field(default_factory=LogSettings)
    web: WebSettings = field(default_factory=WebSettings)

    def client(self) -> Mapping[str, str]:
        """Return the settings of Kafka's client; raises SettingsError if they cannot be read.

        Without `client_config` a secured ledger of this machine at `bootstrap` has its own.
        """
        return client_settings(self.client_config or self._own_client())

    def feeder_client(self) -> Mapping[str, str]:
        """Return the settings of the Kafka client of Spark's JVM; raises as `client`."""
        file = self.feeder.client_config
        if file is None and (own := self._own_client()) is not None:
            file = own.parent / FEEDER_LOGIN
        return client_settings(file, "feeder.client_config")

    def _own_client(self) -> Path | None:
        """Return the login of the secured ledger of this machine at `bootstrap`."""
        if self.client_config is not None or self.bootstrap is None:
            return None
        here = running_here(None).up
        return next((each.client_config for each in here if each.bootstrap == self.bootstrap), None)


class Loaded(NamedTuple):
    """The settings, and the origin of each by its dotted name."""

    settings: Settings
    origins: Mapping[str, str]

    def values(self) -> dict[str, Any]:
        """Return every setting by its dotted name."""
        return {name: value_of(self.settings, name) for name in self.origins}

    def given(self, name: str) -> Any:
        """Return a setting that was given, None for a setting left to its default."""
        return None if self.origins[name] == DEFAULT else value_of(self.settings, name)

    def required(self, name: str) -> Any:
        """Return a setting that has no default; raises SettingsError if it was not given."""
        found = value_of(self.settings, name)
        if found is None:
            raise SettingsError(
                f"{name} is not set. Give --{name.replace('_', '-')}, set {PREFIX}{name.upper()}, "
                f"or write {name} = ... into {PROJECT_FILE}"
            )
        return found


def load(flags: Mapping[str, Any] | None = None, overrides: Sequence[str] = ()) -> Loaded:
    """Return the settings of this process; `flags` that are None were not given.

    `overrides` are `name=value`, as after `--set`. Raises SettingsError for a name that no setting
    has, a value that does not fit, and a file that cannot be read.
    """
    given = {name: each for name, each in (flags or {}).items() if each is not None}
    layers = [
        Layer("flag", given | dict(map(split, overrides))),
        Layer("environment", variables()),
        *map(file_layer, files()),
    ]
    for layer in layers:
        check_names(layer)
    values = {name: each for layer in reversed(layers) for name, each in layer.values.items()}
    origins = {name: origin_of(name, layers) for name in kinds()}
    return Loaded(checked(values, origins), origins)


@cache
def kinds() -> Mapping[str, Any]:
    """Return the kind of each setting by its dotted name."""
    return {
        name: kind for each in fields(Settings) for name, kind in dotted_names(each.name, each.type)
    }


def dotted_names(name: str, kind: Any) -> list[tuple[str, Any]]:
    """Return the dotted name of a setting with its kind; a section gives one for each part."""
    if is_dataclass(kind):
        return [(f"{name}.{part.name}", part.type) for part in fields(kind)]
    return [(name, kind)]


def check_names(layer: Layer) -> None:
    """Raise SettingsError for a name that no setting has."""
    known = kinds()
    for name in layer.values:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - for this error only

            near = get_close_matches(name, known, 1)
            meant = f"; is {near[0]} meant?" if near else "."
            raise SettingsError(
                f"there is no setting {name} ({layer.origin}){meant} "
                "`lakeledger config show` lists all of them"
            )


def origin_of(name: str, layers: Sequence[Layer]) -> str:
    """Return where a setting comes from."""
    return next((layer.origin for layer in layers if name in layer.values), DEFAULT)


def checked(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    """Return the settings; raises SettingsError for a value that does not fit, with its origin."""
    settings = Settings(**nested({name: valid(name, values[name], origins) for name in values}))
    for name, origin in origins.items():
        check_bounds(name, value_of(settings, name), origin, given=values.get(name))
    check_beats(settings.sequencer)
    return settings


def valid(name: str, value: Any, origins: Mapping[str, str]) -> Any:
    """Return a value as its setting has it; raises SettingsError with its origin."""
    try:
        found = fitted(kinds()[name], value)
        return expanded(value, found) if name in FOLDERS else found
    except ValueError as problem:
        raise SettingsError(f"{name} is {value!r} ({origins[name]}): {problem}") from problem


def expanded(given: Any, path: Path) -> Path:
    """Return a folder as clients look for it, which know `~` for the user's home."""
    if given == "":
        raise ValueError("must not be empty; write . for the working directory")
    try:
        return path.expanduser()
    except RuntimeError as problem:
        raise ValueError(f"{problem}; give a path without ~") from problem


def check_beats(sequencer: SequencerSettings) -> None:
    """Raise SettingsError for beats so rare that every standby would treat its leader as dead."""
    if sequencer.beat_s >= sequencer.suspect_s:
        raise SettingsError(
            f"sequencer.beat_s is {sequencer.beat_s} and sequencer.suspect_s {sequencer.suspect_s}:"
            " a leader must beat several times before a standby treats it as dead. Lower the first "
            "or raise the second"
        )


def check_bounds(name: str, value: Any, origin: str, *, given: Any) -> None:
    """Raise SettingsError for a number that its setting cannot have, with its bounds."""
    if type(value) not in MOST_OF:
        return
    kind = type(value)
    least, most = LEAST.get(name, LEAST_OF[kind]), MOST.get(name, MOST_OF[kind])
    # True is a number for Python.
    if isinstance(given, bool) or not least <= value <= most:
        said = str(given).lower() if isinstance(given, bool) else value
        raise SettingsError(f"{name} is {said} ({origin}); give a number from {least} to {most}")


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as the fields of `Settings`: a section is one field."""
    sections: dict[str, Any] = {
        each.name: each.type for each in fields(Settings) if is_dataclass(each.type)
    }
    parts: dict[str, dict[str, Any]] = {section: {} for section in sections}
    found: dict[str, Any] = {}
    for name, value in values.items():
        section, _, part = name.rpartition(".")
        (parts[section] if section else found)[part] = value
    return found | {section: sections[section](**parts[section]) for section in sections}


def value_of(settings: Settings, name: str) -> Any:
    """Return a setting of a dotted name."""
    section, _, part = name.rpartition(".")
    return getattr(getattr(settings, section) if section else settings, part)


def environment() -> Mapping[str, str]:
    """Return the environment, completed by the settings that say where a ledger is.

    Clients look there after their own arguments.
    """
    loaded = load()
    found = {
        PREFIX + name.upper(): str(value)
        for name, value in loaded.values().items()
        if "." not in name and loaded.origins[name] != DEFAULT
    }
    return {**os.environ, **found}
