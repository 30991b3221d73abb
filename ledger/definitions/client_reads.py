"""The view of one client on its ledger: its read model, and the position that it must have reached.

A client reads its own writes: every read waits until the rows have reached the client's last write.
Nothing is opened before the first read.
"""

from collections.abc import Callable
from functools import cache, reduce
from importlib.metadata import entry_points
from operator import index, xor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from ledger.config.address import Address
from ledger.core.events.events import Control, TxnOpened
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.lists.visibility import listed
from ledger.core.state.txns import exception_hash
from ledger.errors import LogError, ReaderBehindError, SettingsError
from ledger.keys.folder import KeyFolder
from ledger.keys.keyed_reads import keyed
from ledger.log.port import Log
from ledger.reads.errors import check_number, unknown_object
from ledger.reads.metadata import Bounds, Metadata, Read
from ledger.reads.port import Identity, Reached, Reads
from ledger.session.receipt import Token

if TYPE_CHECKING:
    from ledger.session.channel import Channel

READS_GROUP: Final = "lakeledger.reads"
LOG_READS_GROUP: Final = "lakeledger.log_reads"


class View:
    """The reads of one client; threads may share it.

    Attributes:
        origin: a token of the domain.
        written: the position of this client's last write.
        seen: the newest position read or written; no later read shows less, or another log.
        zone: the time zone of this client's conditions, "" = UTC.
        keys: the keys of encrypted rows in the log, None without a folder of keys.
    """

    def __init__(
        self,
        channel: "Channel",
        origin: Token,
        open_reads: Callable[[], Reads],
        timeout_s: float,
        zone: str = "",
        *,
        keys: Path | None = None,
    ) -> None:
        self.origin = origin
        self.zone = zone
        self.keys = None if keys is None else KeyFolder(keys, origin.ledger)
        self.written = 0
        self.seen = Reached()
        self._last = Reached()
        self._channel = channel
        self._open_reads = open_reads
        self._timeout_ms = round(timeout_s * 1000)
        self._reads: Reads | None = None
        self._is_ours = False
        self._opening = Lock()
        self._noting = Lock()

    def note(self, control: Control) -> None:
        """Note the answer to a write of this client, which every later read sees."""
        written = Reached(control.position, control.chain.hex())
        with self._noting:
            self.written = max(self.written, control.position)
            self._last = max(self._last, written)
        self._note_seen(written)

    def token(self) -> Token:
        """Return the token of this client's last write."""
        return self.origin.at(*self._last[:2])

    def token_at(self, control: Control) -> Token:
        """Return the token of an event."""
        return self.origin.at(control.position, control.chain.hex())

    def reads(self, place: Token | int = 0, timeout_ms: int | None = None) -> Reads:
        """Return the read model, at a place and at this client's last write, or later.

        Raises SettingsError if there is no read model, or one of another ledger, LogRewrittenError
        if the log has lost the position of a token, or one that this client has seen,
        ReaderBehindError if the read model stays behind, and as `position_of`.
        """
        return self.look(place, timeout_ms)[1]

    def look(self, place: Token | int = 0, timeout_ms: int | None = None) -> tuple[int, Reads]:
        """Return a position that the read model has reached, and the read model; as `reads`."""
        position = self.position_of(place)
        timeout_ms = self._timeout_ms if timeout_ms is None else timeout_ms
        reads = self.at_hand(timeout_ms)
        reached = reads.reach(max(position, self.written), self.seen, timeout_ms)
        self._note_seen(reached)
        if isinstance(place, Token) and position and not self._has_seen(place):
            reads.reach(position, place.seen, timeout_ms)
        return reached.position, reads

    def _has_seen(self, token: Token) -> bool:
        """Return whether this client compares the position of a token with the log anyway."""
        return (token.position, token.chain) in {self.seen[:2], self._last[:2]}

    def _note_seen(self, reached: Reached) -> None:
        with self._noting:
            if reached.position > self.seen.position:
                self.seen = reached

    def metadata(self, read: Read, place: Token | int = 0) -> Metadata:
        """Return the metadata of a table, at a place and at this client's last write.

        Raises UnknownTableError if the reader sees no such table, and as `reads`.
        """
        reads = self.reads(place)
        bounds = Bounds(max(self.position_of(place), self.written), self._timeout_ms)
        answer = reads.metadata([read], bounds)[0]
        if answer.value is None:
            raise unknown_object(read.table, read.what, answer.position)
        return answer.value

    def at_hand(self, timeout_ms: int = 0) -> Reads:
        """Return the read model as it is, however far behind, after a check of its ledger.

        Raises SettingsError if there is no read model, or one of another ledger, and
        ReaderBehindError if it does not know its ledger in time.
        """
        self._channel.check()
        with self._opening:
            if self._reads is None:
                folder = None if self.keys is None else self.keys.path
                self._reads = keyed(self._open_reads(), folder)
            reads = self._reads
        if not self._is_ours:
            check_identity(reads, self.origin, timeout_ms)
            self._is_ours = True
        return reads

    def position_of(self, place: Token | int) -> int:
        """Return a position.

        Raises ValueError for a token of another ledger or domain and for an impossible position,
        TypeError for anything else.
        """
        if isinstance(place, Token):
            return place.position_in(self.origin)
        try:
            position = index(place)
        except TypeError:
            raise TypeError(
                f"a position must be a token or a whole number, got {place!r}"
            ) from None
        check_number("position", position)
        return position

    def held_txn_list(self, control: Control, opened: TxnOpened, txn: int) -> ValidTxnList:
        """Return the valid txn list of `txn` as of its TxnOpened, whose `inline` is false.

        Raises LogError if the read model does not agree with the digest in the log.
        """
        then = self.reads(control.position).valid_txns(control.position)
        before = [(each, False) for each in then.open if each < control.txn]
        before += [(each, True) for each in then.aborted if each < control.txn]
        if reduce(xor, (exception_hash(each, aborted=how) for each, how in before), 0) != (
            opened.digest
        ):
            raise LogError(
                f"the open and aborted txns of the read model differ from the log at position "
                f"{control.position}. Rebuild its store from the log"
            )
        return listed(
            txn,
            tuple(each for each in then.open if each < txn),
            tuple(each for each in then.aborted if each < txn),
        )

    def close(self) -> None:
        """Close the read model, if it was opened."""
        with self._opening:
            if self._reads is not None:
                self._reads.close()
                self._reads = None


