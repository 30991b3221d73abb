"""Evidence: the account of a conflict that the loser gets, by the rule that decided it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ledger.core.conflicts.attempts import Attempt, Hit
from ledger.core.conflicts.winners import WinningPart
from ledger.core.events.parts import Evidence, Side
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Change

READ_AGAIN: Final = (
    "read the table again and run the statement again in a new txn, as ledger.run() does"
)


class Rule(NamedTuple):
    """The exception of a rule (Delta's name without "Exception") and the remedy.

    `by_partition` is what helps besides in a table with partition columns.
    """

    exception: str
    remedy: str
    by_partition: str = ""


RULES: Final[Mapping[str, Rule]] = {
    "feature_beyond_known": Rule(
        "UnsupportedTableFeature",
        "update the writer to a version that knows all features of the table, then read it again",
    ),
    "protocol_twice": Rule("ProtocolChanged", "change the protocol from one place at a time"),
    "replaced_twice": Rule("ProtocolChanged", "create or replace the table from one place only"),
    "feature_dropped": Rule("ProtocolChanged", "read the table again; it lost or gained a feature"),
    "feature_drop_overtaken": Rule(
        "ProtocolChanged", "drop the feature while no other program writes"
    ),
    "name_claimed": Rule("ProtocolChanged", "choose another name, or use the table of this name"),
    "metadata_twice": Rule("MetadataChanged", "read the table again and repeat the change"),
    "metadata_changed": Rule("MetadataChanged", "plan the write again for the table as it is now"),
    "table_dropped": Rule("MetadataChanged", "look the name up again and write to that table"),
    "domain_twice": Rule("ConcurrentTransaction", "write the domain from one place at a time"),
    "app_progressed": Rule(
        "ConcurrentTransaction",
        "look up the version of the application; if it has reached this batch, the batch is done",
    ),
    "file_added": Rule(
        "ConcurrentAppend",
        READ_AGAIN,
        "a condition on partition columns that excludes the winner's partition avoids the conflict",
    ),
    "file_read_removed": Rule("ConcurrentDeleteRead", READ_AGAIN),
    "row_read_changed": Rule("ConcurrentDeleteRead", READ_AGAIN),
    "row_changed_twice": Rule("ConcurrentDeleteDelete", READ_AGAIN),
    "file_removed_twice": Rule(
        "ConcurrentDeleteDelete", f"{READ_AGAIN}; a compaction can be given up"
    ),
    "coarse_write_write": Rule("ConcurrentDeleteDelete", READ_AGAIN),
}


def evidence_of(
    state: DomainState, table: int, attempt: Attempt, hit: Hit, winner: WinningPart
) -> Evidence:
    """Return the evidence of a conflict that the check found."""
    rule = RULES[hit.rule]
    side = Side(
        winner.txn, winner.position, winner.operation, author(state, winner.session), winner.at
    )
    return Evidence(
        hit.rule,
        rule.exception,
        table,
        hit.unit,
        attempt.operation,
        attempt.read_at,
        side,
        remedy(state, table, rule),
        hit.predicate,
        attempt.level,
    )


def changed_by(
    state: DomainState, rule: str, table: int, what: tuple[str, str, int], change: Change | None
) -> Evidence:
    """Return the evidence of a conflict with a change of tables.

    `what` is the unit, the loser's operation and its read_at.
    """
    unit, operation, read_at = what
    winner = (
        Side(change.txn, change.position, change.operation, author(state, change.session))
        if change is not None
        else Side(0, 0, "drop", "")
    )
    found = RULES[rule]
    return Evidence(rule, found.exception, table, unit, operation, read_at, winner, found.remedy)


def remedy(state: DomainState, table: int, rule: Rule) -> str:
    """Return what helps against a conflict in a table."""
    known = state.tables.by_id.get(table)
    if not rule.by_partition or known is None or not known.definition.partition_columns:
        return rule.remedy
    return f"{rule.remedy}; {rule.by_partition}"


def author(state: DomainState, number: int) -> str:
    """Return user, host and application of a session, "" if it is no longer remembered."""
    session = state.sessions.by_number.get(number)
    if session is None:
        return ""
    return f"{session.user}@{session.host} {session.application}".strip()
