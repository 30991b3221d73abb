"""File lists: what a commit carries comes back, and what is none is refused, never half read."""

import json
import struct
import zlib
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.conflicts.footprints import packed
from ledger.core.events.parts import CommittedPart
from ledger.core.limits import LIST_BYTES_MAX
from ledger.core.state.txns import TxnInFlight
from ledger.errors import FileListError
from ledger.log.wire import file_list_avro
from ledger.log.wire.avro_rows import row_writer
from ledger.log.wire.file_extras import BLOCK, STORAGES, DeletionVector, Tags
from ledger.log.wire.file_list import (
    EMPTY,
    PACKED,
    PLAIN,
    AddFile,
    FileList,
    RemoveFile,
    chunks_of,
    listed,
    pack,
    unpack,
    unpack_chunks,
    with_extras,
)
from ledger.log.wire.file_list_avro import DEFLATE_FROM_BYTES, HEADER
from ledger.log.wire.published_schemas import schema_ids, schema_text
from tests.core.parts import footprint

HEADS = [
    HEADER.pack(codec, schema_ids()[name])
    for name in ("FileList", "FileList.2")
    for codec in (file_list_avro.PLAIN, file_list_avro.DEFLATED)
]
PLAIN_LIST, DEFLATED_LIST = HEADS[:2]

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
FIELDS = (PARTITIONS, NUMBERS, NUMBERS, st.booleans(), TEXTS)
FILES = st.builds(AddFile, TEXTS.filter(bool), *FIELDS, **EXTRAS, rows=st.just(b""))
BLOCKS = st.builds(AddFile, TEXTS.map(BLOCK.__add__), *FIELDS, **EXTRAS, rows=st.binary(min_size=1))
ADDS = (FILES | BLOCKS).map(with_extras)
REMOVES = st.builds(
    RemoveFile, TEXTS.filter(bool), st.none() | PARTITIONS, st.booleans(), **EXTRAS
).map(with_extras)


# Marks are beside the packed list, in the footprint.
LISTS = st.builds(
    FileList,
    st.lists(ADDS, max_size=20),
    st.lists(REMOVES, max_size=20),
    st.just("") | TEXTS,
    st.just(()),
    st.just(frozenset()),
)
OLD = Path(__file__).with_name("file_lists_of_the_first_form.txt")


@given(LISTS)
def test_any_list_of_files_comes_back_from_its_opaque_form_as_it_was(files: FileList) -> None:
    assert unpack(pack(files)) == files


@given(LISTS)
def test_any_avro_library_reads_the_form_with_the_published_schema(files: FileList) -> None:
    data = pack(files)
    name = "FileList.2" if any(add.rows for add in files.adds) else "FileList"
    schema = parse_schema(json.loads(schema_text(name)))
    if not data:
        return
    codec, number = struct.unpack(">BI", data[:5])
    body = zlib.decompress(data[5:], -15) if codec else data[5:]
    found: Any = schemaless_reader(BytesIO(body), schema, None)
    written = BytesIO()
    schemaless_writer(written, schema, found)

    assert number == schema_ids()[name]
    assert codec == (len(body) >= DEFLATE_FROM_BYTES)
    assert written.getvalue() == body
    assert [(each["path"], each["partition"], each["stats"]) for each in found["adds"]] == [
        (add.path, list(add.partition), add.stats) for add in files.adds
    ]
    assert [(each.get("extras") or {}).get("row_version") for each in found["removes"]] == [
        remove.row_version for remove in files.removes
    ]


def test_first_form_is_read() -> None:
    """Lists that the first release wrote are read as it read them: the bytes are kept."""
    vector = "uab^-aqEH.-t@S}K{vb[*k^@4"
    adds = [AddFile("d=1/a.parquet", ("1", None), 10, 7, stats='{"numRecords":1}', vector=vector)]
    adds = [add._replace(data_change=False) for add in adds]
    removes = [RemoveFile("b"), RemoveFile("é", ("x",), data_change=False, vector="i1")]
    expected = {
        "plain": FileList(adds, removes),
        "info": FileList(adds, removes, '{"userName":"é"}'),
        "packed": FileList([AddFile(f"part-{number}" * 9, ("1",)) for number in range(20)], []),
        "only info": FileList([], [], "{}"),
    }

    kept = dict(line.split("=") for line in OLD.read_text().splitlines())
    assert {name: unpack(bytes.fromhex(data)) for name, data in kept.items()} == expected
    # A list that is written again has the present form.
    for files in expected.values():
        assert pack(files)[:1] not in {PLAIN, PACKED}
        assert unpack(pack(files)) == files


