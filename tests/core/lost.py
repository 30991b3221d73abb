"""Lost conflicts as rows of a table, and the ones in which two commits met in rows of a file."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pyroaring import BitMap

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.footprints import path_hash
from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import AddedRows, Marks, Moved, RowChanges, ToldColumn
from tests.core.arena import BY_DAY, Arena, serializable
from tests.core.parts import NO_ROWS, equals, partition
from tests.core.scene import last

FILE_A = f"file {path_hash('a').hex()}"
NOT_BLIND: dict[str, Any] = {"not_blind": True}
DELAY_7 = equals("delay", "7", "int")


def bits(*rows: int) -> bytes:
    return bytes_of(BitMap(rows))


def marked(**rows: Iterable[int]) -> list[Marks]:
    """Return rows of files by the path of the file."""
    return [Marks(path, bits(*numbers)) for path, numbers in rows.items()]


def marks(**rows: Iterable[int]) -> RowChanges:
    """Return the changes of a statement that marks rows of files."""
    return NO_ROWS._replace(marks=marked(**rows))


def moves(*moved: Moved) -> RowChanges:
    """Return the changes of a rewrite that only copies rows."""
    return NO_ROWS._replace(moved=moved)


def told(*delays: str) -> RowChanges:
    """Return the changes of a statement that adds rows of one day, and tells their delays."""
    values = [partition(each) for each in delays]
    columns = [ToldColumn("delay", "int")]
    return NO_ROWS._replace(added=[AddedRows(partition("1"), columns, values, "", "")])


# The rows of `a` from row 10 of `c` on, all but row 3.
MOVED = Moved("a", "c", 10, 999, bits(3))


class Lost(NamedTuple):
    """A row: who wins, who follows, and what is said of it; levels are the table's."""

    rule: str
    unit: str
    operation: str
    wins: Callable[[Arena], Any]
    follows: Callable[[Arena], Any]
    predicate: str = ""
    level: str = "WriteSerializable"
    winner: str = ""
    made: TableDefinition = BY_DAY


LOST_BY_ROW = [
    Lost(
        "row_changed_twice", f"rows 7 of {FILE_A}", "DELETE",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[5, 7]))),
        lambda a: a.follows(a.part("DELETE", rows=marks(b=[5], a=[7, 8]))),
        winner="UPDATE",
    ),
    Lost(
        "row_changed_twice", f"rows 7 of {FILE_A}", "DELETE",
        lambda a: last(
            a.wins(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
            a.wins(a.part("UPDATE", rows=marks(c=[16]))),
        ),
        lambda a: a.follows(a.part("DELETE", rows=marks(a=[7, 8]))),
        winner="UPDATE",
    ),
    Lost(
        "row_changed_twice", f"rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more of {FILE_A}", "DELETE",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=range(12)))),
        lambda a: a.follows(a.part("DELETE", rows=marks(a=range(20)))),
        winner="UPDATE",
    ),
    # A row that a rewrite of another program left out was changed by it.
    Lost(
        "row_changed_twice", f"rows 3 of {FILE_A}", "DELETE",
        lambda a: a.wins(a.part("UPDATE", remove=["a"], rows=moves(MOVED))),
        lambda a: a.follows(a.part("DELETE", rows=marks(a=[3, 4]))),
        winner="UPDATE",
    ),
    Lost(
        "row_read_changed", f"rows 7 of {FILE_A}", "MERGE",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[5, 7]))),
        lambda a: a.follows(a.part("MERGE", rows=marks(a=[8])._replace(read=marked(a=[7])))),
        winner="UPDATE",
    ),
    Lost(
        "row_read_changed", f"rows 7 of {FILE_A}", "WRITE",
        lambda a: last(
            a.wins(a.part("OPTIMIZE", remove=["a"], data_change=False, rows=moves(MOVED))),
            a.wins(a.part("UPDATE", rows=marks(c=[16]))),
        ),
        lambda a: a.follows(a.part("WRITE", rows=NO_ROWS._replace(read=marked(a=[7])))),
        winner="UPDATE",
    ),
    # A file that goes without a word about its rows takes all of them.
    Lost(
        "file_removed_twice", FILE_A, "UPDATE",
        lambda a: a.wins(a.part("DELETE", remove=["a"])),
        lambda a: a.follows(a.part("UPDATE", rows=marks(a=[7]))),
        winner="DELETE",
    ),
    Lost(
        "file_removed_twice", FILE_A, "DELETE",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[7]))),
        lambda a: a.follows(a.part("DELETE", remove=["a"])),
        winner="UPDATE",
    ),
    Lost(
        "file_removed_twice", FILE_A, "UPDATE",
        lambda a: a.wins(a.part("DELETE", remove=["a"])),
        lambda a: a.follows(a.part("UPDATE", remove=["a"], rows=moves(MOVED))),
        winner="DELETE",
    ),
    Lost(
        "file_read_removed", FILE_A, "MERGE",
        lambda a: a.wins(a.part("DELETE", remove=["a"])),
        lambda a: a.follows(a.part("MERGE", rows=NO_ROWS._replace(read=marked(a=[7])))),
        winner="DELETE",
    ),
    Lost(
        "file_read_removed", FILE_A, "WRITE",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[7]))),
        lambda a: a.follows(a.part("WRITE", read=["a"])),
        winner="UPDATE",
    ),
    # At the strongest level a scan reads whole files.
    Lost(
        "file_read_removed", FILE_A, "UPDATE",
        lambda a: a.wins(a.part("UPDATE", rows=marks(a=[7]))),
        lambda a: a.follows(
            a.part("UPDATE", rows=marks(a=[8])._replace(scanned=path_hash("a")), **NOT_BLIND)
        ),
        level="Serializable",
        winner="UPDATE",
        made=serializable(),
    ),
    Lost(
        "file_added", "row delay = 7", "UPDATE",
        lambda a: a.wins(a.part("WRITE", adds=[partition("1")], rows=told("7"), **NOT_BLIND)),
        lambda a: a.follows(a.part("UPDATE", reads=[DELAY_7])),
        predicate=DELAY_7,
        winner="WRITE",
    ),
]  # fmt: skip
