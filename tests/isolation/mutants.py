"""Mutants: the conflict check with one rule off or altered, which the judges must tell from honest.

The check is a set of plain functions that call each other by their names in a module, so a mutant
is a list of such names with what stands there instead. `broken` puts it there for a while and
restores what was there; nothing else in the tests replaces anything behind its back. One process
runs one mutant at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from ledger.core.commands import LEVELS, Footprint, IsolationLevel, TableWrite
from ledger.core.conflicts import added_checks, footprints, index, removed_checks, winners
from ledger.core.conflicts import checks as conflicts
from ledger.core.conflicts.attempts import Attempt, Check, Hit
from ledger.core.conflicts.checks import CHECKS
from ledger.core.conflicts.index import ConflictIndex, TableWinners
from ledger.core.decide import commit as decide_commit
from ledger.core.decide import judge, table_part
from ledger.core.decide.candidate import Candidate
from ledger.core.decide.table_part import TablePart
from ledger.core.evolve import commits as evolve_commits
from ledger.core.partitions import units
from ledger.core.partitions.keys import PartitionSchema
from ledger.core.partitions.names import partition_values
from ledger.core.predicates import predicates
from ledger.core.predicates.predicates import CompiledPredicate, Predicates
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState


class Swap(NamedTuple):
    """A name of a module or class, and what stands there instead."""

    owner: Any
    name: str
    instead: Any


class Mutant(NamedTuple):
    """A broken check."""

    name: str
    swaps: Sequence[Swap]


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """Let the check be broken inside the block."""
    kept = [getattr(swap.owner, swap.name) for swap in mutant.swaps]
    for owner, name, instead in mutant.swaps:
        setattr(owner, name, instead)
    try:
        yield
    finally:
        for swap, honest in zip(mutant.swaps, kept, strict=True):
            setattr(swap.owner, swap.name, honest)


def checks(name: str, *instead: Check) -> Sequence[Swap]:
    """Return the dispatch with one check replaced, or left out."""
    kept = [check for check in CHECKS if check.__name__ != name]
    assert len(kept) == len(CHECKS) - 1, f"there is no check {name}"
    return [Swap(conflicts, "CHECKS", (*kept, *instead))]


def told_otherwise(check: Check, tell: Callable[[Hit], Hit | None]) -> Sequence[Swap]:
    """Return the dispatch with the hits of one check told otherwise, None = not at all."""

    def altered(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Iterator[Hit]:
        told = map(tell, check(winners, attempt, asked))
        return (hit for hit in told if hit is not None)

    return checks(check.__name__, altered)


def attempted_otherwise(check: Check, alter: Callable[[Attempt], Attempt]) -> Sequence[Swap]:
    """Return the dispatch with one check asked about another attempt."""

    def altered(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Iterator[Hit]:
        return check(winners, alter(attempt), asked)

    return checks(check.__name__, altered)


def without_rule(rule: str, hit: Hit) -> Hit | None:
    return None if hit.rule == rule else hit


def only_rule(check: Check, rule: str) -> Sequence[Swap]:
    """Return the dispatch with one rule of a check left out."""
    return told_otherwise(check, partial(without_rule, rule))


def altered_footprint(alter: Callable[[Footprint], Footprint]) -> Callable[[Attempt], Attempt]:
    def altered(attempt: Attempt) -> Attempt:
        footprint = attempt.footprint
        return attempt if footprint is None else attempt._replace(footprint=alter(footprint))

    return altered


def identity_twice(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Iterator[Hit]:
    """Let a change pass that follows on identity marks alone."""
    kinds = ("shape", "properties", "resolvable")
    others = [winners.first(("metadata", kind), attempt.read_at) for kind in kinds]
    for hit in conflicts.metadata_hits(winners, attempt, asked):
        if hit.rule != "metadata_twice" or any(others):
            yield hit


def mark_taken_on(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Iterator[Hit]:
    """Take on a change that follows on an identity mark."""
    resolvable = winners.first(("metadata", "resolvable"), attempt.read_at)
    for hit in conflicts.metadata_hits(winners, attempt, asked):
        if hit.rule != "metadata_changed" or hit.position != resolvable:
            yield hit


def trusted_blind(footprint: Footprint) -> bool:
    """Trust that nobody reads who says nothing else."""
    return not (footprint.not_blind or footprint.removes)


def every_blind(footprint: Footprint) -> bool:
    """Overlook that a commit denies being blind."""
    return footprints.is_blind(footprint._replace(not_blind=False))


Leveled = Callable[..., IsolationLevel]


def leveled(alter: Callable[[Leveled, IsolationLevel, str, Footprint, bool], Any]) -> Swap:
    """Return a level that is found in another way."""
    honest = footprints.effective_level

    def level(
        table: IsolationLevel, asked: str, footprint: Footprint, *, rearranging: bool
    ) -> IsolationLevel:
        found: IsolationLevel = alter(honest, table, asked, footprint, rearranging)
        return found

    return Swap(table_part, "effective_level", level)


def never_downgraded(_: Leveled, table: IsolationLevel, asked: Any, *__: Any) -> IsolationLevel:
    """Judge at the higher of the two levels, whatever was done."""
    higher: IsolationLevel = max(table, asked or table, key=LEVELS.index)
    return higher


def always_downgraded(
    honest: Leveled, table: IsolationLevel, asked: str, footprint: Footprint, rearranging: Any
) -> IsolationLevel:
    """Judge everything that writes as if it only rearranged."""
    if footprint.operation:
        return "SnapshotIsolation"
    return honest(table, asked, footprint, rearranging=rearranging)


def request_ignored(
    honest: Leveled, table: IsolationLevel, _: str, footprint: Footprint, rearranging: Any
) -> IsolationLevel:
    """Judge at the table's level though a higher one was asked for."""
    return honest(table, "", footprint, rearranging=rearranging)


