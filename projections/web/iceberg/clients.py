"""Clients: a connected ledger for each user, so that the log names the author of a change.

A user is the name of a token. Few ledgers are open at once: each has a session with heartbeats.
An idle one gives way to that of another user. All of them are connected anew after an
error of the rows or the log, since a follower may make its rows anew meanwhile.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from ledger.client import Ledger
from projections.web.answers.problems import BusyError

USERS_MAX: Final = 32


class UserLedger:
    """The ledger of a user, and how many requests use it now."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.uses = 0
        self.is_left = False


class UserLedgers:
    """At most `most` ledgers, by user; None is the user of this process. Threads may share it."""

    def __init__(self, connect: Callable[[str | None], Ledger], most: int = USERS_MAX) -> None:
        self._connect = connect
        self._most = most
        self._known: OrderedDict[str | None, UserLedger] = OrderedDict()
        self._turn = Lock()
        self._written = 0

    @contextmanager
    def of(self, user: str | None) -> Iterator[Ledger]:
        """Yield the ledger of a user; raises BusyError if all are in use, and as `connect`."""
        taken = self._take(user)
        try:
            yield taken.ledger
        finally:
            self._give_back(taken)

    def written(self) -> int:
        """Return the position of the newest write of any user."""
        with self._turn:
            for each in self._known.values():
                self._written = max(self._written, each.ledger.token.position)
            return self._written

    def __len__(self) -> int:
        with self._turn:
            return len(self._known)

    def leave(self) -> None:
        """Close every ledger, the ones in use as soon as they are given back."""
        self.written()
        with self._turn:
            left = list(self._known.values())
            self._known.clear()
            for each in left:
                each.is_left = True
            idle = [each for each in left if not each.uses]
        for each in idle:
            each.ledger.close()

    def _take(self, user: str | None) -> UserLedger:
        with self._turn:
            found, idle = self._known.get(user), None
            if found is None:
                idle = self._make_room()
                found = self._known[user] = UserLedger(self._connect(user))
            found.uses += 1
            self._known.move_to_end(user)
        if idle is not None:
            idle.ledger.close()
        return found

    def _make_room(self) -> UserLedger | None:
        if len(self._known) < self._most:
            return None
        for user, each in self._known.items():
            if not each.uses:
                self._written = max(self._written, each.ledger.token.position)
                return self._known.pop(user)
        raise BusyError(f"{self._most} users make changes now; ask again in a moment")

    def _give_back(self, taken: UserLedger) -> None:
        with self._turn:
            taken.uses -= 1
            is_last = taken.is_left and not taken.uses
        if is_last:
            taken.ledger.close()
