"""Suite `cache`: metadata caches beside a store, in one-version and in multi-version mode.

Every step is done in both modes. A read is put to the cache; where that sends the reader to the
store, the rows of all events answer. `expect` is what one version gives, `expect_multi_version`
what several give, where it differs.
"""

from collections.abc import Callable, Collection
from contextlib import closing
from typing import Any, NamedTuple

from ledger.reads.metadata import TABLE, Metadata, MetadataAnswer, described
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows_as_entries import store_answer
from projections.cache.ports import EntryRead, StoreAnswer
from tests.conformance import cache_steps as steps
from tests.conformance.cache_case import CacheCase, CasePair, Step, listed, reader_ids
from tests.conformance.cache_ledger import CATALOG, LiteralLedger
from tests.conformance.logs import Ledgers, ledgers
from tests.conformance.suite import Case, Mismatch, Skipped, Suite, at_step, require_known

ABOUT = {"name", "source", "why", "confidence", "tags", "steps"}
# The ledger itself refuses the second alter: the first that commits wins.
SKIPPED = {"lower_write_id_alters_last": "first_committer_wins"}
# What null is a value of; any other field that is null is as good as not given.
NULLABLE = {"txn", "write_id", "reader_snapshot", "expect"}
ANSWER_FIELDS = {"source", "metadata", "reason"}


class Mode(NamedTuple):
    """One of the two caches: how it reads and keeps, and which expectation is its own."""

    name: str
    expect: str
    read: Callable[[CasePair, EntryRead], MetadataAnswer]
    fill: Callable[[CasePair, EntryRead, StoreAnswer], bool]


MODES = (
    Mode(
        "one version",
        "expect",
        lambda pair, wanted: pair.one.read(wanted),
        lambda pair, wanted, found: pair.one.fill(wanted, found),
    ),
    Mode(
        "multi-version",
        "expect_multi_version",
        lambda pair, wanted: pair.multi.read(wanted),
        lambda pair, wanted, found: pair.multi.fill(wanted, found),
    ),
)


class Operation(NamedTuple):
    """How a step is put to the product, and which fields it may have."""

    run: Callable[[CacheCase, Step], None]
    fields: Collection[str]


def read(case: CacheCase, step: Step) -> None:
    """Read in both modes."""
    pair = case.cache(step["cache"])
    if "wait_for" in step:
        case.catch_up(pair, step["wait_for"])
    token = case.position(step["token"]) if "token" in step else 0
    wanted = EntryRead(
        (CATALOG, step["table"]),
        reader_ids(step.get("reader_snapshot")),
        step.get("table_id"),
        step.get("object", TABLE),
        case.txns[step.get("own_txn")],
        token,
    )
    for mode in MODES:
        compare_read(case, step, mode, wanted)


def compare_read(case: CacheCase, step: Step, mode: Mode, wanted: EntryRead) -> None:
    """Read in one mode and compare source and answer."""
    pair = case.cache(step["cache"])
    expected = step.get(mode.expect, step["expect"])
    steps.require_fields(expected, ANSWER_FIELDS)
    answer = mode.read(pair, wanted)
    value = answer.value
    if answer.source == "store":
        found = store_answer(case.ledger.store, wanted)
        value = value_of(found, wanted.what)
        if step.get("fill"):
            mode.fill(pair, wanted, found)
    words = case.words(value)
    told = answer.source, answer.reason
    asked = expected["source"], expected.get("reason", answer.reason)
    if told != asked or expected["metadata"] not in words:
        raise Difference(f"{mode.name}: {expected}", f"{answer.source} {words} ({answer.reason})")


def value_of(found: StoreAnswer, what: str) -> Metadata | None:
    """Return the object that was asked of the store."""
    if found.name is None or found.objects is None or what not in found.objects:
        return None
    return described(found.table, found.name, found.objects, what)


class Difference(Exception):  # noqa: N818 - it is a finding of the run, not an error of it
    """What a step expected and what it got."""


def entry(case: CacheCase, step: Step) -> None:
    """Compare the entry of a table, in one-version mode."""
    one, expected = case.cache(step["cache"]).one, step["expect"]
    name = step["table"].lower()
    held = [
        each
        for each in one.entries.values()
        if each.name is not None and each.name[1].lower() == name
    ]
    if expected is None or not held:
        if expected is not None or held:
            raise Difference(expected, held)
        return
    tag = held[0].tag()
    got: dict[str, Any] = {
        "list": tag.ids and ReaderIds.of(tag.ids),
        "committed": tag.is_committed,
        "metadata": expected.get("metadata") in case.words(held[0].value(TABLE)),
    }
    wanted = {"list": reader_ids(expected.get("list")), "metadata": True}
    fields = {**expected, **{key: each for key, each in wanted.items() if key in expected}}
    if any(got[field] != each for field, each in fields.items()):
        raise Difference(expected, f"{got} {held[0].value(TABLE)}")


