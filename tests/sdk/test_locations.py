"""What the text of a location means: by its form alone, whatever a disk holds."""

from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.definitions.locations import as_stored, as_uri, in_one_spelling, is_one_place
from ledger.definitions.new_tables import warehouse_at
from ledger.errors import SettingsError
from ledger.testing import InMemoryLedger


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", ""),
        ("/", "/"),
        ("/x", "/x"),
        ("/x/", "/x"),
        ("//x///y/./z/", "/x/y/z"),
        ("/x/z/../y", "/x/y"),
        ("/x/my lake", "/x/my lake"),
        ("/x/my%20lake", "/x/my%20lake"),
        ("/x/100%", "/x/100%"),
        ("/x/a#b?c+d ü", "/x/a#b?c+d ü"),
        ("/x/file:/y", "/x/file:/y"),
        ("file:/x", "/x"),
        ("file:///x", "/x"),
        ("FILE://LocalHost/x/", "/x"),
        ("file:////x//y/./z", "/x/y/z"),
        ("file:/x/my lake", "/x/my lake"),
        ("file:/x/my%20lake", "/x/my lake"),
        ("file:///x/my%2520lake", "/x/my%20lake"),
        ("file:///x/a+b", "/x/a+b"),
        ("file:///x/100%25", "/x/100%"),
        ("file:///x/%c3%BC%23%3F", "/x/ü#?"),
        ("file:///x/ü", "/x/ü"),
        ("file:///x/a%2Fb", "/x/a/b"),
        ("file:///x//%ff/", "file:///x/%FF"),
        ("s3://bucket/a%20b/", "s3://bucket/a%20b"),
        ("s3a://bucket/a b#c", "s3a://bucket/a b#c"),
        ("hdfs://host:8020/x%20y/", "hdfs://host:8020/x%20y"),
        ("relative/t", "relative/t"),
        ("~/t", "~/t"),
        ("p=12:00", "p=12:00"),
    ],
)
def test_one_spelling(given: str, found: str) -> None:
    """A URI of `file:` is decoded once, and any other text is taken letter by letter."""
    assert in_one_spelling(given) == found
    assert in_one_spelling(found) == found
    assert as_stored(given) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("file:", "must be file:/ and an absolute path, got 'file:'"),
        ("file:x", "must be file:/ and an absolute path, got 'file:x'"),
        ("file://", "must be file:/ and an absolute path, got 'file://'"),
        ("file://localhost", "must be file:/ and an absolute path"),
        ("file://host/x", "must be of this host, got host 'host' in file://host/x"),
        ("file:///x?y", r"no query, got 'file:///x\?y': write \? as %3F"),
        ("file:/x#y", "no fragment, got 'file:/x#y': write # as %23"),
        ("file:/x/%2", "two hexadecimal digits, not %00, got '%2' in"),
        ("file:/x/%", "got '%' in"),
        ("file:/x/%zz", "got '%zz' in 'file:/x/%zz': write % as %25"),
        ("file:/x/%00", "got '%00' in"),
        ("/x/\0", "must have no zero byte"),
    ],
)
def test_a_wrong_uri_is_refused_by_name_everywhere(ledger: Ledger, given: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ledger.create_table("t", [("id", "int")], location=given)
    row = ledger.create_table("t", [("id", "int")], location="/x")
    with pytest.raises(ValueError, match=said):
        ledger.alter_table(row, location=given)
    with pytest.raises(ValueError, match=said):
        ledger.alter_table(row, lambda found: found._replace(location=given))
    with pytest.raises(SettingsError, match=said):
        warehouse_at(given)
    assert as_stored(given) == given


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("/x/my lake", "file:///x/my%20lake"),
        ("/x/100%#?", "file:///x/100%25%23%3F"),
        ("file:///x/%FF", "file:///x/%FF"),
        ("file:/x/my%20lake", "file:///x/my%20lake"),
        ("relative/t", "relative/t"),
        ("s3://bucket/a%20b ü", "s3://bucket/a%2520b%20%C3%BC"),
        ("abfs://c@a.host/x y", "abfs://c@a.host/x%20y"),
    ],
)
def test_other_programs_get_a_uri_with_escapes(location: str, uri: str) -> None:
    assert as_uri(location) == uri


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("/x/a b", "file:///x/a%20b/", True),
        ("/x/a%20b", "/x/a b", False),
        ("s3://b/t/", "s3a://B/t", True),
        ("s3://b/a%20b", "s3://b/a b", False),
        ("gs://b/t", "s3://b/t", False),
    ],
)
def test_one_place(one: str, other: str, is_one: bool) -> None:  # noqa: FBT001 - a case
    """Two spellings of one folder are known by their form."""
    assert is_one_place(one, other) is is_one


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("/w/a%20b/", "/w/a%20b"),
        ("file:///w/a%20b", "/w/a b"),
        ("s3://bucket/w/", "s3://bucket/w"),
        ("", ""),
    ],
)
def test_a_warehouse_is_read_as_a_location_is(given: str, found: str) -> None:
    assert warehouse_at(given) == found
    assert warehouse_at("w") == str(Path.cwd() / "w")
    with pytest.raises(SettingsError, match=r"must be a path without ~, got '~/w'"):
        warehouse_at("~/w")


def test_a_location_is_kept_in_one_spelling(memory: InMemoryLedger) -> None:
    ledger = memory.connect(warehouse="file:///w/my%20lake")
    assert ledger.create_table("m", [("id", "int")]).definition.location.startswith("/w/my lake/")
    row = ledger.create_table("t", [("id", "int")], location="file:///x/my%20lake/")
    assert row.definition.location == "/x/my lake"
    ledger.alter_table(row, location="/x//my lake/.")
    assert ledger.table("t").definition.location == "/x/my lake"
