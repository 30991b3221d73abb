"""Footprints of Delta commits: what a recorded version read and wrote, as a ledger decides on it.

A Delta log does not record scans. A commit that is not marked as a blind append is declared to have
read the files that it removed, and not to be blind; one that is marked is believed as far as its
actions bear it out.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ledger.core.commands import AppVersion, Footprint, TableDefinition
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, packed
from ledger.core.limits import OPERATION_CHARS_MAX
from ledger.delta.actions import DeltaAdd, DeltaCommit, DeltaRemove
from ledger.delta.schema import partition_keys, partition_of
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.work.footprint_writer import FootprintWriter
from ledger.work.writes import DeclaredPart

UNRECORDED: Final = "Manual Update"
"""Delta's name for a commit through no command; also given to one whose writer named none."""


def part_of(
    commit: DeltaCommit,
    table: tuple[int, TableDefinition | None, TableDefinition],
    apps: Mapping[str, int],
    read_at: int,
) -> DeclaredPart:
    """Return the part of a version: `table` is its id and definition before and after it.

    `apps` is the progress it records.
    """
    number, before, after = table
    keys, keys_before = partition_keys(after), partition_keys(before or after)
    files = FootprintWriter()
    files.name(operation_of(commit))
    files.add(added(add, keys) for add in commit.adds.values())
    files.remove(removed(remove, keys_before) for remove in commit.removes.values())
    reads = commit.removes if not commit.provenance.is_blind else ()
    read_files = packed(path for path, _ in reads)
    head, info = head_of(commit, apps), commit.provenance.info
    return DeclaredPart(number, read_at, (), head, read_files, files, info)


def head_of(commit: DeltaCommit, apps: Mapping[str, int]) -> Footprint:
    """Return the footprint of a version without its files and the info of its writer."""
    return EMPTY_FOOTPRINT._replace(
        operation=operation_of(commit),
        not_blind=commit.has_change_files or not commit.provenance.is_blind,
        protocol=commit.protocol,
        domains=[commit.domains[name] for name in sorted(commit.domains)],
        apps=[AppVersion(*item) for item in sorted(apps.items())],
    )


def operation_of(commit: DeltaCommit) -> str:
    """Return the operation of a version, in the words of its writer."""
    return commit.provenance.operation[:OPERATION_CHARS_MAX] or UNRECORDED


def added(add: DeltaAdd, keys: Sequence[str]) -> AddFile:
    """Return an added file with its partition in the table's order."""
    partition = partition_of(add.partition_values, keys)
    return AddFile(
        add.path,
        partition,
        add.size,
        add.modified,
        add.data_change,
        add.stats,
        add.vector,
        add.deletion_vector,
    )


def removed(remove: DeltaRemove, keys: Sequence[str]) -> RemoveFile:
    """Return a removed file, with its partition if the log has it.

    A removal without any partition column counts as one without a partition.
    """
    values = remove.partition_values
    partition = partition_of(values, keys) if values or (values is not None and not keys) else None
    return RemoveFile(
        remove.path, partition, remove.data_change, remove.vector, remove.deletion_vector
    )
