"""How txns end without a commit, and when what they left may be forgotten, as tables.

The refusals of a command stand in the order they are checked: what a row does wrong, the rows above
it do wrong as well, as far as one command can.
"""

from ledger.core.commands import AbortTxn, ForgetAborted, StageWrites
from ledger.core.events.events import (
    AbortedForgotten,
    CommandRepeated,
    Event,
    SessionClosed,
    TxnAborted,
)
from ledger.core.events.parts import AbortedPart, ForgottenPart, TxnEnd
from ledger.core.refusals import Reason
from tests.core.parts import footprint
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses


def stage_and_read(scene: Scene) -> Event:
    """Stage a chunk that removes a file of one table, and one that only reads another."""
    chunks = {
        scene.flights: footprint(remove=["a"]),
        scene.planes: footprint("", read=["b"], data_change=False),
    }
    staged = [
        scene.ask(StageWrites(*scene.asks(scene.ada), scene.mine, table, 1, chunk))
        for table, chunk in chunks.items()
    ]
    return staged[-1]


ABORT = [
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: AbortTxn(*s.asks(s.ada), MISSING, "", None),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: AbortTxn(*s.asks(s.ada), s.state.txns.next_txn, "", None),
        lambda s: s.state.txns.next_txn,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it committed at position",
        lambda s: AbortTxn(*s.asks(s.ada), s.committed, "", None),
        lambda s: s.committed,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it ended too long ago to be remembered",
        lambda s: AbortTxn(*s.asks(s.ada), s.forgotten, "", None),
        lambda s: s.forgotten,
    ),
]
FORGET = [
    Refusal(
        Reason.COMMAND_INVALID,
        "either txns or write_ids",
        lambda s: ForgetAborted(*s.asks(s.ada), [], s.planes, []),
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "either txns or write_ids",
        lambda s: ForgetAborted(*s.asks(s.ada), [s.failed], s.planes, [2]),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 ids, got 4",
        lambda s: ForgetAborted(*s.asks(s.ada), [MISSING] * 4, 0, []),
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "1 to 3 ids, got 4",
        lambda s: ForgetAborted(*s.asks(s.ada), [], MISSING, [1] * 4),
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "is open",
        lambda s: ForgetAborted(*s.asks(s.ada), [s.failed, s.mine], 0, []),
        lambda s: s.mine,
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "is committed",
        lambda s: ForgetAborted(*s.asks(s.ada), [s.committed], 0, []),
        lambda s: s.committed,
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "is forgotten already",
        lambda s: ForgetAborted(*s.asks(s.ada), [s.forgotten_failed], 0, []),
        lambda s: s.forgotten_failed,
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "is unknown",
        lambda s: ForgetAborted(*s.asks(s.ada), [MISSING], 0, []),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "write id 1 of table 2",
        lambda s: ForgetAborted(*s.asks(s.ada), [], s.planes, [2, 1]),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "write id -7 of table 2",
        lambda s: last(
            s.abort(s.ada, s.mine, wrote=[s.planes]),
            ForgetAborted(*s.asks(s.ada), [], s.planes, [-s.mine]),
        ),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.TXN_NOT_ABORTED,
        "write id 1 of table 404",
        lambda s: ForgetAborted(*s.asks(s.ada), [], MISSING, [1]),
        lambda _: MISSING,
    ),
]
REFUSALS = [*ABORT, *FORGET]
test_refused = refuses(REFUSALS)


def forget_one_of_two(scene: Scene) -> Event:
    """Forget one write id of a txn that left data in two tables."""
    scene.fails(scene.planes, scene.flights)
    return scene.ask(ForgetAborted(*scene.asks(scene.ada), [], scene.planes, [3]))


