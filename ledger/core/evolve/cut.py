"""Evolve a cut: the log lost its end, and continues above all numbers that may have been given.

The fold notes the numbers at which ids continue. The events that follow come from `decide.cut`:
earlier sessions end, and aborted txns take up the lost txn ids and write ids.
"""

from ledger.core.events.events import Control, LogCut
from ledger.core.state.domain import Cut, DomainState
from ledger.core.state.sessions import Session

APPLICATION = "lakeledger recover"


def log_cut(state: DomainState, control: Control, body: LogCut) -> None:
    """Note the cut, and drop all winners, so that no earlier read can be committed on."""
    assert body.base < control.position, f"a cut of {body.base} at {control.position}"
    floors = {each.table: (each.write_id, each.version) for each in body.tables}
    state.cuts.append(Cut(control.position, body.base, body.next_txn, floors))
    state.commands_topic = body.commands_topic
    state.tables.next_table = max(state.tables.next_table, body.next_table)
    state.winners.forget_all(control.position)
    # No client opened this session. Its nonce repeats itself, which a random one does not.
    nonce = control.chain * 2
    lease_ms = state.limits.lease_ms
    state.sessions.add(Session(control.position, nonce, body.author, "", APPLICATION, lease_ms))
