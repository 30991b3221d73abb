"""Commits file by file, in a few words: a file is `path` or `path#vector`.

And histories of them: a few writers add and remove few files in few tables, in one step or in
txns, with chunks staged before, and now and then with a list that cannot be or cannot be read.
"""

from collections.abc import Callable, Iterable, Sequence
from json import loads
from random import Random

from hypothesis import strategies as st

from ledger.core.commands import Command, CommitTxn, Footprint, StageWrites, TableWrite
from ledger.core.events.events import Event
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed
from ledger.reads.port import FileRow
from tests.core.histories import Draw, Step
from tests.core.parts import after, footprint
from tests.core.test_laws_of_writes import MOVES, Writers, drawn, some
from tests.driver import Driver

UNREADABLE = b"j[[not"
FILES_DRAW_BYTES = 56
FILES = ("a", "b", "c", "a#1", "a#2", "b#1", "day=1/d")
PARTITIONS = (*((each,) for each in ("1", "01", "2", "3", "x", "", None)), (), ("1", "2"))
STATISTICS = (
    '{"numRecords":1}',
    '{"numRecords":7,"minValues":{"delay":3}}',
    "",
    "no statistics",
    '{"numRecords":-1}',
    '{"numRecords":"5"}',
    '{"numRecords":99999999999999999999}',
    '{"minValues":' + "{" * 2_000,
)


def add(text: str) -> AddFile:
    path, _, vector = text.partition("#")
    return AddFile(path, ("1",), 10, 7, stats='{"numRecords":1}', vector=vector)


def remove(text: str) -> RemoveFile:
    path, _, vector = text.partition("#")
    return RemoveFile(path, vector=vector)


def files_of(adds: Iterable[str] = (), removes: Iterable[str] = ()) -> FileList:
    return FileList([add(each) for each in adds], [remove(each) for each in removes])


def unchanged(files: FileList) -> FileList:
    """Return a file list that changes no data."""
    return FileList(
        [each._replace(data_change=False) for each in files.adds],
        [each._replace(data_change=False) for each in files.removes],
    )


def text_of(row: FileRow) -> str:
    return f"{row.path}#{row.vector}" if row.vector else row.path


def texts(rows: Iterable[FileRow]) -> list[str]:
    return [text_of(row) for row in rows]


def writing(
    domain: Driver,
    table: int,
    adds: Sequence[str] = (),
    removes: Sequence[str] = (),
    *,
    chunks: Iterable[Footprint] = (),
    said: Footprint | None = None,
) -> TableWrite:
    """Return the part of a commit that is planned from the newest position."""
    whole = listed(said or footprint(), files_of(adds, removes))
    return TableWrite(table, domain.head.position, (), after(chunks, whole))


def commit(
    domain: Driver,
    session: int,
    table: int,
    adds: Sequence[str] = (),
    removes: Sequence[str] = (),
    *,
    said: Footprint | None = None,
) -> Event:
    return domain.commit(session, 0, writing(domain, table, adds, removes, said=said))


def unreadable(domain: Driver, session: int, table: int) -> Event:
    """Commit a file list that nobody can read."""
    said = footprint(files=UNREADABLE)
    return domain.commit(session, 0, TableWrite(table, domain.head.position, (), said))


def stage(domain: Driver, session: int, txn: int, table: int, *chunks: FileList) -> list[Footprint]:
    staged = [listed(footprint(), files) for files in chunks]
    for number, chunk in enumerate(staged, start=1):
        domain.ask(StageWrites(*domain.asks(session), txn, table, number, chunk))
    return staged


class Filers(Writers):
    """Writers who list their files."""

    def play(self, step: Step) -> None:
        draw = Draw(step.draw)
        if step.move == "tidy":
            self.tidy(txns=[self.txn(draw)])
        else:
            self.ask(FILING[step.move](self, draw))

    def read_at(self, draw: Draw) -> int:
        """Return the newest position, so that mostly nobody is in the way."""
        return self.state.position if draw.mostly() else super().read_at(draw)


def drawn_files(draw: Draw) -> Footprint:
    """Return any footprint over few files."""
    said = drawn(draw)._replace(read_files=b"", read_apps=[], reads=[], files=b"")
    if draw.mostly(70):
        said = said._replace(apps=[])
    if not draw.mostly(95):
        return said._replace(files=UNREADABLE, operation="WRITE")
    lists = files_of(some(draw, FILES, 3), some(draw, FILES, 3))
    if draw.mostly(70):
        lists = anywhere(lists, draw)
    if not draw.mostly(80):
        lists = unchanged(lists)
    listing = listed(said._replace(operation=said.operation or "WRITE"), lists)
    # A decision refuses values of other columns where the footprint names them.
    return listing._replace(adds=[each for each in listing.adds if len(loads(each)) == 1])


def anywhere(files: FileList, draw: Draw) -> FileList:
    """Return a file list over several partitions; removals may name another than the add did."""
    return FileList(
        [
            each._replace(partition=draw.of(PARTITIONS), stats=draw.of(STATISTICS))
            for each in files.adds
        ],
        [each._replace(partition=draw.of([None, *PARTITIONS])) for each in files.removes],
    )


def commit_files(writers: Writers, draw: Draw) -> Command:
    """Commit files of one table or two, with what was staged of them."""
    txn = writers.txn(draw) if draw.mostly(60) else 0
    found = writers.state.txns.open.get(txn)
    staged = found.staged if found is not None else {}
    tables = {*staged, writers.table(draw), writers.table(draw)}
    parts = [
        TableWrite(
            table, writers.read_at(draw), (), after(staged.get(table, ()), drawn_files(draw))
        )
        for table in sorted(tables)
    ]
    return CommitTxn(*writers.asks_in(txn), txn, parts)


def stage_files(writers: Writers, draw: Draw) -> Command:
    """Stage the next chunk of a table."""
    txn, table = writers.txn(draw), writers.table(draw)
    found = writers.state.txns.open.get(txn)
    number = len(found.staged.get(table, ())) + 1 if found is not None else 1
    return StageWrites(*writers.asks_in(txn), txn, table, number, drawn_files(draw))


FILING: dict[str, Callable[[Writers, Draw], Command]] = {
    **MOVES,
    "commit": commit_files,
    "stage": stage_files,
}
WEIGHTED = [*FILING, *["commit"] * 12, *["open_txn"] * 2, *["stage"] * 2, "tidy"]


def filings(least: int = 20, most: int = 50) -> st.SearchStrategy[list[Step]]:
    """Return a strategy for histories of files, of so many steps."""
    draws = st.binary(min_size=FILES_DRAW_BYTES, max_size=FILES_DRAW_BYTES)
    each = st.builds(Step, st.sampled_from(WEIGHTED), draws)
    return st.lists(each, min_size=least, max_size=most)


def random_filings(seed: int, count: int) -> list[Step]:
    source = Random(seed)  # noqa: S311 - a history must come back from its seed
    return [Step(source.choice(WEIGHTED), source.randbytes(FILES_DRAW_BYTES)) for _ in range(count)]


def filed(history: Iterable[Step]) -> Filers:
    """Return the writers after a history."""
    writers = Filers()
    for step in history:
        writers.play(step)
    return writers
