"""Evolve a cut: the log lost its end, and goes on above all that may have been given.

The fold takes note of where the ids go on. What was lost gets its place by the events that follow,
which `decide_cut` tells: former sessions end, lost txn ids and write ids are those of aborted txns.
"""

from ledger.core.events.events import Control, LogCut
from ledger.core.state.domain import Cut, DomainState
from ledger.core.state.sessions import Session

APPLICATION = "lakeledger recover"


def log_cut(state: DomainState, control: Control, body: LogCut) -> None:
    """Note the cut, and let nothing be built on what was read before it."""
    assert body.base < control.position, f"a cut of {body.base} at {control.position}"
    floors = {each.table: (each.write_id, each.version) for each in body.tables}
    state.cuts.append(Cut(control.position, body.base, body.next_txn, floors))
    state.commands_topic = body.commands_topic
    state.tables.next_table = max(state.tables.next_table, body.next_table)
    state.winners.forget_all(control.position)
    # Nobody opened it, so its nonce is one that no client draws.
    nonce = control.chain * 2
    lease_ms = state.limits.lease_ms
    state.sessions.add(Session(control.position, nonce, body.author, "", APPLICATION, lease_ms))
