"""The topics of the ledgers that are measured: flushed as they are by default, or not at all."""

from ledger.log.kafka import topics


class Durability:
    """Whether the ledgers of this run flush what they acknowledge."""

    flush = True


def create_topics(bootstrap: str, ledger: str) -> None:
    """Create the topics of a ledger to be measured."""
    topics.create_topics(bootstrap, ledger, flush=Durability.flush)
