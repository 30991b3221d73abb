"""Check: the finished log of a replay, judged again by who knows nothing of the conflict index.

Every commit and every lost conflict is held against all winners one by one, as `tests.isolation`
does; every statement must be in the log as often as its stream was told, once or not at all; and
what is live in the end must be what the commits say, added and not removed since.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger.core.commands import CommitTxn, Footprint, TableWrite
from ledger.core.events.events import Event, TxnAborted, TxnCommitted
from ledger.log.port import Log
from ledger.log.replay import Replay
from ledger.log.wire.file_list import FileList, unpack
from ledger.reads.port import Reads
from tests.benchmarks.workloads.replay import Done
from tests.benchmarks.workloads.statements import tags
from tests.isolation.adapter import Adapter
from tests.isolation.judge import by_step
from tests.isolation.lake import Lake
from tests.isolation.pairwise import verdict_on
from tests.isolation.plain import Attempt


class Checked(NamedTuple):
    """What the log holds: commits and conflicts by exception, and all that is wrong with it."""

    commits: int
    conflicts: Counter[str]
    problems: Sequence[str]


def check(log: Log, reads: Reads, done: Sequence[Done]) -> Checked:
    """Judge the log of a replay; `done` is what the streams were told."""
    adapter, lake = Adapter(), Lake()
    problems: list[str] = []
    conflicts: Counter[str] = Counter()
    written: Counter[str] = Counter()
    live: dict[int, set[str]] = {}
    commits = 0
    for event in Replay(log):
        for told in adapter.told(event, asked_by(event)):
            if isinstance(told, Attempt):
                problems.extend(disagreement(lake, told))
            lake.take(told)
        body = event.body
        if isinstance(body, TxnAborted) and body.evidence is not None:
            conflicts[body.evidence.exception] += 1
        if isinstance(body, TxnCommitted):
            commits += 1
            lists = {part.table: files_of(part.footprint) for part in body.parts}
            written.update(set(tags([add.path for files in lists.values() for add in files.adds])))
            problems.extend(applied(live, lists, event.control.position))
    problems.extend(miscounted(written, done))
    problems.extend(otherwise_live(live, reads))
    return Checked(commits, conflicts, problems)


def asked_by(event: Event) -> CommitTxn | None:
    """Return the commit that an event decided, as it must have been asked."""
    control, body = event
    if isinstance(body, TxnCommitted):
        parts = [
            TableWrite(part.table, part.read_at, part.writes, relisted(part.footprint))
            for part in body.parts
        ]
        txn = 0 if body.one_shot else control.txn
        return CommitTxn(control.session, control.n, 0, txn, [*parts, *body.reads], body.level)
    if isinstance(body, TxnAborted) and body.evidence is not None:
        txn = 0 if body.one_shot else control.txn
        return CommitTxn(control.session, control.n, 0, txn, body.attempted, body.level)
    return None


def files_of(footprint: Footprint | None) -> FileList:
    """Return the files a part lists."""
    return unpack(footprint.files) if footprint is not None else FileList()


def relisted(footprint: Footprint | None) -> Footprint | None:
    """Return a footprint whose files are listed as the judge reads them; rows are not known."""
    if footprint is None:
        return None
    files = files_of(footprint)
    form = {
        "adds": [(add.path, add.partition, ()) for add in files.adds],
        "removes": [remove.path for remove in files.removes],
    }
    return footprint._replace(files=json.dumps(form).encode())


def disagreement(lake: Lake, attempt: Attempt) -> Iterator[str]:
    """Return where the ledger decided otherwise than a walk through all winners."""
    expected = verdict_on(lake, attempt)
    if by_step(attempt.verdict) != by_step(expected):
        yield f"position {attempt.position}: decided {attempt.verdict}, should be {expected}"


def applied(live: dict[int, set[str]], lists: dict[int, FileList], position: int) -> Iterator[str]:
    """Apply a commit to what is live; return what it cannot have done."""
    for table, files in lists.items():
        there = live.setdefault(table, set())
        for removed in files.removes:
            if removed.path not in there:
                yield f"position {position}: {removed.path} was removed and is not live"
            there.discard(removed.path)
        for added in files.adds:
            if added.path in there:
                yield f"position {position}: {added.path} was added and is live"
            there.add(added.path)


def miscounted(written: Counter[str], done: Iterable[Done]) -> Iterator[str]:
    """Return the statements that are in the log more or less often than was told."""
    for each in done:
        most = 1 if each.position else 0
        if written[each.name] > most:
            yield f"{each.name} is in the log {written[each.name]} times, told {most}"


def otherwise_live(live: dict[int, set[str]], reads: Reads) -> Iterator[str]:
    """Return the tables whose live files in the rows are not those of the commits."""
    for table, paths in live.items():
        listed = {file.path for file in reads.files(table)}
        if listed != paths:
            yield f"table {table}: {len(listed ^ paths)} files differ between rows and log"