def request_wins(
    honest: Leveled, table: IsolationLevel, asked: Any, footprint: Footprint, rearranging: Any
) -> IsolationLevel:
    """Let a request cancel the downgrade."""
    level: IsolationLevel = asked or honest(table, asked, footprint, rearranging=rearranging)
    return level


def rearranges_always(footprint: Footprint, *, does_more: bool) -> bool:
    """Overlook that data changes."""
    blank = footprint._replace(data_change=False)
    return footprints.rearranges(blank, does_more=does_more)


def null_never_read(scan: CompiledPredicate, text: str) -> bool:
    """Take NULL for something no scan reads."""
    values = partition_values(text)
    return values is None or (all(values) and scan.matches(values))


def unknown_is_false(text: str, schema: PartitionSchema, *, derive: bool) -> CompiledPredicate:
    """Take what is not understood for FALSE."""
    found = HONEST_COMPILE(text, schema, derive=derive)
    return no_match(found) if "unknown" in text else found


HONEST_COMPILE: Final = predicates.compile_predicate


def no_match(found: CompiledPredicate) -> CompiledPredicate:
    """Return a predicate that is never TRUE."""
    return CompiledPredicate(found.text, lambda _row: False, always=False, equals={})


def always_derived(text: str, schema: PartitionSchema, *, derive: bool) -> CompiledPredicate:
    """Take one side of an AND for the whole of it, below OR as well."""
    del derive
    return HONEST_COMPILE(text.replace('["or",', '["and",'), schema, derive=True)


def valued_as_text(text: str, schema: PartitionSchema) -> Any:
    """Enter a value that is spelled otherwise under its text."""
    typed = HONEST_VALUED(text, schema)
    texts = partition_values(text) or ()
    return tuple(
        (number, spelled if spelled and spelled.startswith("0") else key)
        for (number, key), spelled in zip(typed, texts, strict=False)
    )


HONEST_VALUED: Final = winners.valued
HONEST_PLANNED_AT: Final = table_part.planned_at
HONEST_PRUNE: Final = ConflictIndex.prune
HONEST_CHECK_BASE: Final = decide_commit.check_base
HONEST_TABLE_CONFLICT: Final = judge.table_conflict


