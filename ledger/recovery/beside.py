"""A backup read beside a log: the events that they share, and the events only in the backup."""

from collections.abc import Iterator

from ledger.backup.contents import manifest_in, parts
from ledger.backup.manifest import Manifest
from ledger.backup.place import BackupPlace
from ledger.backup.taking import check_ledger
from ledger.core.acceptance import LogHead
from ledger.core.decide.cut import SeenBeforeCut, seen_in
from ledger.core.events.events import Event, LedgerCreated
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import dump, load
from ledger.recovery.lost_txns import lost_in
from ledger.recovery.witnesses import BACKUP, LostTxn, Witness


class BackupBeside:
    """A backup of the ledger of `created`, compared with its log event by event.

    Raises BackupForeignError for a backup of another ledger, and as `manifest_in` and `parts`.
    """

    def __init__(self, place: BackupPlace, created: LedgerCreated) -> None:
        manifest = manifest_in(place)
        check_ledger(place, manifest, created)
        self.name = f"{BACKUP}{place.path}"
        self.shared = 0
        self._head = manifest.reached.head
        self._events = events_in(place, manifest)
        self._next = next(self._events, None)
        self._state: DomainState | None = None

    def take(self, event: Event, before: DomainState) -> None:
        """Compare the next event of the log; `before` is the state before that event."""
        if self._state is not None or self._next is None:
            return
        if self._next.control == event.control:
            self.shared = event.control.position
            self._next = next(self._events, None)
        else:
            self._state = copy_of(before)

    def end(self, state: DomainState) -> tuple[Witness, list[LostTxn]]:
        """Return the backup as a witness, and the txns whose later events only it holds.

        `state` is the state at the end of the log. Call it once, after the last event of the log.
        """
        if self._next is None:
            # All of it is in the log.
            return Witness(self.name, SeenBeforeCut(self.shared)), []
        state = self._state if self._state is not None else copy_of(state)
        lost = list(lost_in(self._rest(), state, self.name))
        return Witness(self.name, seen_in(state, self._head.epoch), self._head.chain.hex()), lost

    def _rest(self) -> Iterator[Event]:
        if self._next is not None:
            yield self._next
        yield from self._events


def events_in(place: BackupPlace, manifest: Manifest) -> Iterator[Event]:
    """Yield the events of a backup that count; raises as `parts`."""
    acceptor = Acceptor(LogHead())
    head = acceptor.head
    for part in parts(place, manifest):
        for record in part.records:
            if (record.position, record.chain) != (head.position, head.chain):
                event = acceptor.take(record.value)
                if event is not None:
                    yield event


def copy_of(state: DomainState) -> DomainState:
    """Return an independent copy of a state."""
    return load(dump(state, LogHead(last_cmd=state.last_cmd), 0)).state
