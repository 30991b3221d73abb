"""The topics of a ledger that `up` runs: created, verified, and kept right on its own broker."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from ledger.errors import LedgerError
from ledger.log.anew import give_up
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_watch import EVERY_S, repeating
from ledger.log.kafka.topics import create_topics, mend_topics, verify_topics
from ledger.machine.folder import row_folders
from ledger.machine.former_rows import check_rows_left, set_rows_aside
from ledger.machine.up_settings import Administered, UpSettings

Say = Callable[[str], None]


def make_topics(settings: UpSettings, reached: Administered, say: Say) -> None:
    """Create or verify the topics; those of the embedded broker are mended."""
    ledger, (bootstrap, client) = settings.ledger, reached
    copies, flush = settings.replication, settings.flush
    if settings.begin_anew:
        deleted = give_up(bootstrap, ledger, client=client)
        say(f"begun anew: deleted {', '.join(deleted) or 'no topics'}")
        set_rows_aside(settings.folder, say)
    else:
        with closing(KafkaLog(bootstrap, ledger, client=client)) as log:
            check_rows_left(log, ledger, row_folders(settings.folder))
    create_topics(bootstrap, ledger, replication=copies, flush=flush, client=client)
    if settings.bootstrap is None:
        mend(settings, reached, say)
    warnings = verify_topics(bootstrap, ledger, client=client)
    if settings.bootstrap is not None:
        for warning in warnings:
            say(f"warning: {warning}")
    elif not flush:
        say("warning: with --no-flush a power cut may lose acknowledged commits")


def mend(settings: UpSettings, reached: Administered, say: Say) -> None:
    """Set the topics of the embedded broker right, and say what was not."""
    bootstrap, client = reached
    for line in mend_topics(bootstrap, settings.ledger, flush=settings.flush, client=client):
        say(f"mended {line}")


@contextmanager
def kept_right(
    settings: UpSettings, reached: Administered, say: Say, every_s: float = EVERY_S
) -> Iterator[None]:
    """Mend the topics of the embedded broker again and again while the block runs."""

    def try_to_mend() -> None:
        # A broker that is away is told by the roles.
        with suppress(LedgerError):
            mend(settings, reached, say)

    if settings.bootstrap is not None:
        yield
        return
    with repeating(try_to_mend, every_s):
        yield
