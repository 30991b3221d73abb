"""Begin anew: give up what is left of a ledger whose events are gone.

All remaining topics are deleted, so that the next ledger finds no command, checkpoint or heartbeat
of the one before. A ledger with events, or with a leading sequencer, is refused.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from ledger.errors import SettingsError
from ledger.log.beginning import end_of, holds_history
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.topics import ANSWER_S
from ledger.log.port import Log, Topic

# A leader beats several times in this time.
BEATS_S: Final = 2.0


def give_up(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> list[str]:
    """Delete the topics that are left of a ledger whose events are gone; return their names.

    Raises SettingsError, without a change, for a ledger with a history or a leader, and
    LogUnavailableError if the cluster does not answer or refuses.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    left = sorted(admin.describe([topic_name(ledger, topic) for topic in Topic]))
    with closing(KafkaLog(bootstrap, ledger, client=client)) as log:
        if topic_name(ledger, Topic.EVENTS) in left:
            check_without_history(log, ledger)
        check_not_led(log, ledger)
    admin.delete(left)
    return left


def check_without_history(log: Log, ledger: str) -> None:
    """Raise SettingsError if the events topic holds more than claims to lead."""
    start, end = log.ends(Topic.EVENTS)
    with closing(log.reader(Topic.EVENTS, start)) as events:
        if start or holds_history(events, end):
            raise SettingsError(
                f"ledger {ledger} has events, up to offset {end}, so it cannot begin anew; nothing "
                "was deleted. Start it without --begin-anew. To give up a ledger that has events, "
                f"delete the topics {ledger}.* with Kafka's own tools first"
            )


def check_not_led(log: Log, ledger: str) -> None:
    """Raise SettingsError if a leader of the ledger still beats."""
    if not (end := end_of(log, Topic.BEATS)):
        return
    with closing(log.reader(Topic.BEATS, end)) as beats:
        if beats.read(1, BEATS_S):
            raise SettingsError(
                f"a sequencer of ledger {ledger} still beats, so nothing was deleted. Stop all "
                "processes and clients of the ledger, then repeat this command"
            )