def check_identity(reads: Reads, origin: Token, timeout_ms: int) -> None:
    """Check that reads are of the ledger of the token `origin`.

    Raises SettingsError if they are not, ReaderBehindError if they do not know their ledger yet.
    """
    found = identity_of(reads, timeout_ms)
    if Token(found.ledger, found.domain, 0) != origin.at(0):
        raise other_ledger(found, f"the log belongs to {origin}")


def check_ledger_name(found: Identity, name: str) -> None:
    """Check that rows are of the requested ledger; raises SettingsError if they are not."""
    if found.name != name:
        raise other_ledger(found, f"ledger {name} was requested")


def other_ledger(found: Identity, wanted: str) -> SettingsError:
    """Return the error for rows of another ledger."""
    return SettingsError(
        f"the rows belong to ledger {found.name} ({found.ledger}, domain {found.domain}), but "
        f"{wanted}. Let LAKELEDGER_STORE, LAKELEDGER_READS_URL, reads=... or --url name rows of "
        "that ledger"
    )


def identity_of(reads: Reads, timeout_ms: int) -> Identity:
    """Return the ledger of some reads; wait until they know it."""
    while True:
        try:
            return reads.identity()
        except ReaderBehindError as behind:
            reads.wait(behind.wanted, timeout_ms)


def open_rows(address: Address | None) -> Reads:
    """Return the reads that an address names: this host's store, else the URL.

    Raises SettingsError if it names neither.
    """
    if address is None or address.store or not address.reads_url:
        return open_store(address.store if address is not None else None)
    from ledger.reads.remote.http import HttpReads  # noqa: PLC0415 - loads the HTTP client

    return HttpReads(address.reads_url)


def open_store(store: Path | None, group: str = READS_GROUP) -> Reads:
    """Return the reads of the store at a path, by the installed entry point.

    Raises SettingsError without an entry point, or without a store.
    """
    if store is None:
        raise SettingsError(
            "reads need the rows of a follower. Set LAKELEDGER_STORE to their folder, or "
            "LAKELEDGER_READS_URL to the address of a follower, start `lakeledger up` on this "
            "machine, or give reads=... to Ledger.connect"
        )
    reader = installed_reader(group)
    if reader is None:
        raise SettingsError(
            f"no installed package reads the store at {store} (no entry point {group}). "
            "Install the lakeledger distribution, or give reads=... to Ledger.connect"
        )
    return reader(store)


def open_log(log: Log, group: str = LOG_READS_GROUP) -> Reads:
    """Return reads that make the rows of a log in memory, by the installed entry point.

    Raises SettingsError without an entry point.
    """
    reader = installed_reader(group)
    if reader is None:
        raise SettingsError(
            f"no installed package reads a log in memory (no entry point {group}). Install "
            "the lakeledger distribution of this version"
        )
    return reader(log)


# It reads what every installed distribution says of itself, which takes milliseconds.
@cache
def installed_reader(group: str) -> Callable[[Any], Reads] | None:
    """Return the first entry point of a group, None if absent."""
    for point in entry_points(group=group):
        found: Callable[[Any], Reads] = point.load()
        return found
    return None
