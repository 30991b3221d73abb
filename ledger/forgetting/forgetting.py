"""Forgetting rows: a commit that writes files anew without them, and then the old files go.

The commit notes by their hashes which files had values of the rows in what is said of them. So a
later report finds their statistics, although rows and files are gone.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.core.conflicts.footprints import path_hash
from ledger.core.predicates.tree import Node
from ledger.forgetting.held_rows import HeldRows, Progress, every_file, held_rows
from ledger.forgetting.key_dropping import GRACE_S, drop_keys, keys_of
from ledger.forgetting.own_values import OwnValues
from ledger.forgetting.rewriting import forget as written_anew
from ledger.forgetting.table_files import published_version
from ledger.keys.folder import KeyName
from ledger.keys.sealed_rows import key_of
from ledger.properties.column_mapping import is_published
from ledger.reads.port import Reads, TableRow, VersionRow
from ledger.transaction.transaction import Transaction

NOTE: Final = "forgotten"
FILES_MAX: Final = 5_000
VERSIONS: Final = 1_000
PUBLISHED_S: Final = 30.0
LOOK_S: Final = 0.2


class ForgottenRows(NamedTuple):
    """What was done: rows that readers lost, files that were deleted, the version of the commit.

    `version` is -1 without a commit. `kept_by` says why no old file was deleted, "" if they were.
    `keys` are the keys of encrypted rows, each with why it was not dropped, "" if it was.
    """

    rows: int
    files: list[str]
    version: int = -1
    kept_by: str = ""
    keys: Mapping[KeyName, str] = MappingProxyType({})


def look(
    reads: Reads,
    row: TableRow,
    where: Node,
    values: OwnValues | None = None,
    progress: Progress | None = None,
) -> HeldRows:
    """Return the files with rows of a condition, and the values to search for; changes nothing.

    `values` come from an earlier look, whose files may be gone by now.
    """
    held = held_rows(reads, row, where, values, progress)
    held.values.files.update(noted_files(reads, row))
    return held


def forget(
    ledger: Ledger,
    row: TableRow,
    where: Node,
    held: HeldRows,
    *,
    older_than_h: float = 0.0,
    reason: str = "",
    grace_s: float = GRACE_S,
) -> ForgottenRows:
    """Take the rows out of a table, and delete the files of earlier versions that hold them.

    `held` is what a look found. Encrypted rows go with their keys, so all rows of these keys are
    put into files before. Raises ConflictError if other commits change the same files again and
    again, SettingsError without a folder of keys, and as a DELETE and a vacuum.
    """
    reads, names = ledger.reads(), keys_in(held)
    for name in names:
        keys_of(ledger).retire(name)
    known = [path_hash(file.path) for file in every_file(reads, row) if is_said(held, file)]
    new = [each for each in known if each not in held.values.files]
    counted = {"rows": 0, "version": -1}

    def work(txn: Transaction) -> None:
        counted["rows"] = written_anew(txn.statement(row, "forget"), where).deleted or 0
        if new:
            txn.operation(row, "DELETE")
        note: dict[str, Any] = {"files": [each.hex() for each in new[:FILES_MAX]]}
        txn.note(row, NOTE, note | ({"reason": reason} if reason else {}))

    if new or any(file.is_live for file in held.files):
        ledger.run(work)
        row = ledger.table(row.name)
        counted["version"] = row.version
    held.values.files.update(new)
    if names:
        ledger.run(lambda txn: txn.flush(row))
        row = ledger.table(row.name)
    keys = drop_keys(ledger, row, names, grace_s) if names else {}
    if kept_by := waits_for_publisher(row):
        return ForgottenRows(counted["rows"], [], counted["version"], kept_by, keys)
    paths = [file.file.path for file in held.files if not file.file.rows]
    report = ledger.vacuum(row, older_than_h=older_than_h, only=paths) if paths else ()
    files = [file.path for file in report.files] if report else []
    return ForgottenRows(counted["rows"], files, counted["version"], keys=keys)


def keys_in(held: HeldRows) -> list[KeyName]:
    """Return the keys that sealed blocks with rows of the condition."""
    return sorted({name for each in held.files if (name := key_of(each.file)) is not None})


def is_said(held: HeldRows, file: Any) -> bool:
    """Return whether the statistics, the partition or the path of a file has a value."""
    return held.values.in_file(file.path, file.stats) or held.values.in_values(file.partition)


def waits_for_publisher(row: TableRow) -> str:
    """Wait until a published log shows a version, and return "", else why files must stay."""
    ends_s = time.monotonic() + PUBLISHED_S
    while is_published(row.definition):
        newest = published_version(row.definition.location)
        if newest >= row.version:
            break
        if time.monotonic() > ends_s:
            return (
                f"the publisher has written version {row.version} (the log is at {newest}), then "
                "the same command again"
            )
        time.sleep(LOOK_S)
    return ""


def noted_files(reads: Reads, row: TableRow) -> Iterator[bytes]:
    """Yield the hashes of files that earlier commits of this kind noted."""
    below: int | None = None
    while page := reads.versions(row.table, VERSIONS, below=below):
        for version in page:
            yield from noted_in(version)
        below = page[-1].version


def noted_in(version: VersionRow) -> list[bytes]:
    """Return the hashes that the commit of a version noted."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        if version.info:
            return [bytes.fromhex(each) for each in json.loads(version.info)[NOTE]["files"]]
    return []
