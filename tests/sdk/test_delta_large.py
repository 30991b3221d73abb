"""Delta versions whose metadata fits no single record."""

import json
import secrets
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.core.commands import Domain
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.limits import TEXT_CHARS_MAX
from ledger.delta.importer import import_delta
from ledger.errors import CommandInvalidError, LimitExceededError
from ledger.testing import InMemoryLedger
from tests.sdk.delta_logs import (
    PROTOCOL,
    Action,
    add,
    begin,
    info,
    metadata,
    schema,
    staged,
    write_log,
)

NAME = "t"


def domain(name: str, configuration: str) -> Action:
    fields = {"domain": name, "configuration": configuration, "removed": False}
    return {"domainMetadata": fields}


def test_domains_are_imported_at_any_length(ledger: Ledger, tmp_path: Path) -> None:
    large, many = json.dumps(list(range(600_000))), {f"d{n}": "é" * 3_000 for n in range(400)}
    write_log(
        tmp_path,
        begin(),
        [info(), domain("large", large), add("a")],
        [info(), *(domain(*item) for item in many.items())],
    )

    table = import_delta(ledger, tmp_path, NAME).table

    expected = [Domain(*item, removed=False) for item in sorted({**many, "large": large}.items())]
    assert ledger.reads().domains(table) == expected
    assert ledger.read(NAME).paths == ["a"]


def test_many_applications(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """The progress of any number of applications is imported, and goes on."""
    apps = {f"a streaming query of a long name, number {number}": 7 for number in range(30_000)}
    progress = [{"txn": {"appId": app, "version": version}} for app, version in apps.items()]
    write_log(tmp_path, begin(), [info(), *progress, add("a")])

    table = import_delta(ledger, tmp_path, NAME).table

    found = {each.app: each.version for each in ledger.reads().apps(table)}
    assert {app: each for app, each in found.items() if not app.startswith(IMPORT_APPS)} == apps
    assert len(list(staged(memory))) > 1
    again = ledger.append(NAME, ["b"], app=(next(iter(apps)), 7))
    assert again.position < ledger.reads().position()
    assert ledger.read(NAME).paths == ["a"]
    assert import_delta(ledger, tmp_path, NAME).versions == 0


def test_names_of_any_length(ledger: Ledger, tmp_path: Path) -> None:
    name = "é" * TEXT_CHARS_MAX
    progress = {"txn": {"appId": name, "version": 1}}
    write_log(tmp_path, begin(), [info(), progress, domain(name, "{}"), add("a")])

    table = import_delta(ledger, tmp_path, NAME).table

    assert ledger.reads().domains(table) == [Domain(name, "{}", removed=False)]
    found = ledger.reads().app(table, name)
    assert found is not None
    assert found.version == 1


@pytest.mark.parametrize(
    ("action", "what"),
    [
        ({"txn": {"appId": "a" * (TEXT_CHARS_MAX + 1), "version": 1}}, "got 150001: 'a+'"),
        (domain("d" * (TEXT_CHARS_MAX + 1), ""), "got 150001: 'd+'"),
    ],
)
def test_names_that_are_too_long(ledger: Ledger, tmp_path: Path, action: Action, what: str) -> None:
    write_log(tmp_path, begin(), [info(), action])

    told = f"version 1 of the Delta table at {tmp_path}: .*{what}"
    with pytest.raises(CommandInvalidError, match=told):
        import_delta(ledger, tmp_path, NAME)


WIDE = [(f"column_{n}", "string") for n in range(20_000)]
COMMENTS = {name: {"comment": "lorem ipsum dolor sit amet, " * 2} for name, _ in WIDE}
BEYOND = {name: {"comment": secrets.token_hex(500)} for name, _ in WIDE[:3_000]}


def test_a_schema_of_many_columns_is_imported(ledger: Ledger, tmp_path: Path) -> None:
    wide = schema(*WIDE, **COMMENTS)
    large = {"note": "lorem ipsum " * 100_000}
    write_log(tmp_path, [PROTOCOL, metadata(wide)], [metadata(wide, **large)], [info(), add("a")])

    import_delta(ledger, tmp_path, NAME)

    found = ledger.table(NAME).definition
    assert [column.name for column in found.columns] == [name for name, _ in WIDE]
    assert all("lorem" in column.metadata for column in found.columns)
    assert properties(found) == large
    assert ledger.read(NAME).paths == ["a"]


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (metadata(schema(*WIDE[:3_000], **BEYOND)), r"schema of 3000 columns .*shorten comments"),
        (
            metadata(schema(("a", "long"), ("b", "long"), b={"comment": secrets.token_hex(10**6)})),
            r"schema of 2 columns \(the largest is column 'b' with 20000\d\d bytes\), before",
        ),
        (
            metadata(short="1", a_long=secrets.token_hex(10**6)),
            r"the 2 properties \(the largest is key 'a.long' with 2000006 bytes\).* or remove",
        ),
    ],
)
def test_what_makes_a_definition_too_large_is_told_with_the_version_and_the_log(
    ledger: Ledger, tmp_path: Path, said: Action, what: str
) -> None:
    write_log(tmp_path, [PROTOCOL, said])

    told = f"version 0 of the Delta table at {tmp_path}: .*{what}"
    with pytest.raises(LimitExceededError, match=told):
        import_delta(ledger, tmp_path, NAME)
