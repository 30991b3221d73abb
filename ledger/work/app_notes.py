"""What a commit notes of a table, in its own record: the history keeps it with the version.

An application notes a dict beside its progress, such as the query and the offsets of a stream. So
its newest note is that of its last version. A program that commits for another system notes what
that system knows of the commit, under a key of its own.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ledger.core.limits import TEXT_CHARS_MAX
from ledger.definitions.given import check_text
from ledger.errors import LedgerError
from ledger.reads.port import AppRow, Reads, TableRow
from ledger.reads.row_counts import METRICS, ChangedRows

APPLICATIONS: Final = "applications"
OWN_KEYS: Final = frozenset({APPLICATIONS, METRICS})
NOTE_CHARS_MAX: Final = TEXT_CHARS_MAX
"""A commit keeps the note in each of its tables: the note is for places, not for data."""


class AppProgress(NamedTuple):
    """How far an application came in a table.

    `position` and `at`, in milliseconds, are of the commit that recorded `version`; `info` is what
    the application noted with it, {} for nothing.
    """

    app: str
    version: int
    table: TableRow
    position: int
    at: int
    info: Mapping[str, Any]


def note_text(app: str, info: Mapping[str, Any]) -> str:
    """Return the note of an application as JSON; raises TypeError or ValueError for another one."""
    return json_text(f"the info of application {app!r}", info)


def commit_note(key: str, info: Mapping[str, Any]) -> str:
    """Return what a commit notes under a key as JSON.

    Raises TypeError or ValueError for anything but a dict that JSON can hold, and for a key that
    the ledger itself has.
    """
    check_text("the key of a note", key)
    if not key or key in OWN_KEYS:
        raise ValueError(
            f"the key of a note must not be empty, nor {' or '.join(sorted(OWN_KEYS))}, got {key!r}"
        )
    return json_text(f"the note {key!r}", info)


def json_text(what: str, info: Mapping[str, Any]) -> str:
    """Return a dict as JSON; raises TypeError or ValueError for anything else."""
    if not isinstance(info, Mapping):
        raise TypeError(f"{what} must be a dict, got {info!r}")
    try:
        text = json.dumps(info, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what} must be a dict that JSON can hold: {error}") from None
    if len(text) > NOTE_CHARS_MAX:
        raise ValueError(
            f"{what} must have {NOTE_CHARS_MAX} characters at most as JSON, got {len(text)}"
        )
    return text


def info_text(
    notes: Mapping[str, str], rows: ChangedRows | None = None, said: Mapping[str, str] | None = None
) -> str:
    """Return what a commit notes of a table as one JSON object.

    These are the notes of applications, given as JSON by application, the changed rows, and what is
    `said` beside them, given as JSON by key.
    """
    parts = []
    if notes:
        inner = ",".join(f"{json.dumps(app)}:{text}" for app, text in sorted(notes.items()))
        parts.append(f'"{APPLICATIONS}":{{{inner}}}')
    if rows is not None:
        parts.append(f'"{METRICS}":{json.dumps(rows.metrics(), separators=(",", ":"))}')
    parts += [f"{json.dumps(key)}:{text}" for key, text in sorted((said or {}).items())]
    return f"{{{','.join(parts)}}}"


def note_in(info: str, app: str) -> Mapping[str, Any]:
    """Return the note of an application in the info of a version, {} for none."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        found = json.loads(info)[APPLICATIONS][app] if info else {}
        return found if isinstance(found, Mapping) else {}
    return {}


def progress_in(reads: Reads, app: str = "") -> Sequence[AppProgress]:
    """Return the progress of applications in tables that were not dropped, or of one of them."""
    found = []
    tables: dict[int, TableRow | None] = {}
    for row in reads.progress(app):
        if row.table not in tables:
            tables[row.table] = reads.table(row.table)
        table = tables[row.table]
        if table is not None and not table.dropped:
            found.append(progress_of(reads, table, row))
    return found


def progress_of(reads: Reads, table: TableRow, row: AppRow) -> AppProgress:
    """Return the progress of a row, with the note of its commit."""
    version = None
    with suppress(LedgerError):
        version = reads.version_row(table.table, position=row.position)
    if version is None or version.position != row.position:
        return AppProgress(row.app, row.version, table, row.position, 0, {})
    note = note_in(version.info, row.app)
    return AppProgress(row.app, row.version, table, row.position, version.at, note)