def catch_up(case: CacheCase, step: Step) -> None:
    """Let a cache apply what it has not."""
    case.catch_up(case.cache(step["cache"]), step["upto"])


def rewind(case: CacheCase, step: Step) -> None:
    """Let a cache go back in the log."""
    case.cache(step["cache"]).cursor = step["to"]


def deliver(case: CacheCase, step: Step) -> None:
    """Hand over exactly these events."""
    for index in step["events"]:
        case.cache(step["cache"]).apply(case.events[index])


def prewarm(case: CacheCase, step: Step) -> None:
    """Load a table from a checkpoint; a new cache starts there."""
    state = case.state_after(step["as_of"])
    if step["cache"] not in case.caches:
        case.caches[step["cache"]] = CasePair(state.position)
    pair = case.cache(step["cache"])
    pair.load(state, case.table_id(step["table"], state))
    pair.cursor = step["cursor"]


def evict(case: CacheCase, step: Step) -> None:
    """Forget a table."""
    pair, table = case.cache(step["cache"]), case.table_id(step["table"])
    if table in pair.one.entries:
        pair.one.entries[table].evict()
    pair.multi.evict(table)


def gc(case: CacheCase, step: Step) -> None:
    """Cut the history of a table, where there is one."""
    table = case.table_id(step["table"])
    floor = ReaderIds.of(listed(step["floor"]))
    case.cache(step["cache"]).multi.cut(table, floor)


METADATA_FIELDS = {"txn", "table", "metadata", "write_id", "via_cache", "writer_list"}
OPERATIONS = {
    "given": Operation(steps.given, {"tables", "caches"}),
    "open_txn": Operation(steps.open_txn, {"txn", "via_cache"}),
    "allocate_write_id": Operation(
        steps.allocate_write_id, {"txn", "table", "write_id", "via_cache"}
    ),
    "alter_table": Operation(steps.alter_table, METADATA_FIELDS | {"object", "kind"}),
    "create_table": Operation(steps.create_table, METADATA_FIELDS | {"table_id", "kind"}),
    "rename_table": Operation(steps.rename_table, METADATA_FIELDS | {"new_table"}),
    "drop_table": Operation(steps.drop_table, METADATA_FIELDS - {"metadata"}),
    "commit": Operation(steps.commit, {"txn", "via_cache"}),
    "abort": Operation(steps.abort, {"txn", "via_cache"}),
    "forget_aborted": Operation(
        steps.forget_aborted, {"txn", "table", "write_ids", "ids", "write_id"}
    ),
    "catch_up": Operation(catch_up, {"cache", "upto"}),
    "rewind": Operation(rewind, {"cache", "to"}),
    "deliver": Operation(deliver, {"cache", "events"}),
    "prewarm": Operation(prewarm, {"cache", "table", "as_of", "cursor"}),
    "evict": Operation(evict, {"cache", "table"}),
    "gc": Operation(gc, {"cache", "table", "floor"}),
    "entry": Operation(entry, {"cache", "table", "expect"}),
    "read": Operation(
        read,
        {
            *("cache", "table", "reader_snapshot", "table_id", "own_txn", "token", "wait_for"),
            *("fill", "object", "expect", "expect_multi_version", "expect_fresh_or_newer"),
        },
    ),
}


def run(case: Case, made: Ledgers) -> None:
    if case.get("name") in SKIPPED:
        raise Skipped(SKIPPED[case["name"]])
    require_known(1, case, ABOUT)
    with closing(LiteralLedger(*made.parts())) as ledger:
        under_way = CacheCase(ledger)
        for number, step in enumerate(case["steps"], 1):
            with at_step(number):
                run_step(under_way, number, step)


def run_step(case: CacheCase, number: int, step: Step) -> None:
    operation = OPERATIONS.get(step["op"])
    if operation is None:
        raise Mismatch(number, f"an operation of {sorted(OPERATIONS)}", repr(step["op"]))
    told = {key: value for key, value in step.items() if value is not None or key in NULLABLE}
    require_known(number, told, {"op", *operation.fields})
    try:
        operation.run(case, told)
    except Difference as difference:
        raise Mismatch(number, *difference.args) from difference


SUITE = Suite(run, ledgers)
