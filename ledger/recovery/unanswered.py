"""Unanswered: the commands that a log does not answer, and the most ids their answers may have had.

The lost part of the log may have answered each of them. One command may request a thousand txns, so
ids go further than positions.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ledger.core.acceptance import LogHead
from ledger.core.commands import AllocateWriteIds, Command, OpenTxn
from ledger.core.state.domain import DomainState
from ledger.log.port import Log, Topic, records_between
from ledger.log.wire.codec import decode_command


class Unanswered(NamedTuple):
    """The number of commands without an answer, and the most ids of one kind they may have had."""

    commands: int
    ids: int


def unanswered_in(log: Log, state: DomainState, head: LogHead) -> Unanswered:
    """Return the commands after the last one that the log answers, counted.

    Raises LogUnavailableError if the commands topic cannot be read.
    """
    start, end = log.ends(Topic.COMMANDS)
    is_same = log.topic_id(Topic.COMMANDS) == state.commands_topic
    first = max(start, head.last_cmd + 1) if is_same else start
    most = state.limits.txns_per_open_max
    ids = sum(asked_for(command, most) for command in commands(log, first, end))
    return Unanswered(max(0, end - first), ids)


def commands(log: Log, first: int, end: int) -> Iterator[Command]:
    """Return the commands between two offsets."""
    for record in records_between(log, Topic.COMMANDS, first, end):
        yield decode_command(record.value)


def asked_for(command: Command, most: int) -> int:
    """Return the most txns, or write ids of one table, that the answer to a command may have given.

    A ledger opens `most` txns at once at most.
    """
    match command:
        case OpenTxn():
            return max(1, min(command.size, most))
        case AllocateWriteIds():
            return max(1, len(command.txns))
        case _:
            return 1
