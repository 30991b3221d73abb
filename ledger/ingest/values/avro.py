"""Avro in the framing of Confluent's registry: a zero, the id of the schema in 4 bytes, the value.

Schemas come from the HTTP of a registry, or from a folder with a file for each id. They are
immutable, so each is asked for once.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import fastavro
import urllib3

from ledger.clock import Clock, SystemClock
from ledger.errors import LogUnavailableError, SettingsError
from ledger.ingest.values.avro_values import AvroTypes, Read

MAGIC: Final = 0
HEAD: Final = 5
ASK_S: Final = 10.0
FOUND: Final = 200
NOT_THERE: Final = 404
NO_SCHEMA: Final = 40403
"""The registry's own word for an id that it does not know; other servers answer 404 too."""

UNKNOWN_S: Final = 10.0
"""For so long an unknown id is not asked for again: a broken producer sends many of them."""

AvroSchemas = Callable[[int], str]
"""Returns the text of a schema by its id; raises LookupError for an unknown id."""


class FramedAvro:
    """Reads framed values; each schema is parsed once."""

    def __init__(self, schemas: AvroSchemas) -> None:
        self._schemas = schemas
        self._parsed: dict[int, Read] = {}

    def read(self, data: bytes) -> Any:
        """Return the value; raises ValueError for other bytes and for an unknown schema."""
        if len(data) < HEAD or data[0] != MAGIC:
            raise ValueError(
                "a value of Avro must begin with a zero and the id of its schema in 4 bytes"
            )
        number = int.from_bytes(data[1:HEAD])
        kind = self._parsed.get(number)
        if kind is None:
            kind = self._parsed[number] = self._parse(number)
        try:
            value, behind = kind(data, HEAD, 0)
        except IndexError as problem:
            raise ValueError(f"the value ends before all that schema {number} says") from problem
        except (ValueError, OverflowError) as problem:
            raise ValueError(f"the value does not fit schema {number}: {problem}") from problem
        if behind != len(data):
            raise ValueError(
                f"the value has {len(data) - behind} bytes behind what schema {number} says"
            )
        return value

    def _parse(self, number: int) -> Read:
        try:
            text = self._schemas(number)
            named: dict[str, Any] = {}
            parsed = fastavro.parse_schema(json.loads(text), named)
        except LookupError as problem:
            raise ValueError(f"there is no schema {number}: {problem}") from problem
        except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as problem:
            raise ValueError(f"schema {number} cannot be read: {problem!r}") from problem
        try:
            return AvroTypes(named).of(parsed)
        except ValueError as problem:
            raise ValueError(f"schema {number} cannot be read: {problem}") from problem


class SchemaFolder:
    """Schemas in a folder: `ID.avsc` has the schema of an id."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise SettingsError(f"source.schemas must be a folder, got {folder}")
        self._folder = folder

    def __call__(self, number: int) -> str:
        """Return the text of a schema; raises LookupError."""
        try:
            return (self._folder / f"{number}.avsc").read_text()
        except FileNotFoundError as problem:
            if self._folder.is_dir():
                raise LookupError(str(problem)) from problem
            raise self._unread(problem) from problem
        except OSError as problem:
            raise self._unread(problem) from problem

    def _unread(self, problem: OSError) -> LogUnavailableError:
        return LogUnavailableError(
            f"the schemas of {self._folder} cannot be read: {problem}. See whether the folder is "
            "there and may be read"
        )


class SchemaRegistry:
    """Schemas of a registry, over HTTP; `login` is user:password, "" = none."""

    def __init__(self, url: str, login: str = "", clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        # Until when ids are unknown.
        self._unknown: dict[int, float] = {}
        self._url = url.rstrip("/")
        headers = urllib3.make_headers(basic_auth=login) if login else {}
        self._pool = urllib3.PoolManager(headers=headers, timeout=ASK_S, retries=2)

    def __call__(self, number: int) -> str:
        """Return the text of a schema.

        Raises LookupError for an unknown id, ValueError for a schema that is not of Avro or that
        refers to others, and LogUnavailableError if the registry does not answer, or if what
        answers is no registry.
        """
        if self._clock.monotonic_s() < self._unknown.get(number, 0.0):
            raise LookupError(f"{self._url} did not know it a moment ago")
        where = f"{self._url}/schemas/ids/{number}"
        try:
            answer = self._pool.request("GET", where)
        except urllib3.exceptions.HTTPError as problem:
            raise LogUnavailableError(
                f"the schema registry does not answer at {where}: {problem}. See whether it runs"
            ) from problem
        found = object_in(answer.data)
        if answer.status == NOT_THERE and found.get("error_code") == NO_SCHEMA:
            self._unknown[number] = self._clock.monotonic_s() + UNKNOWN_S
            raise LookupError(f"{where} answers {NO_SCHEMA}")
        if answer.status != FOUND or not isinstance(found.get("schema"), str):
            raise LogUnavailableError(
                f"the schema registry answers {answer.status} and no schema at {where}; see its "
                "log, source.registry and source.registry_login"
            )
        kind = found.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise ValueError(f"schema {number} is of {kind}, and only AVRO is read")
        if found.get("references"):
            raise ValueError(f"schema {number} refers to other schemas, which are not read")
        return str(found["schema"])


def object_in(data: bytes) -> Mapping[str, Any]:
    """Return the fields of an object of JSON, none for anything else, such as a page of a proxy."""
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
