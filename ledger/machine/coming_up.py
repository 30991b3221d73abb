"""Coming up: waits until a ledger has a leader and rows to read."""

import socket
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from ledger.config.address import Address
from ledger.config.search import log_of
from ledger.core.acceptance import RecordKind
from ledger.definitions.client_reads import open_store
from ledger.errors import LedgerError, LogUnavailableError, RoleEndedError
from ledger.log.other_topics import beat_epoch
from ledger.log.port import Log, Record, Topic
from ledger.log.wire.codec import UnreadableError, read_control
from ledger.machine.supervisor import Supervisor
from ledger.reads.port import Reads

Answer = TypeVar("Answer")

LOOK_S = 0.1
READY_S = 60.0
ROWS_S = 60.0
ANSWERS_S = 10.0
TELL_S = 5.0
LAST_RECORDS = 20
# A fresh reader connects first, which takes a while where the broker is far away.
CONNECT_S = 5.0


class NewestRows:
    """The position of the rows in a folder, read again and again."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._reads: Reads | None = None

    def position(self) -> int:
        """Return the position of the rows, 0 while no rows can be read."""
        try:
            if self._reads is None:
                self._reads = open_store(self._store)
            return self._reads.position()
        except LedgerError:
            self.close()
            return 0

    def close(self) -> None:
        """Close the rows."""
        if self._reads is not None:
            self._reads.close()
            self._reads = None


def wait_for_leader(address: Address, supervisor: Supervisor) -> int:
    """Wait until a sequencer leads, and return a position that the log has reached then.

    Raises LogUnavailableError if no sequencer leads in time, RoleEndedError if a role ended for
    good.
    """
    with closing(log_of(address)) as log:
        end = answer_of(lambda: log.ends(Topic.BEATS)[1], supervisor)
        with closing(log.reader(Topic.BEATS, end)) as beats:
            for _ in range(round(READY_S / LOOK_S)):
                look_after_all(supervisor)
                if any(beat_epoch(record.value) > 0 for record in beats.read(100, LOOK_S)):
                    return answer_of(lambda: reached(log), supervisor)
    raise LogUnavailableError(
        f"no sequencer of ledger {address.ledger} leads after {READY_S:.0f} s; their lines above "
        "say why"
    )


def answer_of(
    ask: Callable[[], Answer], supervisor: Supervisor, *, ready_s: float = READY_S
) -> Answer:
    """Return the answer of a broker, which may be late on a busy machine.

    Raises LogUnavailableError if no answer comes in time, RoleEndedError if a role ended for good.
    """
    until_s = time.monotonic() + ready_s
    while True:
        look_after_all(supervisor)
        try:
            return ask()
        except LogUnavailableError:
            if time.monotonic() >= until_s:
                raise
        time.sleep(LOOK_S)


def reached(log: Log) -> int:
    """Return a position that the log has reached, from its last records."""
    first, end = log.ends(Topic.EVENTS)
    with closing(log.reader(Topic.EVENTS, max(first, end - LAST_RECORDS))) as events:
        return newest_of(events.read(LAST_RECORDS, CONNECT_S))


def newest_of(records: Iterable[Record]) -> int:
    """Return the newest position in records of events, the first event's if no record has one."""
    newest = 1
    for record in records:
        try:
            control, kind = read_control(record.value)
        except UnreadableError:
            continue
        # A Fenced does not know its position.
        if kind is not RecordKind.FENCED:
            newest = max(newest, control.position)
    return newest


def wait_for_rows(
    store: Path,
    wanted: int,
    supervisor: Supervisor,
    say: Callable[[str], None],
    *,
    rows_s: float = ROWS_S,
    tell_s: float = TELL_S,
) -> bool:
    """Wait until the rows in a folder have reached a position; returns False after `rows_s`.

    How far they are is said every `tell_s`. Raises RoleEndedError when a role ended for good.
    """
    until_s, next_s = time.monotonic() + rows_s, time.monotonic() + tell_s
    with closing(NewestRows(store)) as rows:
        while (position := rows.position()) < wanted:
            look_after_all(supervisor)
            now_s = time.monotonic()
            if now_s >= until_s:
                return False
            if now_s >= next_s:
                next_s = now_s + tell_s
                say(f"the rows are still being made: position {position} of {wanted} can be read")
            time.sleep(LOOK_S)
    return True


def wait_for_answers(url: str, supervisor: Supervisor, *, answers_s: float = ANSWERS_S) -> bool:
    """Wait until a process listens at a URL; returns False after `answers_s`.

    Raises RoleEndedError when a role ended for good.
    """
    at, until_s = urlsplit(url), time.monotonic() + answers_s
    while time.monotonic() < until_s:
        look_after_all(supervisor)
        with suppress(OSError), socket.create_connection((at.hostname, at.port), CONNECT_S):
            return True
        time.sleep(LOOK_S)
    return False


def look_after_all(supervisor: Supervisor) -> None:
    """Restart the roles that ended; raises RoleEndedError for a role that would end so again."""
    for role in supervisor.roles:
        code = supervisor.look_after(role)
        if code is not None:
            raise RoleEndedError(
                f"{role.name} ended at once with code {code}; its lines above say why", code=code
            )
