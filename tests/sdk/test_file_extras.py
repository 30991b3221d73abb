"""Deletion vectors, tags and row ids: a file is read with what it was added with."""

from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.events.events import TxnCommitted
from ledger.log.lossy import LossyLog
from ledger.log.wire.file_extras import DeletionVector, Tags
from ledger.log.wire.file_list import AddFile, RemoveFile, unpack
from ledger.reads.port import FileRow
from ledger.reads.remote.http_form import from_json, to_json
from tests.sdk.told import bodies

VECTOR = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
TAGS = {"INSERTION_TIME": "1", "OPTIMIZE_TARGET_SIZE": None}
WHOLE = AddFile("a", (), 1, 2, deletion_vector=VECTOR, tags=TAGS, base_row_id=0, row_version=3)


def test_file_is_read_as_it_was_added(ledger: Ledger) -> None:
    ledger.create_table("t")
    ledger.append("t", [WHOLE, "b"])

    rows = list(ledger.reads().files(1))

    first, second = rows
    assert (first.vector, first.deletion_vector) == ("uab^-aqEH.-t@S}K{vb[*k^@4", VECTOR)
    assert (first.tags, first.base_row_id, first.row_version) == (TAGS, 0, 3)
    assert second[-5:] == (None, {}, None, None, b"")
    again = from_json(list[FileRow], to_json(rows))
    assert again == rows
    assert set(again) == set(rows)


def test_the_removal_of_a_file_has_the_same_fields(ledger: Ledger, log: LossyLog) -> None:
    ledger.create_table("t")
    ledger.append("t", [WHOLE])
    with ledger.transaction() as txn:
        txn.remove_files("t", list(txn.read("t")))
    ledger.append("t", [WHOLE])
    with ledger.transaction() as txn:
        txn.remove_files("t", [WHOLE])

    expected = RemoveFile("a", (), *WHOLE[4:5], VECTOR.id, VECTOR, Tags(TAGS), 0, 3)
    for body in (bodies(log, TxnCommitted)[each] for each in (-3, -1)):
        assert body.parts[0].footprint is not None
        assert unpack(body.parts[0].footprint.files).removes == [expected]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("vector", "u1", "must be the id of its deletion vector.* got 'u1'"),
        ("deletion_vector", "u1", "must be a DeletionVector, got 'u1'"),
        ("deletion_vector", VECTOR._replace(storage="x"), "one of u, i, p, got 'x'"),
        ("deletion_vector", VECTOR._replace(place="\0"), "no zero byte"),
        ("deletion_vector", VECTOR._replace(size=-1), "got -1"),
        ("deletion_vector", VECTOR._replace(offset=2**63), "got 9223372036854775808"),
        ("deletion_vector", ("u", "a", 1, 1, None), "whole number, got None"),
        ("tags", [("a", "b")], "tags must be a mapping of texts"),
        ("tags", {"a": 1}, "tag a must be a text, got 1"),
        ("tags", {1: "a"}, "the name of a tag must be a text, got 1"),
        ("base_row_id", True, "base_row_id must be a whole number, got True"),
        ("row_version", -1, "row_version must be 0 to"),
    ],
)
def test_refused(ledger: Ledger, field: str, value: Any, said: str) -> None:
    """A value that no reader could use is refused where it is given."""
    ledger.create_table("t")

    with pytest.raises((ValueError, TypeError), match=said):
        ledger.append("t", [WHOLE._replace(**{field: value})])
