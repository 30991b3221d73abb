"""Former rows: compared with the log before a leader starts, and set aside.

Rows may be the last copy of events that a log lost. So they are removed only after the new rows
hold all of them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import time_ns
from typing import Final

from ledger.core.acceptance import RecordKind
from ledger.core.events.events import LedgerCreated, LogCut
from ledger.definitions.client_reads import open_store
from ledger.errors import (
    LedgerError,
    LogDamagedError,
    LogRewrittenError,
    ReaderBehindError,
    SettingsError,
)
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log, Topic
from ledger.log.replay import Replay
from ledger.log.trimmed import start_of
from ledger.log.wire.codec import UnreadableError, read_control
from ledger.machine.folder import ASIDE, SPARK, STORE, remove_folder
from ledger.reads.port import Reached, Reads

READ_S: Final = 10.0


def check_rows(store: Path, log: Log, options: str = "") -> None:
    """Make sure that the log goes as far as the rows of this host, and is the one they are of.

    `options` are those by which a command finds this ledger. Raises LogDamagedError if the log is
    another one, with the commands that lead on. Rows that cannot be read say nothing: their writer
    will.
    """
    seen = reached_in(store)
    if seen is not None and seen.offset:
        check_reached(seen, str(store), log, options)


def way_back(options: str) -> str:
    """Return which commands lead on where rows have seen more than the log holds."""
    return (
        "No sequencer was started: it would give ids, write ids and versions again that were "
        f"given. lakeledger recover{options} says what is lost, lakeledger recover --cut{options} "
        "lets the ledger go on above all that was given, and lakeledger up --rebuild"
        f"{options} makes its rows anew. Or put back a copy of the log"
    )


def check_reached(seen: Reached, rows: str, log: Log, options: str = "") -> None:
    """Check that the log holds the last event of some rows; raises as `check_rows`.

    `rows` is their folder. Rows that end in front of a trimmed log have seen no more than it.
    """
    first, end = log.ends(Topic.EVENTS)
    if first >= seen.offset:
        return
    if end < seen.offset:
        raise LogDamagedError(
            seen.position,
            f"the log ends at offset {end}, but rows in {rows} were made up to {seen.offset}. "
            f"{way_back(options)}",
        )
    if not is_there(log, seen):
        raise LogDamagedError(
            seen.position,
            f"the log holds another event there than the one that rows in {rows} end with: it "
            f"lost its end, and others wrote on. {way_back(options)}",
        )


def check_rows_given_up(store: Path, log: Log, options: str = "") -> None:
    """Make sure that rows of this host may be made anew: what only they hold was given up before.

    Without a cut above them a leader would give again what they have seen. Rows of another ledger
    have seen nothing of this one. Raises as `check_rows`.
    """
    try:
        check_rows(store, log, options)
    except LogDamagedError as damaged:
        with closing(open_store(store)) as rows:
            ledger = rows.identity().ledger
        begun = start_of(log)
        if begun.mark is not None and begun.mark.created.ledger != ledger:
            return
        for control, body in Replay(log, begun=begun):
            if isinstance(body, LedgerCreated) and body.ledger != ledger:
                return
            if isinstance(body, LogCut) and control.position > damaged.position:
                return
        raise


def reached_in(store: Path) -> Reached | None:
    """Return the position of the rows in a folder, None if no rows can be read."""
    if not store.exists():
        return None
    with suppress(LedgerError), closing(open_store(store)) as rows:
        return rows.reach(0, Reached(), 0)
    return None


def is_there(log: Log, seen: Reached) -> bool:
    """Return whether the log holds the last event of some rows.

    A Fenced does not hold its chain: each follower of the log compares it.
    """
    with closing(log.reader(Topic.EVENTS, seen.offset - 1)) as events:
        records = events.read(1, READ_S)
    if not records or records[0].offset != seen.offset - 1:
        return False
    try:
        control, kind = read_control(records[0].value)
    except UnreadableError:
        return False
    return kind is RecordKind.FENCED or control.chain.hex() == seen.chain


def set_rows_aside(folder: Path, say: Callable[[str], None]) -> None:
    """Let the roles of a ledger make their rows anew; the former rows stay beside them.

    No program may read the former rows, not even a role that restarts before the new rows exist.
    Raises SettingsError if the former rows cannot be moved.
    """
    for rows in (folder / STORE, folder / SPARK):
        kept = rows.with_name(f"{rows.name}{ASIDE}{time_ns()}")
        try:
            rows.rename(kept)
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise SettingsError(
                f"the rows in {rows} cannot be set aside ({problem}). Move that folder, or make it "
                "one that this user may write to; the log still holds everything"
            ) from problem
        say(f"the rows are made anew; the former ones lie in {kept} until they are compared")


def set_aside(rows: Path) -> Iterator[Path]:
    """Yield the folders of former rows of a folder."""
    yield from sorted(rows.parent.glob(f"{rows.name}{ASIDE}*"))


def let_go(folder: Path, reads: Reads, say: Callable[[str], None]) -> None:
    """Remove former rows if the new rows hold all their events; say which ones are kept."""
    for rows in set_aside(folder / STORE):
        seen = reached_in(rows)
        if seen is None:
            say(f"the former rows in {rows} cannot be read and are kept: remove them by hand")
            continue
        try:
            reads.reach(0, seen, 0)
        except (LogRewrittenError, ReaderBehindError):
            say(
                f"warning: the former rows in {rows} go to position {seen.position}, and the log "
                "does not hold all of that any more. They are kept: they may be the last copy"
            )
        else:
            remove_folder(rows)
    for rows in set_aside(folder / SPARK):
        if not any(set_aside(folder / STORE)):
            remove_folder(rows)


def check_rows_left(log: Log, ledger: str, stores: Iterable[Path]) -> None:
    """Raise EventsLostError if a folder holds rows of a ledger that has no events.

    Raises LogUnavailableError if the broker does not answer.
    """
    rows = [found for store in stores if (found := rows_of(store, ledger)) is not None]
    if rows:
        check_not_lost(log, rows=rows)


def rows_of(store: Path, ledger: str) -> str | None:
    """Return a text about the rows of a ledger in a folder, None if absent.

    Unreadable rows are passed over: the role that needs them reports them.
    """
    if not store.is_dir():
        return None
    try:
        with closing(open_store(store)) as reads:
            found, position = reads.identity(), reads.position()
    except LedgerError:
        return None
    if found.name != ledger:
        return None
    return f"its rows in {store} go up to position {position} of ledger {found.ledger}"
