"""Sessions: who asked, and what each command was answered first.

An answer row is written from what the core remembers of the session, so a repeat finds the first
answer there and a command that was refused because its session is gone leaves no row.
"""

from collections.abc import Iterator
from typing import Final

from ledger.core.events import SessionClosed, SessionOpened, TxnsExpired
from projections.applied import Applied
from projections.projection import EVERY
from projections.rows import (
    ANSWER,
    NONCE,
    SESSION,
    SESSION_END,
    Fields,
    number_key,
    pair_key,
    value,
)
from projections.store.port import RowChange

EVENTS: Final = EVERY


class SessionFields(Fields):
    """Who opened a session."""

    user: str = ""
    host: str = ""
    application: str = ""
    lease_ms: int = 0


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the rows of a session that opened, of those that ended, and of an answer."""
    control, body = applied.event
    match body:
        case SessionOpened():
            yield number_key(SESSION, control.position), opened(body).value()
            yield NONCE + body.nonce, value(control.position)
        case SessionClosed():
            yield number_key(SESSION_END, control.session), value(control.position)
        case TxnsExpired():
            for session in body.sessions:
                yield number_key(SESSION_END, session), value(control.position)
        case _:
            pass
    yield from answers(applied)


def opened(body: SessionOpened) -> SessionFields:
    """Return who opened a session."""
    return SessionFields(
        user=body.user,
        host=body.host,
        application=body.application,
        lease_ms=body.lease_ms,
    )


def answers(applied: Applied) -> Iterator[RowChange]:
    """Return the row of the answered command, if its session remembers it."""
    control = applied.event.control
    session = applied.state.sessions.by_number.get(control.session)
    if session is not None and control.n in session.answers:
        yield pair_key(ANSWER, session.number, control.n), value(session.answers[control.n])
