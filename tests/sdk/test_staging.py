"""A footprint that is too large for one record travels in chunks, and is whole all the same."""

import secrets
from collections.abc import Callable

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.core.commands import Footprint
from ledger.core.conflicts.footprints import next_digest
from ledger.core.events.events import TxnCommitted, WritesStaged
from ledger.core.limits import FILES_PER_CHUNK, FOOTPRINT_BYTES_MAX, HASH_BYTES, LIST_BYTES_MAX
from ledger.errors import OutcomeUnknownError, StagedWritesDifferError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.testing import InMemoryLedger
from ledger.work.footprint_writer import FootprintWriter
from ledger.work.staging import Staging, fitting, size_of
from ledger.work.writes import DeclaredWrites
from tests.sdk.flights import TABLE, create_flights
from tests.sdk.told import bodies

PATIENT = ClientSettings(timeout_s=2.0, attempt_s=0.1, close_s=0.05)
MANY = 2 * FILES_PER_CHUNK + 1


def many(count: int = MANY, text: str = "part", stats: str = "") -> list[AddFile]:
    return [AddFile(f"{text}-{at}", (str(at % 2 + 1),), stats=stats) for at in range(count)]


@pytest.fixture
def table(ledger: Ledger) -> int:
    return create_flights(ledger).table


def append(ledger: Ledger) -> None:
    """Append in one call, whatever the size."""
    ledger.append(TABLE, many())


def add(ledger: Ledger) -> None:
    """Add in a txn that also writes another, small table."""
    ledger.create_table("summary")
    with ledger.transaction() as txn:
        txn.add_files(TABLE, many())
        txn.add_files("summary", ["s1"])


@pytest.mark.parametrize("write", [append, add])
def test_many_files_come_in_chunks_before_their_commit_which_names_their_count_and_digest(
    ledger: Ledger, log: LossyLog, table: int, write: Callable[[Ledger], None]
) -> None:
    write(ledger)

    chunks = [body for body in bodies(log, WritesStaged) if body.table == table]
    (part,) = [each for each in bodies(log, TxnCommitted)[-1].parts if each.table == table]
    digest = b""
    for chunk in chunks:
        digest = next_digest(digest, chunk.footprint)
    assert [each.number for each in chunks] == [1, 2, 3]
    assert part.footprint is not None
    found = part.footprint
    assert (found.staged, found.digest, found.files) == (3, digest, b"")
    assert len(ledger.read(TABLE)) == MANY + 2
    assert part.blind


