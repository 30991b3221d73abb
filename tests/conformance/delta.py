"""Suite `delta`: one commit attempt beside winners, decided as delta-spark decides it.

A case names a table, the commits that won after the current transaction read, and what becomes of
that transaction: `commit`, or the name of an exception. The winners are committed one after the
other, each from what it finds; then the current one commits, from what it read before all of them.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from ledger.core.events.events import TxnAborted, TxnCommitted
from tests.conformance.delta_case import DeltaCase
from tests.conformance.logs import Ledgers, ledgers
from tests.conformance.suite import Case, Mismatch, Suite, at_step, require_known

ABOUT = {"name", "source", "confidence", "why", "doc_matrix", "engines_differ", "engines_note"}
# What a finer checker than this could go by.
REFINED = {"row_level", "stats"}
FIELDS = {
    *(*ABOUT, *REFINED),
    *("isolation", "table", "current", "winning", "conf", "expect", "conflicting_winner"),
}
TABLE_FIELDS = {*("exists", "partition_columns", "schema", "files", "properties", "protocol")}
SIDE_FIELDS = {
    *("operation", "blind_append", "read_predicates", "read_files", "read_whole_table"),
    *("adds", "removes", "metadata_change", "metadata_kind", "config", "config_removed"),
    *("protocol_change", "protocol", "app_id", "app_id_mode", "domain_metadata"),
}
PROTOCOL_FIELDS = {"features"}
# What follows from the names of the features: the product knows them.
CLIENT_FIELDS = {"fail_concurrent_at_upgrade", "unsupported_by_client"}
UPGRADE_FIELDS = {"features_added", "features_removed", *CLIENT_FIELDS}
ADD_FIELDS = {"path", "partition", "data_change", "deletion_vector", "stats"}
REMOVE_FIELDS = {"path", "data_change", "deletion_vector"}
COMMIT = "commit"


def run(case: Case, ledgers: Ledgers) -> None:
    """Run one case on a ledger of its own; the current transaction is its last step."""
    require_readable(case)
    with closing(ledgers.new()) as ledger:
        under_way = DeltaCase(ledger, case)
        with at_step(1):
            current = under_way.begin(case["current"])
        won: list[int] = []
        for number, side in enumerate(case["winning"], 2):
            with at_step(number):
                won.append(win(under_way, number, side))
        last = len(won) + 2
        with at_step(last):
            body = under_way.commit(current, case["current"], version=len(won) + 1).body
        compare(last, case, body, won)


def require_readable(case: Case) -> None:
    """Raise Mismatch if a case says anything that would be read past."""
    table = case["table"]
    require_known(1, case, FIELDS)
    require_known(1, table, TABLE_FIELDS)
    require_known(1, table.get("protocol", ()), PROTOCOL_FIELDS)
    for each in table["files"]:
        require_known(1, each, ADD_FIELDS)
    for side in (case["current"], *case["winning"]):
        require_known(1, side, SIDE_FIELDS)
        require_known(1, side.get("protocol", ()), UPGRADE_FIELDS)
        for each in side["adds"]:
            require_known(1, each, ADD_FIELDS)
        for each in side["removes"]:
            require_known(1, each, REMOVE_FIELDS)


def win(under_way: DeltaCase, number: int, side: Mapping[str, Any]) -> int:
    """Commit a winner and return its position; each takes its application further."""
    event = under_way.commit(under_way.begin(side), side, version=number - 1, is_winner=True)
    if not isinstance(event.body, TxnCommitted):
        raise Mismatch(number, COMMIT, event.body)
    return event.control.position


def compare(number: int, case: Case, body: object, won: list[int]) -> None:
    """Raise Mismatch unless the current transaction ended as expected, by the winner expected."""
    expected = case["expect"]
    if isinstance(body, TxnCommitted):
        if expected != COMMIT:
            raise Mismatch(number, expected, COMMIT)
        return
    if not isinstance(body, TxnAborted) or body.evidence is None:
        raise Mismatch(number, expected, body)
    got = f"{body.evidence.exception}Exception"
    if got != expected:
        raise Mismatch(number, expected, f"{got} {body.evidence}")
    index = case.get("conflicting_winner")
    if index is not None and body.evidence.winner.position != won[index]:
        raise Mismatch(number, f"winner {index} at {won[index]}", body.evidence.winner)


SUITE = Suite(run, ledgers)
