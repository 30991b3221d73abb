"""Footprints: what a table part read and wrote, asked the few questions a decision has.

File lists are opaque here: paths are known by 8-byte hashes. A hash that two paths share can only
turn a commit into an abort, at odds of one in 2**64 for a pair.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Final

from ledger.core.commands import LEVELS, Footprint, IsolationLevel
from ledger.core.limits import (
    FOOTPRINT_ENTRIES_MAX,
    FOOTPRINT_READS_MAX,
    HASH_BYTES,
    OPERATION_CHARS_MAX,
    ROWS_PER_WRITE_MAX,
    TEXT_CHARS_MAX,
)
from ledger.core.partitions.file_paths import file_key
from ledger.core.partitions.names import partition_values

# What a chunk and a text in it take in memory, about, however little they say.
CHUNK_BYTES: Final = 512
TEXT_BYTES: Final = 64
ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"
# How far an import of a table came is no work of the commit that it imports: Delta never saw it.
IMPORT_APPS: Final = "lakeledger.import:"
BACKFILLS: Final = frozenset({"ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"})
NAMES_JOIN: Final = ", "
# Operations that count as changing data even when they list no file (facts a.2).
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
    """Return the 8 bytes a path is known by, the same for every spelling of one file."""
    key = file_key(path)
    # Bytes of an escape that are no text still tell two paths apart.
    return blake2b(key.encode(errors="surrogateescape"), digest_size=HASH_BYTES).digest()


def packed(paths: Iterable[str]) -> bytes:
    """Return the hashes of paths, each once, in a row."""
    return b"".join(dict.fromkeys(path_hash(path) for path in paths))


def hashes(row: bytes) -> Iterator[bytes]:
    """Return the hashes that stand in a row."""
    return (row[at : at + HASH_BYTES] for at in range(0, len(row), HASH_BYTES))


def fault_of(footprint: Footprint) -> str:
    """Return what is wrong with a footprint, "" if nothing is."""
    if len(footprint.read_files) % HASH_BYTES or len(footprint.removes) % HASH_BYTES:
        return f"path hashes have {HASH_BYTES} bytes each"
    if len({each.app for each in footprint.apps}) < len(footprint.apps):
        return "an application records one version in a commit"
    if not 0 <= footprint.rows_added <= ROWS_PER_WRITE_MAX:
        return f"a commit adds 0 to {ROWS_PER_WRITE_MAX} rows, not {footprint.rows_added}"
    for text in chain(footprint.adds, footprint.removes_in):
        if partition_values(text) is None:
            return f"{text[:80]!r} is no partition"
    return excess_of(footprint)


def excess_of(footprint: Footprint) -> str:
    """Return what there is too much of in a footprint, "" if nothing is."""
    entries = len(footprint.adds) + len(footprint.removes_in) + len(footprint.apps)
    entries += len(footprint.read_apps) + len(footprint.domains)
    entries += (len(footprint.read_files) + len(footprint.removes)) // HASH_BYTES
    if entries > FOOTPRINT_ENTRIES_MAX:
        return (
            f"{entries} files, partitions, applications and domains are named, "
            f"{FOOTPRINT_ENTRIES_MAX} are allowed"
        )
    if len(footprint.operation) > OPERATION_CHARS_MAX:
        return f"an operation is named in {OPERATION_CHARS_MAX} characters at most"
    names = *footprint.read_apps, *(app for app, _ in footprint.apps)
    for name in (*names, *(each.name for each in footprint.domains)):
        if len(name) > TEXT_CHARS_MAX:
            return (
                f"{name[:80]!r}... has {len(name)} characters: applications and domains are named "
                f"in {TEXT_CHARS_MAX} characters at most"
            )
    return excess_of_reads(footprint)


def excess_of_reads(footprint: Footprint) -> str:
    """Return by how much too many scans are recorded, "" if they are not."""
    if len(footprint.reads) > FOOTPRINT_READS_MAX:
        return f"{len(footprint.reads)} scans are recorded, {FOOTPRINT_READS_MAX} are allowed"
    return ""


def joined(chunks: Sequence[Footprint], last: Footprint) -> Footprint:
    """Return one footprint of all its chunks; files stay with the chunk that brought them."""
    if not chunks:
        return last
    every = (*chunks, last)
    # Where a chunk does not say in which partitions, it may be any.
    is_unsaid = any(each.removes and not each.removes_in for each in every)
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
    )


def distinct(lists: Iterable[Iterable[str]]) -> list[str]:
    """Return the members of all lists, each once, in order."""
    return list(dict.fromkeys(chain.from_iterable(lists)))


def next_digest(digest: bytes, files: bytes) -> bytes:
    """Return the digest over one more chunk of files; it begins with b''."""
    return blake2b(digest + files, digest_size=HASH_BYTES).digest()


def weight(footprint: Footprint) -> int:
    """Return the bytes a footprint takes in memory, about."""
    texts = chain(footprint.reads, footprint.read_apps, footprint.adds, footprint.removes_in)
    lists = len(footprint.files) + len(footprint.removes) + len(footprint.read_files)
    return CHUNK_BYTES + lists + sum(TEXT_BYTES + len(text) for text in texts)


def bare(footprint: Footprint) -> Footprint:
    """Return the footprint without its files, which are not needed to judge it."""
    return footprint._replace(files=b"")


def won(footprint: Footprint) -> Footprint:
    """Return what is remembered of a winner: what it did, for nobody asks what it had read."""
    domains = [each._replace(configuration="") for each in footprint.domains]
    return bare(footprint)._replace(
        reads=[], reads_whole=False, read_files=b"", read_apps=[], domains=domains
    )


def reads_anything(footprint: Footprint) -> bool:
    """Tell whether the part depends on data of its table."""
    return bool(footprint.reads or footprint.reads_whole or footprint.read_files)


def writes_anything(footprint: Footprint) -> bool:
    """Tell whether the part would change its table, or what is known of it."""
    return bool(
        footprint.adds
        or footprint.removes
        or footprint.rows_added
        or footprint.protocol is not None
        or footprint.domains
        or footprint.apps
    )


def is_blind(footprint: Footprint) -> bool:
    """Tell whether the part is a blind append: only adds, nothing read, and not denied (c.1)."""
    return not (footprint.not_blind or footprint.removes or reads_anything(footprint))


def depends_on_base(footprint: Footprint) -> bool:
    """Tell whether a part that read no data was planned from something else that may have changed.

    An application that records its progress is asked for that by itself.
    """
    recorded = {each.app for each in footprint.apps}
    domains = any(each.name != ROW_TRACKING_DOMAIN for each in footprint.domains)
    looked_up = not recorded.issuperset(footprint.read_apps)
    return domains or looked_up or footprint.protocol is not None


def is_backfill(footprint: Footprint) -> bool:
    """Tell whether the part only records files again that were there, for row tracking (a.4)."""
    return footprint.operation in BACKFILLS and not footprint.data_change


def joined_names(operations: Iterable[str]) -> str:
    """Return what several operations on one table are called together, each once and in order."""
    return NAMES_JOIN.join(dict.fromkeys(each for each in operations if each))


def operations_of(footprint: Footprint) -> Sequence[str]:
    """Return the operations that a part names: one txn may do several to a table."""
    return footprint.operation.split(NAMES_JOIN)


def only_reads(footprint: Footprint) -> bool:
    """Tell whether the part declares no operation: its table was read for the sake of others."""
    return not footprint.operation


def rearranges(footprint: Footprint, *, does_more: bool) -> bool:
    """Tell whether nothing but files is in the part, and none of them changes data (a.2).

    `does_more` says that it declares coarse writes, or changes its table by more than the name. The
    progress of an import that replays it does not count.
    """
    if footprint.data_change or does_more or footprint.protocol is not None:
        return False
    domains = any(each.name != ROW_TRACKING_DOMAIN for each in footprint.domains)
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
