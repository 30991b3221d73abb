"""Cutting: the event from which a ledger continues after its log lost its end."""

import getpass
from collections.abc import Sequence
from contextlib import closing, suppress

from ledger.clock import Clock, SystemClock
from ledger.config.settings import Genesis
from ledger.core.decide.cut import cut_above
from ledger.core.events.events import Event
from ledger.core.events.parts import PassedOver
from ledger.core.evolve.evolve import evolve
from ledger.errors import LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import Checkpoint, CheckpointWriter, read_values, written
from ledger.log.port import Log, Topic
from ledger.log.wire.codec import frame_event
from ledger.recovery.survey import Survey
from ledger.sequencer.leader import catalog_of

DELIVERY_S = 35.0
READ_S = 10.0


def append_cut(
    log: Log,
    found: Survey,
    reason: str,
    passed: Sequence[int] = (),
    *,
    author: str = "",
    clock: Clock | None = None,
) -> Event:
    """Append the cut of a survey, and a state checkpoint after it.

    `author` is by default the user of this process. Former checkpoints may be ahead of the log, and
    no sequencer could start from them. Raises LogUnavailableError if another record came before the
    cut, or if it is unknown whether the cut counts.
    """
    control, body = cut_above(
        found.state,
        found.head,
        found.seen,
        (clock or SystemClock()).now_ms(),
        log.ends(Topic.COMMANDS)[1] - 1,
        passed=[PassedOver(offset, 1) for offset in sorted(set(passed))],
        commands_topic=log.topic_id(Topic.COMMANDS),
        author=author or user(),
        reason=reason,
    )
    key = catalog_of(found.state, Genesis(found.created.name)).encode()
    framed = frame_event(control, body, found.head.chain)[1]
    with closing(log.writer(Topic.EVENTS)) as writer:
        writer.append(key, framed)
        writer.flush(DELIVERY_S)
    batches = BatchAcceptor(log, Acceptor(found.head.copy()), 0)
    event = read_back(log, batches, found.end, framed)
    evolve(found.state, event)
    write_checkpoint(log, Checkpoint(found.state, batches.acceptor.head, batches.offset))
    return event


def write_checkpoint(log: Log, checkpoint: Checkpoint) -> None:
    """Write a state checkpoint, which replaces the former ones."""
    genesis = checkpoint.state.genesis
    assert genesis is not None, "a checkpoint needs a created ledger"
    before = written(read_values(log, *log.ends(Topic.CHECKPOINTS)), genesis.domain)
    with closing(log.writer(Topic.CHECKPOINTS)) as writer:
        CheckpointWriter(writer, genesis.domain, before).write(checkpoint)


def read_back(log: Log, batches: BatchAcceptor, end: int, framed: bytes) -> Event:
    """Return the first event after the surveyed ones; it must be the cut with these bytes."""
    with closing(log.reader(Topic.EVENTS, end)) as reader:
        for record, event in batches.events(reader.read(1, READ_S)):
            if event is not None and record.offset == end and record.value == framed:
                return event
    raise LogUnavailableError(
        "another record came before the cut, or the cut was not read back. Nothing is lost: stop "
        "every program that writes to the events topic, and try again"
    )


def user() -> str:
    """Return the user of this process, the author of a cut."""
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return "operator"
