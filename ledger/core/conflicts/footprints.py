"""Footprints: what a table part read and wrote, and the properties a decision reads from that.

File lists are opaque here: paths are known by 8-byte hashes. Two paths with one hash can only turn
a commit into an abort, at odds of one in 2**64 for a pair.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Final

from ledger.core.commands import LEVELS, Footprint, IsolationLevel
from ledger.core.conflicts.row_changes import entries_of, fault_of_rows, joined_rows, weight_of
from ledger.core.limits import (
    FOOTPRINT_ENTRIES_MAX,
    FOOTPRINT_READS_MAX,
    HASH_BYTES,
    OPERATION_CHARS_MAX,
    ROWS_BYTES_MAX,
    ROWS_PER_WRITE_MAX,
    TEXT_CHARS_MAX,
)
from ledger.core.partitions.file_paths import file_key
from ledger.core.partitions.names import partition_values
from ledger.core.rows.changes import RowChanges

# About how much memory a chunk, and each text in it, takes at least.
CHUNK_BYTES: Final = 512
TEXT_BYTES: Final = 64
ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"
# The progress of an import is not part of the commit that it replays: Delta never saw it.
IMPORT_APPS: Final = "lakeledger.import:"
BACKFILLS: Final = frozenset({"ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"})
NAMES_JOIN: Final = ", "
# Operations that count as changing data although they may list no file (facts a.2).
CHANGES_DATA: Final = frozenset(
    {
        "WRITE",
        "STREAMING UPDATE",
        "DELETE",
        "TRUNCATE",
        "CONVERT",
        "MERGE",
        "UPDATE",
        "CREATE TABLE AS SELECT",
        "REPLACE TABLE",
        "REPLACE TABLE AS SELECT",
        "CREATE OR REPLACE TABLE",
        "CREATE OR REPLACE TABLE AS SELECT",
        "RESTORE",
        "CLONE",
    }
)
REPLACES: Final = frozenset(each for each in CHANGES_DATA if "REPLACE" in each)

# A part that neither read nor wrote anything.
EMPTY_FOOTPRINT: Final = Footprint(
    operation="",
    reads=(),
    reads_whole=False,
    read_files=b"",
    read_apps=(),
    adds=(),
    removes=b"",
    removes_in=(),
    data_change=False,
    not_blind=False,
    rows_added=0,
    protocol=None,
    domains=(),
    apps=(),
    files=b"",
    staged=0,
    digest=b"",
)


def path_hash(path: str) -> bytes:
    """Return the 8-byte hash of a path, equal for all spellings of one file."""
    key = file_key(path)
    # Escaped bytes that are not UTF-8 still distinguish two paths.
    return blake2b(key.encode(errors="surrogateescape"), digest_size=HASH_BYTES).digest()


def packed(paths: Iterable[str]) -> bytes:
    """Return the hashes of paths, concatenated, each once."""
    return b"".join(dict.fromkeys(path_hash(path) for path in paths))


def hashes(row: bytes) -> Iterator[bytes]:
    """Return the single hashes of concatenated ones."""
    return (row[at : at + HASH_BYTES] for at in range(0, len(row), HASH_BYTES))


def fault_of(footprint: Footprint) -> str:
    """Return what is wrong with a footprint, "" if it is valid."""
    if len(footprint.read_files) % HASH_BYTES or len(footprint.removes) % HASH_BYTES:
        return f"path hashes must have {HASH_BYTES} bytes each"
    if len({app.app for app in footprint.apps}) < len(footprint.apps):
        return "a commit must record one version per application, got several"
    if not 0 <= footprint.rows_added <= ROWS_PER_WRITE_MAX:
        return f"rows_added must be 0 to {ROWS_PER_WRITE_MAX}, got {footprint.rows_added}"
    for text in chain(footprint.adds, footprint.removes_in):
        if partition_values(text) is None:
            return f"a partition must be a JSON array of texts and nulls, got {text[:80]!r}"
    problem = "" if footprint.rows is None else fault_of_rows(footprint.rows)
    return problem or excess_of(footprint)


def fault_of_whole(footprint: Footprint) -> str:
    """Return what is wrong between the chunks of a footprint, "" if it is valid."""
    if footprint.rows is None:
        return ""
    removed = set(hashes(footprint.removes))
    for moved in footprint.rows.moved:
        if path_hash(moved.source) not in removed:
            return f"file {moved.source[:200]!r} must be removed, since its rows are elsewhere"
    paths = [marks.path for marks in footprint.rows.marks]
    if len(set(paths)) < len(paths):
        return "the rows of a file must be marked in one bitmap, got several"
    return ""


def excess_of(footprint: Footprint) -> str:
    """Return which bound a footprint exceeds, "" if it keeps all."""
    entries = len(footprint.adds) + len(footprint.removes_in) + len(footprint.apps)
    entries += len(footprint.read_apps) + len(footprint.domains)
    entries += (len(footprint.read_files) + len(footprint.removes)) // HASH_BYTES
    if footprint.rows is not None:
        entries += entries_of(footprint.rows)
    if entries > FOOTPRINT_ENTRIES_MAX:
        return (
            f"files, partitions, applications and domains must be {FOOTPRINT_ENTRIES_MAX} at most, "
            f"got {entries}"
        )
    if len(footprint.operation) > OPERATION_CHARS_MAX:
        return (
            f"operation must have {OPERATION_CHARS_MAX} characters at most, "
            f"got {len(footprint.operation)}"
        )
    names = *footprint.read_apps, *(app for app, _ in footprint.apps)
    for name in (*names, *(domain.name for domain in footprint.domains)):
        if len(name) > TEXT_CHARS_MAX:
            return (
                f"the name of an application or domain must have {TEXT_CHARS_MAX} characters at "
                f"most, got {len(name)}: {name[:80]!r}..."
            )
    return excess_of_reads(footprint)


def excess_of_reads(footprint: Footprint) -> str:
    """Return that a footprint records too many scans, "" if it does not."""
    if len(footprint.reads) > FOOTPRINT_READS_MAX:
        return f"scans must be {FOOTPRINT_READS_MAX} at most, got {len(footprint.reads)}"
    return ""


def joined(chunks: Sequence[Footprint], last: Footprint) -> Footprint:
    """Return the footprint joined from all its chunks, with the file list of the last one."""
    if not chunks:
        return last
    every = (*chunks, last)
    # A chunk that removes files without naming partitions may remove them from any.
    is_unsaid = any(takes_rows(each) and not each.removes_in for each in every)
    return last._replace(
        reads=distinct(each.reads for each in every),
        reads_whole=any(each.reads_whole for each in every),
        read_files=b"".join(each.read_files for each in every),
        read_apps=distinct(each.read_apps for each in every),
        adds=distinct(each.adds for each in every),
        removes=b"".join(each.removes for each in every),
        removes_in=[] if is_unsaid else distinct(each.removes_in for each in every),
        data_change=any(each.data_change for each in every),
        not_blind=any(each.not_blind for each in every),
        rows_added=sum(each.rows_added for each in every),
        rows=joined_rows([each.rows for each in every if each.rows is not None]),
    )


def distinct(lists: Iterable[Iterable[str]]) -> list[str]:
    """Return the members of all lists in order, without repeats."""
    return list(dict.fromkeys(chain.from_iterable(lists)))


def next_digest(digest: bytes, chunk: Footprint) -> bytes:
    """Return the digest over one more chunk; the first chunk continues b''.

    It is over the files of a chunk, and over what it says row by row: each number in 8 bytes, each
    text and each list behind its length in 4 bytes, big-endian.
    """
    said = b"" if chunk.rows is None else canonical(chunk.rows)
    return blake2b(digest + chunk.files + said, digest_size=HASH_BYTES).digest()


def canonical(value: object) -> bytes:
    """Return the only bytes of a value made of lists, texts, bytes and numbers."""
    match value:
        case int():
            return value.to_bytes(8, "big", signed=True)
        case str():
            return canonical(value.encode())
        case bytes():
            return len(value).to_bytes(4, "big") + value
        case list() | tuple():
            return len(value).to_bytes(4, "big") + b"".join(map(canonical, value))
        case _:
            raise TypeError(f"a value must be a list, a text, bytes or a number, got {value!r}")


def weight(footprint: Footprint) -> int:
    """Return about how many bytes a footprint takes in memory."""
    texts = chain(footprint.reads, footprint.read_apps, footprint.adds, footprint.removes_in)
    lists = len(footprint.files) + len(footprint.removes) + len(footprint.read_files)
    rows = 0 if footprint.rows is None else weight_of(footprint.rows)
    return CHUNK_BYTES + lists + rows + sum(TEXT_BYTES + len(text) for text in texts)


def bare(footprint: Footprint) -> Footprint:
    """Return the footprint without its file list, which no decision reads."""
    return footprint._replace(files=b"")


def as_files(footprint: Footprint) -> Footprint:
    """Return a footprint as it would be if its grain was the file."""
    rows = footprint.rows
    if rows is None:
        return footprint
    return footprint._replace(
        rows=None,
        removes=footprint.removes + packed(marks.path for marks in rows.marks),
        read_files=footprint.read_files + rows.scanned,
    )


def won(footprint: Footprint) -> Footprint:
    """Return what the index keeps of a winner: what it wrote; no later check needs its reads."""
    domains = [domain._replace(configuration="") for domain in footprint.domains]
    found = bare(footprint)._replace(
        reads=[], reads_whole=False, read_files=b"", read_apps=[], domains=domains
    )
    return found if found.rows is None else with_bounded_rows(found, found.rows)


def with_bounded_rows(footprint: Footprint, rows: RowChanges) -> Footprint:
    """Return a footprint with rows that fit the index.

    A file with too large bitmaps counts as one that is gone: a conflict too many at worst.
    """
    kept = rows._replace(read=[], scanned=b"")
    size = sum(len(each.rows) for each in rows.marks) + sum(len(each.stayed) for each in rows.moved)
    if size <= ROWS_BYTES_MAX:
        return footprint._replace(rows=kept)
    marked = packed(each.path for each in rows.marks)
    kept = kept._replace(marks=[], moved=[])
    return footprint._replace(rows=kept, removes=footprint.removes + marked)


def takes_rows(footprint: Footprint) -> bool:
    """Tell whether the part removes files, or rows of files."""
    return bool(footprint.removes or (footprint.rows is not None and footprint.rows.marks))


def reads_anything(footprint: Footprint) -> bool:
    """Tell whether the part depends on data of its table."""
    rows = footprint.rows
    by_row = rows is not None and (rows.read or rows.scanned)
    return bool(footprint.reads or footprint.reads_whole or footprint.read_files or by_row)


def writes_anything(footprint: Footprint) -> bool:
    """Tell whether the part would change its table, or the metadata of the table."""
    return bool(
        footprint.adds
        or takes_rows(footprint)
        or footprint.rows_added
        or footprint.protocol is not None
        or footprint.domains
        or footprint.apps
    )


def is_blind(footprint: Footprint) -> bool:
    """Tell whether the part is a blind append: only adds, nothing read, and not denied (c.1)."""
    return not (footprint.not_blind or takes_rows(footprint) or reads_anything(footprint))


def depends_on_base(footprint: Footprint) -> bool:
    """Tell whether a part that read no data was planned from anything else that may have changed.

    Progress that an application looked up and also records does not count: it is compared anyway.
    """
    recorded = {app.app for app in footprint.apps}
    domains = any(domain.name != ROW_TRACKING_DOMAIN for domain in footprint.domains)
    looked_up = not recorded.issuperset(footprint.read_apps)
    return domains or looked_up or footprint.protocol is not None


def is_backfill(footprint: Footprint) -> bool:
    """Tell whether the part only records present files again, for row tracking (a.4)."""
    return footprint.operation in BACKFILLS and not footprint.data_change


def joined_names(operations: Iterable[str]) -> str:
    """Return the joint name of several operations on one table, each once and in order."""
    return NAMES_JOIN.join(dict.fromkeys(operation for operation in operations if operation))


def operations_of(footprint: Footprint) -> Sequence[str]:
    """Return the operations that a part names; one txn may name several for one table."""
    return footprint.operation.split(NAMES_JOIN)


def only_reads(footprint: Footprint) -> bool:
    """Tell whether the part declares no operation, so its table was only read."""
    return not footprint.operation


def rearranges(footprint: Footprint, *, does_more: bool) -> bool:
    """Tell whether the part holds only files, all without a data change (a.2).

    `does_more` says that it declares coarse writes, or changes its table by more than a rename. The
    progress of an import does not count.
    """
    if footprint.data_change or does_more or footprint.protocol is not None:
        return False
    if footprint.rows is not None and footprint.rows.marks:
        return False
    domains = any(domain.name != ROW_TRACKING_DOMAIN for domain in footprint.domains)
    return not domains and all(app.startswith(IMPORT_APPS) for app, _ in footprint.apps)


def effective_level(
    table_level: IsolationLevel, asked: str, footprint: Footprint, *, rearranging: bool
) -> IsolationLevel:
    """Return the level a part is judged at: rule a.2, raised by the txn's request.

    A request never cancels the downgrade of a part that only rearranges files.
    """
    if rearranging and not only_reads(footprint):
        data_changing = not CHANGES_DATA.isdisjoint(operations_of(footprint))
        if table_level == "Serializable" or not data_changing:
            return "SnapshotIsolation"
    ranks = (LEVELS.index(table_level), LEVELS.index(asked) if asked in LEVELS else 0)
    return LEVELS[max(ranks)]
