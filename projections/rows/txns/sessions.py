"""Sessions: the clients, and the first answer to each command.

An answer row is made from the session in the core's state. So a repeat finds the first answer, and
a command refused because its session ended leaves no row.
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
    """The client that opened a session."""

    user: str = ""
    host: str = ""
    application: str = ""
    lease_ms: int = 0


def opened(applied: Applied, body: SessionOpened) -> list[RowChange]:
    """Return the rows of a session that opened: its client, and its nonce."""
    position = applied.control.position
    fields = SessionFields(
        user=body.user, host=body.host, application=body.application, lease_ms=body.lease_ms
    )
    return [
        (number_key(SESSION, position), fields.value()),
        (NONCE + body.nonce, value(position)),
        *answered(applied, body),
    ]


def cut(applied: Applied, _body: LogCut) -> list[RowChange]:
    """Return the row of the session that the cut opened, which takes over lost txns."""
    session = applied.state.sessions.by_number[applied.control.position]
    fields = SessionFields(
        user=session.user,
        host=session.host,
        application=session.application,
        lease_ms=session.lease_ms,
    )
    return [(number_key(SESSION, session.number), fields.value())]


def closed(applied: Applied, body: SessionClosed) -> list[RowChange]:
    """Return the row of the end of a session that its client closed."""
    control = applied.control
    end = number_key(SESSION_END, control.session), value(control.position)
    return [end, *answered(applied, body)]


def expired(applied: Applied, body: TxnsExpired) -> list[RowChange]:
    """Return the rows of the ends of silent sessions."""
    end = value(applied.control.position)
    return [(number_key(SESSION_END, session), end) for session in body.sessions]


def answered(applied: Applied, _body: object) -> list[RowChange]:
    """Return the row of the answered command, if its session still holds the answer."""
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
