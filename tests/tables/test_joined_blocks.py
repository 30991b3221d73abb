"""Blocks that are joined have all rows, and what is kept is never another block's."""

from collections.abc import Sequence

import pyarrow as pa

from ledger.files.rows.blocks import block_of, rows_of_block
from ledger.files.rows.joined_blocks import JoinedBlocks, joined_blocks
from ledger.reads.port import FileRow
from projections.rows.tables.file_rows import FileFields, read_file

SCHEMA = object()


def block(number: int, path: str = "", added: int = 1) -> FileRow:
    rows = block_of(pa.table({"n": pa.array([number])}))
    path = path or f"rows:{number}"
    return FileRow(1, path, "", (), len(rows), 0, "", added, added, 0, rows=rows)


def numbers(files: Sequence[FileRow]) -> list[list[int]]:
    return [rows_of_block(file.path, file.rows)["n"].to_pylist() for file in files]


def joined(files: Sequence[FileRow]) -> list[FileRow]:
    return list(joined_blocks(files, lambda _: SCHEMA))


def test_rows_come_in_the_order_of_their_commits() -> None:
    files = [block(number, added=9 - number) for number in range(9)]
    assert numbers(joined(files)) == [[8, 7, 6, 5, 4, 3, 2, 1, 0]]


def test_a_block_that_leaves_changes_one_group() -> None:
    files = [block(number, added=number) for number in range(3_000)]
    before, after = joined(files), joined([*files[:1_500], *files[1_501:]])
    assert sum(map(len, numbers(before))) == 3_000
    assert len(before) > 6
    changed = {file.rows for file in after} - {file.rows for file in before}
    assert len(changed) == 1


def test_blocks_of_two_ledgers_may_have_one_path() -> None:
    here = [block(1, "rows:a"), block(2, "rows:b")]
    there = [block(3, "rows:a"), block(4, "rows:b")]
    assert (numbers(joined(here)), numbers(joined(there))) == ([[1, 2]], [[3, 4]])


def test_what_is_kept_has_a_bound() -> None:
    pairs = [[block(2 * number), block(2 * number + 1)] for number in range(10)]
    size = len(JoinedBlocks(1 << 20).of(pairs[0]))
    kept = JoinedBlocks(3 * size)
    first = [kept.of(pair) for pair in pairs]
    assert kept.of(pairs[-1]) is first[-1]
    assert kept.of(pairs[0]) is not first[0]
    assert kept.of(pairs[0]) == first[0]


def test_the_row_of_a_block_keeps_every_byte() -> None:
    for rows in (b"", b"\n", b"}\n{", bytes(range(256))):
        fields = FileFields(7, stats="a\nb", rows=rows)
        assert read_file(fields.value()) == fields
