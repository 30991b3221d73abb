"""Silence: the longest pause between a session's heartbeats, and the cause of an expiry.

A Python thread sends the beats. It stands still while a call in C holds the interpreter's lock, and
then the process cannot beat at all. The leader sees only that no beat comes.
"""

from math import ceil
from time import monotonic
from typing import Final

from ledger.config.settings import LEASE_MAX_S
from ledger.errors import LogRefusedError

SILENCES_PER_LEASE: Final = 2
"""A lease this many times as long as the observed silence survives another one."""


class Silence:
    """The beats and commands of one session, as its process sent them; threads may share it."""

    __slots__ = ("_lease_s", "_longest_s", "_refused", "_sign_s")

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._longest_s = 0.0
        self._refused: LogRefusedError | None = None
        self._sign_s = monotonic()

    def note_sign(self, refused: Exception | None = None) -> None:
        """Note a beat or a command just sent; `refused` is the error of an earlier beat."""
        if isinstance(refused, LogRefusedError):
            self._refused = refused
        now_s = monotonic()
        self._longest_s = max(self._longest_s, now_s - self._sign_s)
        self._sign_s = now_s

    def told(self) -> str:
        """Return why the session expired, as far as this process knows, and what helps."""
        if self._refused is not None:
            return (
                f"The broker refused the beats of this process: {self._refused}. Sessions end with "
                f"their lease of {self._lease_s:g} s until it takes them"
            )
        silent_s = max(self._longest_s, monotonic() - self._sign_s)
        if silent_s < self._lease_s:
            return (
                f"Its lease was {self._lease_s:g} s, and this process paused for {silent_s:.1f} s "
                "at most between two beats: they did not reach the sequencer. Check whether broker "
                "or network were down, or this machine slept"
            )
        wanted_s = min(LEASE_MAX_S, ceil(SILENCES_PER_LEASE * silent_s))
        return (
            f"The beats of this process stopped for {silent_s:.1f} s, and the lease was "
            f"{self._lease_s:g} s. A usual cause is a call in C that holds the interpreter's lock, "
            "such as a long sort, pickle or regular expression; another is a stopped process. For "
            f"such work connect with Ledger.connect(lease_s={wanted_s:g}), or set "
            "LAKELEDGER_LEASE_S"
        )
