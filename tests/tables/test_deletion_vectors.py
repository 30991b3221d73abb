"""Deletion vectors in Delta's format, in the log and in files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.files.deletion_vectors import DamagedVectorError, deleted_rows, kept, path_of
from ledger.files.storage import storage_at
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.inline_vectors import decoded, encoded
from tests.tables.files import inline_vector, stored_vector

# The example of Delta's protocol has the early form, the one of Delta's kernel the later form.
PUBLISHED = DeletionVector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)
FAR = 1 << 33
LATER = DeletionVector("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 44, 6)


@pytest.mark.parametrize("vector", [PUBLISHED, LATER])
def test_the_published_vectors(vector: DeletionVector) -> None:
    """The examples in Delta's documents have the rows that these name."""
    found = deleted_rows(storage_at("/nowhere"), vector)
    assert list(found) == [3, 4, 7, 11, 18, 29]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("ab^-aqEH.-t@S}K{vb[*k^", "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"),
        ("^-aqEH.-t@S}K{vb[*k^", "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"),
    ],
)
def test_the_name_of_a_vector_is_encoded_behind_a_prefix(place: str, path: str) -> None:
    assert path_of(DeletionVector("u", place, 1, 40, 6)) == path


@given(st.sets(st.integers(0, 200) | st.integers(FAR, FAR + 100)))
def test_a_vector_in_the_log_is_read_again_with_numbers_beyond_32_bits_too(rows: set[int]) -> None:
    assert set(deleted_rows(storage_at("/nowhere"), inline_vector(sorted(rows)))) == rows


@pytest.mark.parametrize("prefix", ["", "ab"])
def test_a_vector_in_a_file(tmp_path: Path, prefix: str) -> None:
    """A vector lies behind another one, in a file that is named relatively or absolutely."""
    storage = storage_at(str(tmp_path))
    vector = stored_vector(tmp_path, [0, 5, FAR], prefix)
    absolute = vector._replace(storage="p", place=f"file://{tmp_path}/{path_of(vector)}")
    for each in (vector, absolute):
        assert list(deleted_rows(storage, each)) == [0, 5, FAR]


@pytest.mark.parametrize("at", [0, 1, 5, 30, -1])
def test_a_damaged_byte_is_noticed(tmp_path: Path, at: int) -> None:
    vector = stored_vector(tmp_path, [0, 5])
    file = tmp_path / path_of(vector)
    data = bytearray(file.read_bytes())
    data[at if at <= 0 else (vector.offset or 0) + at - 1] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(DamagedVectorError, match="deleted rows would come back"):
        deleted_rows(storage_at(str(tmp_path)), vector)


@pytest.mark.parametrize(
    "vector",
    [
        PUBLISHED._replace(cardinality=5),
        PUBLISHED._replace(size=50),
        PUBLISHED._replace(place=PUBLISHED.place[:-5]),
        PUBLISHED._replace(place="~~~~~"),
        PUBLISHED._replace(place="", size=0),
        PUBLISHED._replace(place=encoded(b"\1\2\3\4 no bitmap at all"), size=21),
        PUBLISHED._replace(storage="x"),
        DeletionVector("u", "short", 1, 40, 6),
    ],
    ids=str,
)
def test_a_wrong_descriptor_is_noticed(vector: DeletionVector) -> None:
    with pytest.raises(DamagedVectorError):
        deleted_rows(storage_at("/nowhere"), vector)


@given(st.binary(max_size=40))
def test_bytes_come_back_from_their_text_filled_up_to_whole_words(data: bytes) -> None:
    assert decoded(encoded(data)) == data + bytes(-len(data) % 4)


def test_the_mask_of_some_rows_of_a_file_begins_at_any_row_number() -> None:
    deleted = deleted_rows(storage_at("/nowhere"), inline_vector([0, 3, 4]))
    assert kept(deleted, 0, 4).to_pylist() == [False, True, True, False]
    assert kept(deleted, 4, 2).to_pylist() == [False, True]
    assert kept(deleted, 4, 0).to_pylist() == []
