"""What runs met of the core: kinds of events, reasons of refusals, rules of conflicts.

What no run meets is listed too, with the reason and where it is tested instead. A test holds that
list against the core.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, get_args

from ledger.core.decide.evidence import RULES
from ledger.core.events.events import Answer, CommandRefused, Event, Fenced, Internal, TxnAborted
from ledger.core.refusals import Reason

EVENTS: Final = frozenset(
    {Fenced.__name__} | {kind.__name__ for kind in (*get_args(Answer), *get_args(Internal))}
)
REFUSALS: Final = frozenset(reason.value for reason in Reason)
CONFLICTS: Final = frozenset(RULES)
WHOLE: Final[Mapping[str, frozenset[str]]] = {
    "event": EVENTS,
    "refusal": REFUSALS,
    "conflict": CONFLICTS,
}

# Reason and the tests that meet it instead.
NOT_MET: Final[Mapping[str, tuple[str, str]]] = {
    "AppVersionsDisagree": ("no client records progress", "tests/core/test_decide_footprints.py"),
    "CommandFailed": ("it takes a fault of the program", "tests/test_sequencer.py"),
    "CommandForgotten": ("clients ask again within a few answers", "tests/core/test_decide.py"),
    "CommandInvalid": ("clients send well-formed commands", "tests/core/test_decide_footprints.py"),
    "LostByCut": ("it takes a command of a lost session", "tests/core/test_cut.py"),
    "NotOwner": ("clients end txns of their own", "tests/core/test_decide_stage.py"),
    "ReadAtAhead": ("clients read before they write", "tests/core/test_decide_commit.py"),
    "UnknownCatalog": ("there is one catalog", "tests/core/test_decide_tables.py"),
    "app_progressed": ("no client records progress", "tests/core/test_conflict_rules.py"),
    "domain_twice": ("no client writes domains", "tests/core/test_conflict_rules.py"),
    "feature_beyond_known": ("no client sets protocols", "tests/core/test_conflict_rules.py"),
    "feature_drop_overtaken": ("no client sets protocols", "tests/core/test_conflict_rules.py"),
    "feature_dropped": ("no client sets protocols", "tests/core/test_conflict_rules.py"),
    "metadata_twice": ("alterations are committed at once", "tests/core/test_conflict_rules.py"),
    "protocol_twice": ("no client sets protocols", "tests/core/test_conflict_rules.py"),
    "replaced_twice": ("no client replaces a table", "tests/core/test_conflict_rules.py"),
}


def met_by(events: Iterable[Event]) -> Counter[str]:
    """Return how often events show each kind, reason and rule, as `<what> <name>`."""
    met: Counter[str] = Counter()
    for _, body in events:
        met[f"event {type(body).__name__}"] += 1
        if isinstance(body, CommandRefused):
            met[f"refusal {body.reason}"] += 1
        if isinstance(body, TxnAborted) and body.evidence is not None:
            met[f"conflict {body.evidence.rule}"] += 1
    return met


def lines(met: Counter[str]) -> Iterator[str]:
    """Yield what to print of all runs: each name with its number, and what was not met."""
    for what, names in WHOLE.items():
        seen = [name for name in sorted(names) if met[f"{what} {name}"]]
        yield f"{what}s: {len(seen)} of {len(names)} kinds met"
        for name in seen:
            yield f"{met[f'{what} {name}']:12d} {name}"
        for name in sorted(names - set(seen)):
            reason, where = NOT_MET.get(name, ("NOT MET in this run", "more seeds do"))
            yield f"           - {name}: {reason}; {where}"