def test_many_files_read_and_removed(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    ledger.append(TABLE, many())
    txn, other = ledger.begin(), memory.connect()
    txn.remove_files(TABLE, txn.read(TABLE))
    with other.transaction() as winner:
        winner.remove_files(table, ["part-20000"])

    with pytest.raises(errors.ConcurrentDeleteReadException, match="file") as raised:
        txn.commit()

    assert "file part-20000" in raised.value.explain()


def test_large_statistics(ledger: Ledger, log: LossyLog, table: int) -> None:
    """What fills a record is bytes: few files with large statistics come in chunks too."""
    files = [AddFile(f"f{at}", ("1",), stats=secrets.token_hex(50_000)) for at in range(20)]

    ledger.append(table, files)

    assert len(ledger.read(TABLE)) == 22
    assert all(size_of(body.footprint) <= FOOTPRINT_BYTES_MAX for body in bodies(log, WritesStaged))


@pytest.mark.parametrize(
    "files",
    [
        many(40, stats="x" * 500_000),
        [AddFile(f"f{at}", ("x" * 4_000, None)) for at in range(5_000)],
        [AddFile(f"f{at}", vector="x" * 4_000) for at in range(5_000)],
    ],
    ids=["statistics", "partitions", "vectors"],
)
def test_what_a_reader_unpacks(files: list[AddFile]) -> None:
    """A chunk that packs well is divided too, before it is more than a reader will unpack."""
    writer = FootprintWriter()
    writer.add(files)

    chunks = list(fitting(writer, files))

    assert len(chunks) > 2
    assert all(len(chunk.files) < FOOTPRINT_BYTES_MAX for chunk in chunks)


def test_what_no_reader_unpacks(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """One file with more statistics than any reader unpacks is refused, not lost by the commit."""
    with pytest.raises(ValueError, match=f"{LIST_BYTES_MAX} bytes"):
        ledger.append(table, [AddFile("a", ("1",), stats="x" * LIST_BYTES_MAX)])

    assert memory.reads.open_txns(10) == []
    assert len(ledger.read(TABLE)) == 2


def test_many_hashes_come_in_chunks_of_whole_hashes() -> None:
    writes = DeclaredWrites(7)
    writes.writer(1).add([AddFile("a")])
    (part,) = writes.parts((), "")
    sent: list[Footprint] = []
    hashes = b"hash___8" * 200_000

    (write,) = Staging().fit(
        [part._replace(read_files=hashes)], lambda _table, _number, chunk: sent.append(chunk)
    )

    assert hashes == b"".join(each.read_files for each in sent)
    assert {0} == {len(each.read_files) % HASH_BYTES for each in sent}
    assert write.footprint is not None
    assert (len(sent), b"") == (write.footprint.staged, write.footprint.read_files)


def test_one_unknown_partition_makes_those_of_all_chunks_unknown() -> None:
    writer = FootprintWriter()
    files = [RemoveFile(f"f{at}", ("1",)) for at in range(3)]
    writer.remove([*files, RemoveFile("somewhere")])

    assert list(writer.with_files(writer.head(), files).removes_in) == []
    assert FootprintWriter().with_files(writer.head(), [AddFile("a")]).adds == ["[]"]


class Lost:
    """Sends chunks, but of one of them no answer comes, though it arrives if `arrives`."""

    def __init__(self, number: int, *, arrives: bool) -> None:
        self.number = number
        self.arrives = arrives
        self.there: list[int] = []

    def send(self, table: int, number: int, _chunk: Footprint) -> None:
        """Take a chunk as a ledger would."""
        if number != len(self.there) + 1:
            raise StagedWritesDifferError(
                "not the next", reason="StagedWritesDiffer", subject=table
            )
        is_lost = number == self.number
        if not is_lost or self.arrives:
            self.there.append(number)
        if is_lost:
            self.number = 0
            raise OutcomeUnknownError("silence", session=1, n=1)


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_who_commits_again_sends_no_chunk_twice(number: int, *, arrives: bool) -> None:
    writes = DeclaredWrites(7)
    writes.writer(1).add(many())
    lost = Lost(number, arrives=arrives)
    staging = Staging()
    with pytest.raises(OutcomeUnknownError):
        staging.fit(writes.parts((), ""), lost.send)

    (again,) = staging.fit(writes.parts((), ""), lost.send)

    assert lost.there == [1, 2, 3]
    assert again.footprint is not None
    assert again.footprint.staged == 3
    assert [again] == staging.fit(writes.parts((), ""), lost.send)


def test_a_chunk_that_is_refused_though_its_sending_was_never_in_doubt_is_an_error() -> None:
    writes = DeclaredWrites(7)
    writes.writer(1).add(many())
    lost = Lost(0, arrives=True)
    lost.there.append(1)

    with pytest.raises(StagedWritesDifferError):
        Staging().fit(writes.parts((), ""), lost.send)


def test_commit_again_after_silence(memory: InMemoryLedger, log: LossyLog) -> None:
    """A large commit that was not answered is complete once it is asked for again."""
    view = LossyLog(log)
    cut_off = memory.connect(settings=PATIENT, log=view)
    create_flights(cut_off)
    txn = cut_off.begin()
    txn.add_files(TABLE, many())
    view.away[Topic.EVENTS] = 10**9
    with pytest.raises(OutcomeUnknownError):
        txn.commit()
    view.heal()

    assert txn.status == "open"
    txn.commit()

    assert len(cut_off.read(TABLE)) == MANY + 2
    assert [body.number for body in bodies(log, WritesStaged)] == [1, 2, 3]


def test_commit_again_after_ctrl_c(ledger: Ledger, log: LossyLog, table: int) -> None:
    """A large commit that Ctrl-C interrupted is complete once it is asked for again."""
    txn = ledger.begin()
    txn.add_files(table, many())
    log.interrupted[Topic.COMMANDS] = 1
    with pytest.raises(KeyboardInterrupt):
        txn.commit()

    txn.commit()

    assert len(ledger.read(TABLE)) == MANY + 2
    assert [body.number for body in bodies(log, WritesStaged)] == [1, 2, 3]


def test_ctrl_c_before_the_commit_is_sent(
    ledger: Ledger, memory: InMemoryLedger, log: LossyLog, table: int
) -> None:
    txn = ledger.begin()
    log.interrupted[Topic.COMMANDS] = 1
    with pytest.raises(KeyboardInterrupt), txn:
        txn.add_files(table, many())

    assert txn.status == "aborted"
    assert memory.reads.open_txns(10) == []
