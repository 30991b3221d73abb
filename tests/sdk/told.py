"""What a log holds, read as every reader does."""

from typing import TypeVar

from ledger.core.acceptance import LogHead
from ledger.log.acceptor import Acceptor
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic

Kind = TypeVar("Kind")


def bodies(log: MemoryLog, kind: type[Kind]) -> list[Kind]:
    """Return the events of a type that count, in order."""
    acceptor = Acceptor(LogHead())
    events = (acceptor.take(record.value) for record in log.topics[Topic.EVENTS].records)
    return [event.body for event in events if event is not None and isinstance(event.body, kind)]
