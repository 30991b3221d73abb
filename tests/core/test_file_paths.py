"""Paths of data files: which spellings name one file, and which do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.conflicts.footprints import path_hash
from ledger.core.partitions.file_paths import file_key, path_key

TABLE = "/lake/all flüge"


@pytest.mark.parametrize(
    ("spellings", "key"),
    [
        (["a", "./a", ".//a", "x/../a", "file:/lake/all%20fl%C3%BCge/a", f"{TABLE}/a"], "a"),
        (
            ["file:///lake/all flüge/a", f"FILE://localhost{TABLE}//./a", "/lake/x/../all flüge/a"],
            "a",
        ),
        (["p=New%20York/a", "p=New York/a", "p=New%20York//a", "p=N%65w York/./a"], "p=New York/a"),
        (["f%c3%bcr", "f%C3%BCr", "für"], "für"),
        (["p=a%253Ab/a"], "p=a%3Ab/a"),
        (["p=12%3A00/a", "p=12:00/a"], "p=12:00/a"),
        (["file:/other/a", "file:///other/a", "/other//a"], "/other/a"),
        (["s3://Bucket/t//a", "S3://bucket/t/./a"], "s3://bucket/t/a"),
        (["50%", "50%/"], "50%"),
        (["../a"], "../a"),
        ([f"{TABLE}2/a"], f"{TABLE}2/a"),
        (["...", "./..."], "..."),
    ],
)
def test_every_spelling_of_a_file_has_one_key(spellings: list[str], key: str) -> None:
    assert {file_key(spelling, TABLE) for spelling in spellings} == {key}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a%2520b", "a%20b"),
        ("a", "A"),
        ("x/a", "a"),
        ("s3://b/a", "/a"),
        ("file://host/lake/a", "file:///lake/a"),
        ("%FF", "%FE"),
    ],
)
def test_different_files_have_different_keys(one: str, other: str) -> None:
    assert file_key(one, TABLE) != file_key(other, TABLE)


SEGMENTS = st.text("aA%2:=. é", min_size=1, max_size=5).filter(lambda each: each not in (".", ".."))


@given(st.lists(SEGMENTS, min_size=1, max_size=4), st.data())
def test_respelled(segments: list[str], data: st.DataObject) -> None:
    """However the segments of a path are escaped and joined, the key stays the path itself."""
    path = "/".join(segments)
    escaped = "/".join(map(data.draw(st.sampled_from([escaped_all, escaped_some])), segments))
    joint = data.draw(st.sampled_from(["/", "//", "/./", "/x/../"]))
    start = data.draw(st.sampled_from(["", "./", "file:///lake/t/", "/lake/t/", "file:/lake//t/"]))

    assert file_key(start + escaped.replace("/", joint), "/lake/t") == path


def escaped_all(segment: str) -> str:
    return "".join(f"%{byte:02x}" for byte in segment.encode())


def escaped_some(segment: str) -> str:
    """Return a segment with those letters escaped that a URI gives a meaning."""
    return segment.replace("%", "%25").replace(":", "%3A").replace(" ", "%20")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("p=a%20b/./x", "p=a%20b/x"),
        ("file:///lake/t/p=a%20b//x", "p=a%20b/x"),
        ("/lake/t/x", "x"),
        ("/lake/t2/x", "/lake/t2/x"),
        ("s3://b/t//x", "s3://b/t/x"),
        ("p=12:00/x", "p=12:00/x"),
    ],
)
def test_in_a_path_of_the_ledger_an_escape_stands_for_itself(path: str, key: str) -> None:
    assert path_key(path, "file:///lake/t/") == key


@pytest.mark.parametrize(
    ("one", "other"),
    [("x//a", "x/./a"), ("p=a%20b", "p=a b"), ("file:/x/a", "file:///x/a"), ("a%FF", "./a%ff")],
)
def test_one_hash(one: str, other: str) -> None:
    """A decision knows a file by one hash: whoever removes it under two spellings conflicts."""
    assert path_hash(one) == path_hash(other)
    assert path_hash("a%FF") != path_hash("a%FE")
