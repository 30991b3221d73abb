"""The accept rule, record by record: every verdict and every damage, in the order of the rule."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.acceptance import NO_CHAIN, LogHead, RecordKind, Verdict, accept, placed
from ledger.core.events.events import Body, CommandRefused, CommandsMoved, Control, Fenced, Resigned
from ledger.errors import LogDamagedError
from ledger.log.wire.codec import frame_event, frame_fence, read_control

MANY = settings(max_examples=100, deadline=None, derandomize=True)
CHAIN, OTHER_CHAIN = b"continue", b"elsewher"
HEAD = LogHead(epoch=2, position=10, chain=CHAIN, last_cmd=5)
ANSWER = CommandRefused(b"", "CommandInvalid", "no", 0)
INTERNAL = Resigned("leader")
MOVED = CommandsMoved("commands-1", "retention")
FENCED = Fenced(b"nonce", "claimant", 1, 1)


class Row(NamedTuple):
    """A record behind HEAD; `last_cmd` is the one after it where it counts."""

    name: str
    epoch: int
    position: int
    cmd: int
    body: Body
    chain: bytes
    verdict: Verdict
    last_cmd: int = 5


def framed(row: Row) -> bytes:
    control = Control(NO_CHAIN, row.epoch, row.position, row.cmd, 0, 0, 0, 0)
    _, record = frame_event(control, row.body, row.chain)
    return record


def judge(head: LogHead, record: bytes) -> Verdict:
    return accept(head, *read_control(record), record)


def counts(head: LogHead, record: bytes) -> bool:
    """Tell whether a record counts; a damaged one does not."""
    try:
        return judge(head, record) is Verdict.ACCEPTED
    except LogDamagedError:
        return False


JUDGED = [
    Row("the answer to the next command", 2, 11, 6, ANSWER, CHAIN, Verdict.ACCEPTED, 6),
    Row("an internal event", 2, 11, 5, INTERNAL, CHAIN, Verdict.ACCEPTED),
    Row("commands moved on", 2, 11, 99, MOVED, CHAIN, Verdict.ACCEPTED, 99),
    Row("commands moved nowhere", 2, 11, 5, MOVED, CHAIN, Verdict.ACCEPTED, 5),
    Row("commands moved back", 2, 11, 0, MOVED, CHAIN, Verdict.ACCEPTED, 0),
    Row("commands moved to their beginning", 2, 11, -1, MOVED, CHAIN, Verdict.ACCEPTED, -1),
    Row("a zombie's, right but for its epoch", 1, 11, 6, ANSWER, CHAIN, Verdict.OLD_EPOCH),
    Row("a zombie's, wrong in all", 1, 99, 99, ANSWER, OTHER_CHAIN, Verdict.OLD_EPOCH),
    Row("a zombie's CommandsMoved", 1, 11, 6, MOVED, CHAIN, Verdict.OLD_EPOCH),
    Row("a duplicate", 2, 10, 5, ANSWER, CHAIN, Verdict.WRONG_POSITION),
    Row("one behind a lost one", 2, 12, 7, ANSWER, CHAIN, Verdict.WRONG_POSITION),
    Row("wrong in all but epoch", 2, 12, 99, ANSWER, OTHER_CHAIN, Verdict.WRONG_POSITION),
    Row("at no position", 2, 0, 6, ANSWER, CHAIN, Verdict.WRONG_POSITION),
    Row("CommandsMoved behind a lost one", 2, 12, 6, MOVED, CHAIN, Verdict.WRONG_POSITION),
    Row("an answer to a command too far", 2, 11, 7, ANSWER, CHAIN, Verdict.WRONG_COMMAND),
    Row("an answer to a command before", 2, 11, 4, ANSWER, CHAIN, Verdict.WRONG_COMMAND),
    Row("an internal event too far", 2, 11, 7, INTERNAL, CHAIN, Verdict.WRONG_COMMAND),
]


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row.name)
def test_a_record_counts_only_if_epoch_position_chain_and_command_fit(row: Row) -> None:
    head, record = HEAD.copy(), framed(row)
    after, _ = read_control(record)
    moved = LogHead(2, 11, after.chain, row.last_cmd, CHAIN)
    verdict = judge(head, record)

    assert verdict is row.verdict
    assert head == (moved if row.verdict is Verdict.ACCEPTED else HEAD)


DAMAGED = [
    Row("an epoch without its Fenced", 3, 11, 6, ANSWER, CHAIN, Verdict.ACCEPTED),
    Row("that, wrong in all", 3, 99, 99, ANSWER, OTHER_CHAIN, Verdict.ACCEPTED),
    Row("that, moving commands", 3, 11, 6, MOVED, CHAIN, Verdict.ACCEPTED),
    Row("another chain", 2, 11, 6, ANSWER, OTHER_CHAIN, Verdict.ACCEPTED),
    Row("another chain, internal", 2, 11, 5, INTERNAL, OTHER_CHAIN, Verdict.ACCEPTED),
    Row("another chain and command", 2, 11, 99, ANSWER, OTHER_CHAIN, Verdict.ACCEPTED),
    Row("another chain, moving commands", 2, 11, 6, MOVED, OTHER_CHAIN, Verdict.ACCEPTED),
]


@pytest.mark.parametrize("row", DAMAGED, ids=lambda row: row.name)
def test_what_no_sequencer_can_have_written_stops_the_reader_which_is_told_where(row: Row) -> None:
    head = HEAD.copy()
    with pytest.raises(LogDamagedError) as damaged:
        judge(head, framed(row))

    assert damaged.value.position == 11
    assert head == HEAD


@pytest.mark.parametrize("byte", range(13, 40))
def test_no_changed_byte_counts(byte: int) -> None:
    record = bytearray(framed(JUDGED[0]))
    record[byte] ^= 1

    assert not counts(HEAD.copy(), bytes(record))


@pytest.mark.parametrize("cmd", [-9, 6, 99])
@pytest.mark.parametrize("chain", [NO_CHAIN, CHAIN], ids=["no chain", "a chain"])
@pytest.mark.parametrize("position", [0, 10, 11, 12])
@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(1, Verdict.OLD_FENCE), (2, Verdict.OLD_FENCE), (3, Verdict.ACCEPTED), (9, Verdict.ACCEPTED)],
)
def test_fences(epoch: int, expected: Verdict, position: int, chain: bytes, cmd: int) -> None:
    """A Fenced is judged by its epoch alone, and takes its place from the log, not its bytes."""
    said = Control(chain, epoch, position, cmd, 0, 0, 7, 0)
    honest = frame_fence(Control(NO_CHAIN, epoch, 0, 0, 0, 0, 7, 0), FENCED)
    record, head, other = frame_fence(said, FENCED), HEAD.copy(), HEAD.copy()
    verdict = judge(head, record)

    assert verdict is expected
    assert judge(other, honest) is expected
    assert (head.epoch, head.position, head.last_cmd) == (
        other.epoch,
        other.position,
        other.last_cmd,
    )


@pytest.mark.parametrize("cmd", [-9, 6, 99])
@pytest.mark.parametrize("chain", [NO_CHAIN, CHAIN], ids=["no chain", "a chain"])
@pytest.mark.parametrize("position", [0, 10, 11, 12])
def test_place_of_a_fence(position: int, chain: bytes, cmd: int) -> None:
    """Readers see a Fenced at the place the fold gave it, whatever its bytes say."""
    said = Control(chain, 3, position, cmd, 0, 0, 7, 0)
    head = HEAD.copy()
    judge(head, frame_fence(said, FENCED))

    assert placed(head, said) == Control(head.chain, 3, 11, 5, 0, 0, 7, 0)


def test_a_new_log_begins_with_the_fenced_of_its_first_sequencer_at_position_1() -> None:
    head = LogHead()
    verdict = judge(head, frame_fence(Control(NO_CHAIN, 1, 0, 0, 0, 0, 7, 0), FENCED))

    assert verdict is Verdict.ACCEPTED
    assert (head.epoch, head.position, head.last_cmd) == (1, 1, -1)


@pytest.mark.parametrize(
    ("body", "kind"), [(ANSWER, RecordKind.ORDINARY), (MOVED, RecordKind.COMMANDS_MOVED)]
)
def test_kinds_are_told_by_the_schema(body: Body, kind: RecordKind) -> None:
    control = Control(NO_CHAIN, 2, 11, 6, 0, 0, 0, 0)

    assert read_control(frame_event(control, body, CHAIN)[1])[1] is kind
    assert read_control(frame_fence(control, FENCED))[1] is RecordKind.FENCED


class Writers:
    """Several leaders of one log, of which none knows that it was replaced.

    Each continues its own log, so all of them write records that would count if they were alone.
    """

    def __init__(self) -> None:
        self.log: list[bytes] = []
        self.head = LogHead()
        self.terms: list[LogHead] = []
        self.claim()

    def claim(self) -> None:
        """Begin an epoch and lead it from its place on."""
        fence = frame_fence(Control(NO_CHAIN, self.head.epoch + 1, 0, 0, 0, 0, 0, 0), FENCED)
        self.deliver(fence)
        self.terms.append(self.head.copy())

    def write(self, term: int, body: Body, cmd: int, *, lost: bool = False) -> None:
        """Let the leader of a term, counted from the newest, append a record, which may be lost."""
        head = self.terms[-1 - term % len(self.terms)]
        control = Control(NO_CHAIN, head.epoch, head.position + 1, cmd, 0, 0, 0, 0)
        event, record = frame_event(control, body, head.chain)
        assert accept(head, event.control, read_control(record)[1], record) is Verdict.ACCEPTED
        if not lost:
            self.deliver(record)

    def deliver(self, record: bytes) -> None:
        self.log.append(record)
        judge(self.head, record)

    def do(self, step: tuple[int, int, int]) -> None:
        """Do one step: mostly the newest leader answers, sometimes anything else happens."""
        what, term, cmd = step
        last = self.terms[-1 - term % len(self.terms)].last_cmd
        match what:
            case 0 | 1 | 2:
                self.write(term, ANSWER, last + 1)
            case 3:
                self.write(term, INTERNAL, last)
            case 4:
                self.write(term, MOVED, last + cmd - 3)
            case 5:
                self.write(term, ANSWER, last + 1, lost=True)
            case 6:
                self.deliver(self.log[-1 - cmd % len(self.log)])
            case _:
                self.claim()


def logs() -> st.SearchStrategy[list[bytes]]:
    """Return a strategy for logs of leaders, zombies, lost and repeated records."""
    steps = st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 9))
    return st.lists(steps, max_size=40).map(log_of)


def log_of(steps: list[tuple[int, int, int]]) -> list[bytes]:
    writers = Writers()
    for step in steps:
        writers.do(step)
    return writers.log


def read(head: LogHead, records: list[bytes]) -> list[Verdict]:
    return [judge(head, record) for record in records]


@MANY
@given(logs(), st.integers(0, 40))
def test_a_reader_that_goes_on_judges_as_one_that_never_did(records: list[bytes], cut: int) -> None:
    whole, parts = LogHead(), LogHead()
    verdicts = read(whole, records)
    first = read(parts, records[:cut])

    assert first == verdicts[:cut]
    assert read(parts.copy(), records[cut:]) == verdicts[cut:]


@MANY
@given(logs())
def test_what_is_dropped_leaves_no_trace(records: list[bytes]) -> None:
    head, again = LogHead(), LogHead()
    verdicts = read(head, records)
    counted = [r for r, v in zip(records, verdicts, strict=True) if v is Verdict.ACCEPTED]

    assert set(read(again, counted)) <= {Verdict.ACCEPTED}
    assert again == head


@MANY
@given(logs())
def test_leaders_never_look_like_damage(records: list[bytes]) -> None:
    head = LogHead()
    places = [
        placed(head, read_control(record)[0]).position
        for record in records
        if judge(head, record) is Verdict.ACCEPTED
    ]

    assert places == list(range(1, head.position + 1))
