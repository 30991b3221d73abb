"""The twin of a trimmed lake: what reads, rows and published logs must be, and what differs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, Final

from ledger.errors import LedgerError, ReaderBehindError, ReadsUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.replay import Replay
from ledger.reads.metadata import Bounds, MetadataAnswer, Read
from ledger.reads.port import Reads
from ledger.reads.remote.http import HttpCache
from projections.delta.verify import verify_log
from projections.queries import open_reads
from projections.rows.keys import CHECKPOINT, LOG
from projections.store.port import KEYS_END
from projections.store.rocks_reader import RocksReader

LOOKS: Final = 40
PAGE: Final = 200


def differences(
    twin: MemoryLog,
    whole: Path,
    stores: Sequence[Path],
    cached: Mapping[int, MetadataAnswer],
    begins_at: int,
) -> Iterator[str]:
    """Yield what stores answer otherwise than the rows of a twin, and published logs that differ.

    `cached` are the answers of a cache by table.

    Every read is made of rows, so all rows are compared. Then reads at positions from where the log
    begins on are asked of each, for what they make of the rows.
    """
    wanted = digest_of(whole)
    yield from (f"the rows at {each}" for each in stores if digest_of(each) != wanted)
    tables = list(cached)
    with ExitStack() as held:
        expected = held.enter_context(closing(open_reads(whole)))
        right = expected.metadata([Read(table, None) for table in tables])
        yield from (
            f"the cache of table {table}: {cached[table]}, not {answer}"
            for table, answer in zip(tables, right, strict=True)
            if cached[table].value != answer.value
        )
        chance = Random(begins_at)  # noqa: S311 - repeatable on purpose
        for store in stores:
            reads = held.enter_context(closing(open_reads(store)))
            for _ in range(LOOKS):
                position = chance.randint(begins_at, expected.position())
                table = chance.choice(tables)
                told, wanted_here = (told_by(each, table, position) for each in (reads, expected))
                yield from (
                    f"{what} of table {table} at {position} in {store}"
                    for what, answer_here in wanted_here.items()
                    if told[what] != answer_here
                )
    for table in tables:
        report = verify_log(Replay(twin), table) if is_published(whole, table) else None
        if report is not None and not report.is_clean:
            yield f"the published log of table {table}: {report}"


def answers_of(
    url: str, tables: Sequence[int], position: int
) -> Mapping[int, MetadataAnswer] | None:
    """Return what a cache answers of tables as of a position or later; None while it is away."""
    try:
        with closing(HttpCache(url)) as cache:
            found = cache.metadata([Read(table, None) for table in tables], Bounds(token=position))
    except (ReadsUnavailableError, ReaderBehindError):
        return None
    return dict(zip(tables, found, strict=True))


def told_by(reads: Reads, table: int, position: int) -> dict[str, Any]:
    """Return what reads tell of a table at a position."""
    newest = reads.version_row(table, position=position)
    conflicts = reads.conflicts(position, PAGE)
    return {
        "the definition": reads.definition(table, position),
        "the files": list(reads.files(table, position=position)),
        "the version": newest,
        "the versions": list(reads.versions(table, PAGE)),
        "the write ids": or_refusal(lambda: reads.write_ids_at(table, position)),
        "the txns": or_refusal(lambda: reads.valid_txns(position)),
        "the namespaces": list(reads.namespaces(position)),
        "the history": list(reads.history(position - 1, PAGE)),
        "the conflicts": list(conflicts),
        "the explained txns": [reads.txn(each.txn) for each in conflicts],
        "the committing txn": None if newest is None else reads.txn(newest.txn),
    }


def or_refusal(read: Callable[[], Any]) -> Any:
    """Return what is read, or why it is refused: lists of the past may be cleaned."""
    try:
        return read()
    except LedgerError as refused:
        return str(refused)


def is_published(whole: Path, table: int) -> bool:
    with closing(open_reads(whole)) as reads:
        row = reads.table(table)
        return row is not None and any(
            name == "lakeledger.publish" for name, *_ in row.definition.properties
        )


def digest_of(root: Path) -> bytes:
    """Return the digest of all rows but those that name a topic or the place of a checkpoint."""
    total = blake2b(digest_size=32)
    with RocksReader.open(root) as rows:
        for key, row in rows.scan(b"", KEYS_END):
            if key not in {LOG, CHECKPOINT}:
                total.update(b"%d %d " % (len(key), len(row)) + key + row)
    return total.digest()
