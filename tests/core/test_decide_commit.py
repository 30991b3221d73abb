"""What a commit is refused for, which leaves its txn open, and what it says when it wins.

The refusals stand in the order they are checked: what a row does wrong, the rows above it do wrong
as well, as far as one command can.
"""

from ledger.core.commands import CoarseWrite, CommitTxn, RenameTable, TableWrite
from ledger.core.events.events import CommandRepeated, TxnCommitted
from ledger.core.events.parts import CommittedPart
from ledger.core.refusals import Reason
from tests.core.parts import part, partition
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import write

AHEAD = 1_000_000
ROWS = CoarseWrite("unpartitioned", "", "update")


def update(table: int, read_at: int = 0) -> TableWrite:
    """Return a part that changed rows of an unpartitioned table."""
    return write(table, operation="update", read_at=read_at)


def commit(scene: Scene, txn: int, *parts: TableWrite) -> CommitTxn:
    return CommitTxn(*scene.asks(scene.ada), txn, parts)


REFUSALS = [
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: commit(s, MISSING, update(MISSING), update(MISSING)),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it was aborted at position",
        lambda s: commit(s, s.failed, update(MISSING), update(MISSING)),
        lambda s: s.failed,
    ),
    Refusal(
        Reason.TXN_NOT_OPEN,
        "it ended too long ago to be remembered",
        lambda s: CommitTxn(*s.asks(s.bob), s.forgotten, ()),
        lambda s: s.forgotten,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "table 404 has two parts",
        lambda s: commit(s, s.others, *[update(MISSING, AHEAD)] * 4),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        "3 tables at most, got 4",
        lambda s: commit(s, s.others, *(update(MISSING + each, AHEAD) for each in range(4))),
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: commit(s, s.others, update(MISSING, AHEAD)),
        lambda s: s.others,
    ),
    Refusal(Reason.COMMAND_INVALID, "without a txn must write", lambda s: commit(s, 0)),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: commit(s, s.reading, update(MISSING, AHEAD)),
        lambda s: s.reading,
    ),
    Refusal(
        Reason.READ_AT_AHEAD,
        "the newest position 30, got",
        lambda s: commit(s, s.mine, update(MISSING, s.position() + 1)),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: commit(s, s.mine, update(MISSING)),
        lambda _: MISSING,
    ),
    Refusal(Reason.UNKNOWN_TABLE, "there is no table 0", lambda s: commit(s, 0, update(0))),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: commit(s, s.mine, update(s.draft)),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: commit(s, 0, update(s.draft)),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.TABLE_EXTERNAL,
        "weather is an external table",
        lambda s: commit(s, 0, update(s.weather)),
        lambda s: s.weather,
    ),
    Refusal(
        Reason.WRITE_ID_REQUIRED,
        "files of table planes",
        lambda s: commit(s, 0, update(s.planes)),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.WRITE_ID_REQUIRED,
        "files of table planes",
        lambda s: commit(s, s.mine, part(s.planes, adds=[partition()])),
        lambda s: s.planes,
    ),
    Refusal(
        Reason.READ_AT_REQUIRED,
        "read_at",
        lambda s: commit(s, 0, update(s.flights)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(s, 0, update(s.flights, s.floor - 1)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(s, s.mine, update(s.flights, s.floor - 1)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: commit(s, s.mine, write(s.flights, read_at=s.floor - 1)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.SNAPSHOT_TOO_OLD,
        "no longer remembered",
        lambda s: last(
            s.ask(RenameTable(*s.asks(s.ada), s.mine, s.floor - 1, s.flights, "departures")),
            commit(s, s.mine),
        ),
        lambda s: s.flights,
    ),
]
test_refused = refuses(REFUSALS)

ACCEPTED = [
    Accepted(
        "a txn that wrote nothing",
        lambda s: s.commit(s.ada, s.mine),
        lambda _: TxnCommitted("default", one_shot=False, parts=[]),
    ),
    Accepted(
        "a read-only txn",
        lambda s: s.commit(s.ada, s.reading),
        lambda _: TxnCommitted("read_only", one_shot=False, parts=[]),
    ),
    Accepted(
        "a table with a write id is a part even if nothing is said of it",
        lambda s: last(s.allocate(s.ada, [s.mine], [s.planes]), s.commit(s.ada, s.mine)),
        lambda s: TxnCommitted(
            "default", one_shot=False, parts=[CommittedPart(s.planes, s.snapshot, 3, 1, 0, [])]
        ),
    ),
    Accepted(
        "a listed table gives its write id at the commit",
        lambda s: s.commit(s.ada, s.mine, update(s.flights)),
        lambda s: TxnCommitted(
            "default", one_shot=False, parts=[CommittedPart(s.flights, s.snapshot, 2, 2, 0, [ROWS])]
        ),
    ),
    Accepted(
        "parts ascend by table, and a write id taken before stays",
        lambda s: last(
            s.allocate(s.ada, [s.mine], [s.planes, s.flights]),
            s.commit(s.ada, s.mine, update(s.planes), update(s.flights, s.floor)),
        ),
        lambda s: TxnCommitted(
            "default",
            one_shot=False,
            parts=[
                CommittedPart(s.flights, s.floor, 2, 2, 0, [ROWS]),
                CommittedPart(s.planes, s.snapshot, 3, 1, 0, [ROWS]),
            ],
        ),
    ),
    Accepted(
        "its own table, which nobody else sees",
        lambda s: s.commit(s.bob, s.others, update(s.draft)),
        lambda s: TxnCommitted(
            "default", one_shot=False, parts=[CommittedPart(s.draft, s.seen, 1, 0, 1, [ROWS])]
        ),
    ),
    Accepted(
        "one-shot, with a write id of its own",
        lambda s: s.commit(s.ada, 0, update(s.flights, s.floor)),
        lambda s: TxnCommitted(
            "default", one_shot=True, parts=[CommittedPart(s.flights, s.floor, 2, 2, 0, [ROWS])]
        ),
    ),
    Accepted(
        "a one-shot insert need not say what it read",
        lambda s: s.commit(s.ada, 0, write(s.flights)),
        lambda s: TxnCommitted(
            "default",
            one_shot=True,
            parts=[
                CommittedPart(
                    s.flights, 0, 2, 2, 0, [CoarseWrite("unpartitioned", "", "insert")], blind=True
                )
            ],
        ),
    ),
    Accepted(
        "a txn that committed long ago is told so by the session that committed it",
        lambda s: s.ask(commit(s, s.forgotten)),
        lambda s: CommandRepeated(b"", s.forgotten_at, "TxnCommitted", s.forgotten, 1, []),
    ),
    Accepted(
        "twice under another number, by anyone",
        lambda s: s.commit(s.bob, s.committed, update(MISSING)),
        lambda s: CommandRepeated(b"", s.committed_at, "TxnCommitted", s.committed, 1, []),
    ),
]
test_accepted = accepts(ACCEPTED)
