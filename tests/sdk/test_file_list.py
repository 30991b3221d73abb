"""File lists: what a commit carries comes back, and what is none is refused, never half read."""

import json
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.conflicts.footprints import packed
from ledger.core.events.parts import CommittedPart
from ledger.core.limits import LIST_BYTES_MAX
from ledger.core.state.txns import TxnInFlight
from ledger.errors import FileListError
from ledger.log.file_extras import STORAGES, DeletionVector, Tags
from ledger.log.file_list import (
    EMPTY,
    PACK_FROM_BYTES,
    PACKED,
    PLAIN,
    AddFile,
    FileList,
    RemoveFile,
    chunks_of,
    listed,
    pack,
    text_of,
    unpack,
    unpack_chunks,
    with_extras,
)
from tests.core.parts import footprint

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PARTITIONS = st.lists(st.none() | TEXTS, max_size=3).map(tuple)
NUMBERS = st.integers(0, 2**63 - 1)
VECTORS = st.builds(
    DeletionVector, st.sampled_from(STORAGES), TEXTS, st.none() | NUMBERS, NUMBERS, NUMBERS
)
EXTRAS = {
    "vector": st.just(""),
    "deletion_vector": st.none() | VECTORS,
    "tags": st.dictionaries(TEXTS, st.none() | TEXTS, max_size=2).map(Tags),
    "base_row_id": st.none() | NUMBERS,
    "row_version": st.none() | NUMBERS,
}
ADDS = st.builds(
    AddFile,
    TEXTS.filter(bool),
    PARTITIONS,
    NUMBERS,
    NUMBERS,
    st.booleans(),
    TEXTS,
    **EXTRAS,
).map(with_extras)
REMOVES = st.builds(
    RemoveFile, TEXTS.filter(bool), st.none() | PARTITIONS, st.booleans(), **EXTRAS
).map(with_extras)


@given(st.lists(ADDS, max_size=20), st.lists(REMOVES, max_size=20))
def test_comes_back(adds: list[AddFile], removes: list[RemoveFile]) -> None:
    """Any list of files comes back from its opaque form as it was."""
    found = unpack(pack(FileList(adds, removes)))

    assert (list(found.adds), list(found.removes)) == (adds, removes)


@pytest.mark.parametrize(
    ("files", "form"),
    [(EMPTY, b""), (FileList([AddFile("a")]), PLAIN), (FileList([AddFile("a" * 999)]), PACKED)],
    ids=["empty", "short", "long"],
)
def test_form(files: FileList, form: bytes) -> None:
    """An empty list takes no bytes, a long one is packed."""
    assert pack(files)[:1] == form
    assert len(pack(files)) < PACK_FROM_BYTES


def plain(*lists: object) -> bytes:
    """Return lists in the plain form."""
    return PLAIN + json.dumps(lists).encode()


def bomb() -> bytes:
    """Return a few bytes that claim to hold more than any list may."""
    packer = zlib.compressobj(9)
    zeros = b" " * (1 << 20)
    parts = [packer.compress(zeros) for _ in range((LIST_BYTES_MAX >> 20) + 1)]
    return PACKED + b"".join(parts) + packer.flush()


WHOLE = pack(FileList([AddFile("a" * 999)]))


@pytest.mark.parametrize(
    "data",
    [
        b"?",
        b"j",
        b"j{}",
        b"j[[]]",
        b"j\xff",
        PLAIN + b"[" * 100_000,
        b"znot packed",
        WHOLE[:-3],
        bomb(),
        plain([["a"]], []),
        plain([["", []]], []),
        plain([["a\0b", []]], []),
        plain([["\ud800", []]], []),
        plain([[7, []]], []),
        plain([["a", [1]]], []),
        plain([["a", [], -1]], []),
        plain([["a", [], 1.5]], []),
        plain([["a", [], True]], []),
        plain([["a", [], 1, 2**63]], []),
        plain([["a", [], 1, 1, True, {}]], []),
        plain([["a", [], 1, 1, True, "", None]], []),
        plain([["a", [], 1, 1, True, "", "", "more"]], []),
        plain([], [["a", None, True, None]]),
        plain([], [["a", [], True, "v\0"]]),
    ],
)
def test_refused(data: bytes) -> None:
    """Bytes that are no file list, or name what no store could keep, are refused as a whole."""
    with pytest.raises(FileListError, match=f"{len(data)} bytes are no file list"):
        unpack(data)


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are a list or are refused; nothing else happens."""
    for form in (data, PLAIN + data, PACKED + data):
        with suppress(FileListError):
            assert isinstance(unpack(form), FileList)


def test_listed() -> None:
    """A footprint with a list says what a decision asks of it: partitions, hashes, data change."""
    files = FileList([AddFile("a", ("1",)), AddFile("b", ("1",))], [RemoveFile("c", ("2",))])

    said = listed(footprint(), files)
    assert (said.adds, said.removes_in) == (['["1"]'], ['["2"]'])
    assert said.removes == packed("c")
    assert said.data_change
    assert unpack(said.files) == files


def test_listed_without_partitions() -> None:
    """Where the partition of one removed file is not known, none is said."""
    removes = [RemoveFile("c", ("2",), data_change=False), RemoveFile("d", data_change=False)]

    said = listed(footprint(), FileList((), removes))
    assert (said.removes_in, said.data_change) == ([], False)


def test_chunks() -> None:
    """The chunks that a txn staged come before the one of its commit, each list in their order."""
    chunks = [listed(footprint(), FileList([AddFile(path)], [RemoveFile(path)])) for path in "abc"]
    txn = TxnInFlight(1, "default", 4, 1, 5, 0, staged={7: chunks[:2]})
    part = CommittedPart(7, 0, 1, 1, 0, (), footprint=chunks[2])

    found = unpack_chunks(chunks_of(part, txn))
    assert [file.path for file in found.adds] == ["a", "b", "c"]
    assert [file.path for file in found.removes] == ["a", "b", "c"]
    assert chunks_of(part, None) == (chunks[2],)
    assert chunks_of(part._replace(footprint=None), txn) == ()


@pytest.mark.parametrize("adds", [[], [AddFile("a" * 999)]])
def test_info(adds: list[AddFile]) -> None:
    """What a writer recorded comes back, whole or in pieces; without any the form has none."""
    files = FileList(adds, [RemoveFile("b")])
    said = files._replace(info='{"userName":"é"}')
    pieces = [FileList(info=said.info[:5]), said._replace(info=said.info[5:])]
    chunks = [footprint()._replace(files=pack(each)) for each in pieces]

    assert unpack(pack(said)) == said
    assert unpack_chunks(chunks) == said
    assert pack(EMPTY) == b""
    assert len(json.loads(text_of(pack(files)))) == len(["adds", "removes"])


@pytest.mark.parametrize("rest", [[1], ["a", "b"], [None]])
def test_no_info(rest: list[object]) -> None:
    """What stands behind the files and is no text is refused."""
    with pytest.raises(FileListError, match="only one text"):
        unpack(PLAIN + json.dumps([[], [], *rest]).encode())
