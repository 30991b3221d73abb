"""Sessions: who asked, and what each command was answered first.

An answer row is written from what the core remembers of the session, so a repeat finds the first
answer there and a command that was refused because its session is gone leaves no row.
"""

from collections.abc import Mapping
from typing import Final, get_args

from ledger.core.events.events import Answer, LogCut, SessionClosed, SessionOpened, TxnsExpired
from projections.rows.applied import Applied
from projections.rows.keys import (
    ANSWER,
    NONCE,
    SESSION,
    SESSION_END,
    Fields,
    number_key,
    pair_key,
    value,
)
from projections.rows.projection import Rows
from projections.store.port import RowChange


class SessionFields(Fields):
    """Who opened a session."""

    user: str = ""
    host: str = ""
    application: str = ""
    lease_ms: int = 0


def opened(applied: Applied, body: SessionOpened) -> list[RowChange]:
    """Return the rows of a session that opened: who it is, and under which nonce it did."""
    position = applied.control.position
    fields = SessionFields(
        user=body.user,
        host=body.host,
        application=body.application,
        lease_ms=body.lease_ms,
    )
    return [
        (number_key(SESSION, position), fields.value()),
        (NONCE + body.nonce, value(position)),
        *answered(applied, body),
    ]


def cut(applied: Applied, _body: LogCut) -> list[RowChange]:
    """Return the row of the session that takes up what was lost."""
    session = applied.state.sessions.by_number[applied.control.position]
    fields = SessionFields(
        user=session.user,
        host=session.host,
        application=session.application,
        lease_ms=session.lease_ms,
    )
    return [(number_key(SESSION, session.number), fields.value())]


def closed(applied: Applied, body: SessionClosed) -> list[RowChange]:
    """Return the row of a session's end at its own wish."""
    control = applied.control
    end = number_key(SESSION_END, control.session), value(control.position)
    return [end, *answered(applied, body)]


def expired(applied: Applied, body: TxnsExpired) -> list[RowChange]:
    """Return the rows of the ends of silent sessions."""
    end = value(applied.control.position)
    return [(number_key(SESSION_END, session), end) for session in body.sessions]


def answered(applied: Applied, _body: object) -> list[RowChange]:
    """Return the row of the answered command, if its session remembers it."""
    n = applied.control.n
    session = applied.state.sessions.by_number.get(applied.control.session)
    if session is None or n not in session.answers:
        return []
    return [(pair_key(ANSWER, session.number, n), value(session.answers[n]))]


ROWS: Final[Mapping[type, Rows]] = {
    **dict.fromkeys(get_args(Answer), answered),
    SessionOpened: opened,
    LogCut: cut,
    SessionClosed: closed,
    TxnsExpired: expired,
}