def planned_at_open(write: TableWrite | None, changes: Any, snapshot: int) -> int:
    """Count winners from where the txn opened."""
    return snapshot or HONEST_PLANNED_AT(write, changes, snapshot)


def level_alone(candidate: Candidate, part: TablePart, level: IsolationLevel) -> IsolationLevel:
    """Overlook that the txn changes data elsewhere."""
    return part.level_under(level, candidate.level, changes_data=False)


def prune_one_more(index: ConflictIndex, oldest: int, least: int, most: int) -> None:
    """Let one winner more go, and say nothing of it."""
    HONEST_PRUNE(index, oldest, least, most)
    floor = index.floor
    if index.parts and index.entries > least:
        HONEST_PRUNE(index, index.parts[0].position, index.entries - index.sizes[0], most)
        index.floor = floor


def prune_too_late(index: ConflictIndex, oldest: int, least: int, most: int) -> None:
    """Take a txn for one that opened an event later."""
    HONEST_PRUNE(index, oldest + 1, least, most)


def floor_not_raised(index: ConflictIndex, oldest: int, least: int, most: int) -> None:
    """Let winners go and say nothing of it."""
    HONEST_PRUNE(index, oldest, least, most)
    index.floor = 0


def last_hit(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Hit | None:
    """Name the last conflict."""
    return max((hit for check in CHECKS for hit in check(winners, attempt, asked)), default=None)


def first_step(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Hit | None:
    """Name the conflict of the first step, whoever won first."""
    every = (hit for check in CHECKS for hit in check(winners, attempt, asked))
    return min(every, default=None, key=lambda hit: (hit.step, hit.position))


def floor_unchecked(state: DomainState, part: TablePart) -> None:
    """Judge what was planned from before the winners that are remembered."""
    try:
        HONEST_CHECK_BASE(state, part)
    except Refused as refused:
        if refused.refusal.reason != Reason.SNAPSHOT_TOO_OLD:
            raise


def reads_unchecked(
    state: DomainState, candidate: Candidate, part: TablePart, *rest: Any, **by: Any
) -> Any:
    """Let tables that are only read pass."""
    if part.is_read:
        return None
    return HONEST_TABLE_CONFLICT(state, candidate, part, *rest, **by)


def reads_checked(
    state: DomainState, candidate: Candidate, part: TablePart, *rest: Any, **by: Any
) -> Any:
    """Check tables that are only read at every level."""
    return HONEST_TABLE_CONFLICT(state, candidate, replace(part, is_read=False), *rest, **by)


def coarse_only(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Iterator[Hit]:
    """Let coarse writes meet coarse writes alone."""
    schema = winners.schema_at(attempt.read_at)
    for write in attempt.coarse:
        if write.operation != "insert":
            unit = units.unit_of(write, schema)
            yield from conflicts.unit_hits(winners, attempt.read_at, unit, ("coarse",), write)
    del asked


def columns_of_now(winners: TableWinners, attempt: Attempt, asked: Predicates) -> Iterator[Hit]:
    """Take the partition columns of now for those of the read."""
    return added_checks.added_hits(replace(winners, shapes=winners.shapes[-1:]), attempt, asked)


def both_later(hit: Hit) -> Hit:
    """Ask for files removed twice after files read and removed, always."""
    return hit._replace(step=8) if hit.rule == "file_removed_twice" else hit


def unread(footprint: Footprint) -> Footprint:
    """Overlook that a whole table was read."""
    return footprint._replace(reads_whole=False)


def any_operation(footprint: Footprint) -> Footprint:
    """Overlook which operations' mixed conditions bound what they read."""
    return footprint._replace(operation="MERGE")


MUTANTS: Final = (
    Mutant("no protocol check", checks("protocol_hits")),
    Mutant("two replacements pass", only_rule(conflicts.protocol_hits, "replaced_twice")),
    Mutant(
        "a feature unknown here passes", only_rule(conflicts.protocol_hits, "feature_beyond_known")
    ),
    Mutant("a feature dropped meanwhile", only_rule(conflicts.protocol_hits, "feature_dropped")),
    Mutant("no metadata check", checks("metadata_hits")),
    Mutant("a change beside a change passes", only_rule(conflicts.metadata_hits, "metadata_twice")),
    Mutant("identity accepted twice", checks("metadata_hits", identity_twice)),
    Mutant("an identity mark is taken on", checks("metadata_hits", mark_taken_on)),
    Mutant("no domain check", checks("domain_hits")),
    Mutant("no app check", checks("app_hits")),
    Mutant("no check of added files", checks("added_hits")),
    Mutant("blind flag trusted when reads exist", [Swap(table_part, "is_blind", trusted_blind)]),
    Mutant("denial of blindness ignored", [Swap(table_part, "is_blind", every_blind)]),
    Mutant(
        "blind appends exempt although current changes metadata",
        attempted_otherwise(added_checks.added_hits, lambda each: each._replace(alters=False)),
    ),
    Mutant("downgrade ignored", [leveled(never_downgraded)]),
    Mutant("downgrade always", [leveled(always_downgraded)]),
    Mutant("request ignored", [leveled(request_ignored)]),
    Mutant("request cancels the downgrade", [leveled(request_wins)]),
    Mutant("downgrade beside other writes", [Swap(Candidate, "level_of", level_alone)]),
    Mutant(
        "data_change ignored",
        [
            Swap(table_part, "rearranges", rearranges_always),
            Swap(evolve_commits, "rearranges", rearranges_always),
        ],
    ),
    Mutant("NULL is never read", [Swap(conflicts, "reads", null_never_read)]),
    Mutant("unknown predicate = FALSE", [Swap(predicates, "compile_predicate", unknown_is_false)]),
    Mutant("OR taken for AND", [Swap(predicates, "compile_predicate", always_derived)]),
    Mutant("equality index not typed", [Swap(index, "valued", valued_as_text)]),
    Mutant(
        "whole read ignored",
        attempted_otherwise(added_checks.added_hits, altered_footprint(unread)),
    ),
    Mutant(
        "no bound from mixed conditions",
        attempted_otherwise(added_checks.added_hits, altered_footprint(any_operation)),
    ),
    Mutant("removed-vs-read skipped", only_rule(removed_checks.removed_hits, "file_read_removed")),
    Mutant(
        "removed-vs-removed skipped", only_rule(removed_checks.removed_hits, "file_removed_twice")
    ),
    Mutant(
        "removed twice after read and removed",
        told_otherwise(removed_checks.removed_hits, both_later),
    ),
    Mutant("no check of units", checks("coarse_hits")),
    Mutant("coarse vs files skipped", checks("coarse_hits", coarse_only)),
    Mutant("partition columns of now", checks("added_hits", columns_of_now)),
    Mutant("winners counted from TxnOpened", [Swap(table_part, "planned_at", planned_at_open)]),
    Mutant("prune one too many", [Swap(ConflictIndex, "prune", prune_one_more)]),
    Mutant("prune an event too late", [Swap(ConflictIndex, "prune", prune_too_late)]),
    Mutant("floor not raised", [Swap(ConflictIndex, "prune", floor_not_raised)]),
    Mutant("floor not checked", [Swap(decide_commit, "check_base", floor_unchecked)]),
    Mutant("tables only read never checked", [Swap(judge, "table_conflict", reads_unchecked)]),
    Mutant("tables only read always checked", [Swap(judge, "table_conflict", reads_checked)]),
    Mutant("last winner named", [Swap(judge, "first_hit", last_hit)]),
    Mutant("first step named", [Swap(judge, "first_hit", first_step)]),
)
BY_NAME: Final = {mutant.name: mutant for mutant in MUTANTS}
HONEST: Final = Mutant("the honest check", [])