@pytest.mark.parametrize(
    ("files", "header"),
    [
        (EMPTY, b""),
        (FileList([AddFile("a")]), PLAIN_LIST),
        (FileList([AddFile("a" * 999)]), DEFLATED_LIST),
    ],
    ids=["empty", "short", "long"],
)
def test_an_empty_list_takes_no_bytes(files: FileList, header: bytes) -> None:
    assert pack(files)[:5] == header
    assert len(pack(files)) < DEFLATE_FROM_BYTES


def plain(*lists: object) -> bytes:
    return PLAIN + json.dumps(lists).encode()


def bomb() -> bytes:
    """Return a few bytes that claim to hold more than any list may."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = b" " * (1 << 20)
    parts = [packer.compress(zeros) for _ in range((LIST_BYTES_MAX >> 20) + 1)]
    return DEFLATED_LIST + b"".join(parts) + packer.flush()


def avro(files: FileList) -> bytes:
    """Return a list in the plain Avro form, although no check would let it pass."""
    return PLAIN_LIST + row_writer(file_list_avro.coders("FileList").schema)(
        ([nested(add) for add in files.adds], [nested(remove) for remove in files.removes], "")
    )


def nested(file: AddFile | RemoveFile) -> tuple[object, ...]:
    """Return the row of a file with its extras as one value."""
    values = file[:-1] if isinstance(file, AddFile) else file
    return *values[:-5], values[-5:]


def unlike(**fields: Any) -> bytes:
    return avro(FileList([ADDED._replace(**fields)]))


ADDED = AddFile(
    "a", ("1",), 1, 1, vector="i1", deletion_vector=DeletionVector("i", "1", None, 1, 1)
)
SHORT = pack(FileList([ADDED], [RemoveFile("b")]))
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
        WHOLE + b"\0",
        SHORT[:4],
        SHORT[:5],
        SHORT[:-1],
        SHORT + b"\0",
        b"\2" + SHORT[1:],
        SHORT[:4] + b"\0" + SHORT[5:],
        DEFLATED_LIST + SHORT[5:],
        unlike(path=""),
        unlike(path="a\0b"),
        unlike(partition=("1", "\0")),
        unlike(stats="\0"),
        unlike(size=-1),
        unlike(modified=-1),
        unlike(tags={"a": "\0"}),
        unlike(vector="i2"),
        unlike(deletion_vector=DeletionVector("i", "\0", None, 1, 1), vector="i\0"),
        unlike(deletion_vector=DeletionVector("i", "1", None, -1, 1)),
        unlike(base_row_id=-1),
        pack(FileList([AddFile("a", rows=b"rows")])),
        avro(FileList(removes=[RemoveFile("")])),
        avro(FileList(removes=[RemoveFile("a", ("\0",))])),
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
def test_bytes_that_are_no_file_list_are_refused_as_a_whole(data: bytes) -> None:
    with pytest.raises(FileListError, match=f"{len(data)} bytes are no file list"):
        unpack(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_list_or_are_refused(data: bytes) -> None:
    headers = (PLAIN, PACKED, *HEADS)
    for form in (data, *(header + data for header in headers)):
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


def test_where_the_partition_of_one_removed_file_is_not_known_none_is_said() -> None:
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
def test_what_a_writer_recorded_comes_back_whole_or_in_pieces(adds: list[AddFile]) -> None:
    files = FileList(adds, [RemoveFile("b")])
    said = files._replace(info='{"userName":"é"}')
    pieces = [FileList(info=said.info[:5]), said._replace(info=said.info[5:])]
    chunks = [footprint()._replace(files=pack(piece)) for piece in pieces]

    assert unpack(pack(said)) == said
    assert unpack_chunks(chunks) == said
    assert pack(EMPTY) == b""


@pytest.mark.parametrize("rest", [[1], ["a", "b"], [None]])
def test_what_stands_behind_the_files_and_is_no_text_is_refused(rest: list[object]) -> None:
    with pytest.raises(FileListError, match="only one text"):
        unpack(PLAIN + json.dumps([[], [], *rest]).encode())