ACCEPTED = [
    Accepted(
        "an owner that says nothing has written wherever it holds a write id",
        lambda s: last(s.allocate(s.ada, [s.mine], [s.flights, s.planes]), s.abort(s.ada, s.mine)),
        lambda s: TxnAborted(
            "no longer wanted",
            one_shot=False,
            parts=[
                AbortedPart(s.flights, 2, 0, wrote=True),
                AbortedPart(s.planes, 3, 0, wrote=True),
            ],
            evidence=None,
        ),
    ),
    Accepted(
        "an owner is believed about what it wrote",
        lambda s: last(
            s.allocate(s.ada, [s.mine], [s.flights, s.planes]),
            s.abort(s.ada, s.mine, wrote=[s.planes, s.gone, s.weather]),
        ),
        lambda s: TxnAborted(
            "no longer wanted",
            one_shot=False,
            parts=[
                AbortedPart(s.flights, 2, 0, wrote=False),
                AbortedPart(s.planes, 3, 0, wrote=True),
            ],
            evidence=None,
        ),
    ),
    Accepted(
        "anyone may abort, but only the owner is believed",
        lambda s: last(s.allocate(s.ada, [s.mine], [s.planes]), s.abort(s.bob, s.mine, wrote=[])),
        lambda s: TxnAborted(
            "no longer wanted",
            one_shot=False,
            parts=[AbortedPart(s.planes, 3, 0, wrote=True)],
            evidence=None,
        ),
    ),
    Accepted(
        "an abort counts the changes that will not come",
        lambda s: s.abort(s.bob, s.others, wrote=[]),
        lambda s: TxnAborted(
            "no longer wanted",
            one_shot=False,
            parts=[AbortedPart(s.draft, 1, 1, wrote=False)],
            evidence=None,
        ),
    ),
    Accepted(
        "an abort counts the changes of a table that takes no write ids",
        lambda s: last(
            s.rename_table(s.ada, s.weather, "wind", txn=s.mine), s.abort(s.ada, s.mine)
        ),
        lambda s: TxnAborted(
            "no longer wanted",
            one_shot=False,
            parts=[AbortedPart(s.weather, 0, 1, wrote=False)],
            evidence=None,
        ),
    ),
    Accepted(
        "who staged a list of files has written, whatever else the chunk says",
        lambda s: last(
            s.ask(StageWrites(*s.asks(s.ada), s.mine, s.planes, 1, footprint(files=b"listed"))),
            s.abort(s.bob, s.mine),
        ),
        lambda s: TxnAborted(
            "no longer wanted",
            one_shot=False,
            parts=[AbortedPart(s.planes, 0, 0, wrote=True)],
            evidence=None,
        ),
    ),
    Accepted(
        "an abort of an aborted txn is a repeat",
        lambda s: s.abort(s.bob, s.failed),
        lambda s: CommandRepeated(
            b"", s.state.txns.status(s.failed)[1], "TxnAborted", s.failed, 1, []
        ),
    ),
    Accepted(
        "aborted txns are forgotten with all they left",
        lambda s: s.forget(s.bob, [s.empty_failed, s.failed]),
        lambda s: AbortedForgotten([s.failed, s.empty_failed], [ForgottenPart(s.failed, s.planes)]),
    ),
    Accepted(
        "a txn is forgotten with the last write id that held data",
        lambda s: s.ask(ForgetAborted(*s.asks(s.ada), [], s.planes, [2])),
        lambda s: AbortedForgotten([s.failed], [ForgottenPart(s.failed, s.planes)]),
    ),
    Accepted(
        "a txn stays while another table holds its data",
        forget_one_of_two,
        lambda s: AbortedForgotten([], [ForgottenPart(s.others + 1, s.planes)]),
    ),
    Accepted(
        "a session closes with a txn that staged writes to one table, and only reads of another",
        lambda s: last(stage_and_read(s), s.close_session(s.ada)),
        lambda s: SessionClosed(
            [
                TxnEnd(s.mine, "closed", [AbortedPart(s.flights, 0, 0, wrote=True)]),
                TxnEnd(s.reading, "closed", []),
            ]
        ),
    ),
    Accepted(
        "a session closes with its open txns, about which it said nothing",
        lambda s: last(s.allocate(s.ada, [s.mine], [s.planes]), s.close_session(s.ada)),
        lambda s: SessionClosed(
            [
                TxnEnd(s.mine, "closed", [AbortedPart(s.planes, 3, 0, wrote=True)]),
                TxnEnd(s.reading, "closed", []),
            ]
        ),
    ),
]
test_accepted = accepts(ACCEPTED)
