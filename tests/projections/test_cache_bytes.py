"""What entries of a cache take: counted when it comes, not again with every change."""

from ledger.core.commands import Column, TableDefinition
from ledger.reads.metadata import TABLE, Objects
from projections.cache.entries.entry import CommitMark, Entry
from projections.cache.entries.held import entry_bytes, objects_bytes
from projections.cache.entries.steps import Effect

COLUMNS = 10
VERSIONS = 50
STATS = "stats:delay"


class Counted(Column):
    """A column that counts how often it is weighed."""

    looks = 0

    @property
    def metadata(self) -> str:
        Counted.looks += 1
        return ""


def objects(word: str) -> Objects:
    """Return the objects of a table, of which those beside the definition are always the same."""
    columns = tuple(Counted(f"c{number}", "bigint", True, number) for number in range(COLUMNS))  # noqa: FBT003
    return {TABLE: TableDefinition("managed", "listed", word, columns, (), ()), STATS: "x" * 1_000}


def alter(entry: Entry, number: int) -> None:
    """Let the next txn alter the table."""
    effect = Effect(("lake", "t"), objects(f"v{number:03}"), creates=number == 1)
    entry.change(number, number, 1, effect)
    entry.commit(number, number, CommitMark(number, 1))


def altered(times: int) -> Entry:
    """Return an entry with so many versions, weighed with each."""
    entry = Entry(1)
    for number in range(1, times + 1):
        alter(entry, number)
        entry_bytes(entry)
    return entry


def test_every_version_is_weighed_once() -> None:
    entry = altered(VERSIONS)
    Counted.looks = 0
    alter(entry, VERSIONS + 1)
    entry_bytes(entry)

    assert entry.length() == VERSIONS + 1
    assert Counted.looks == COLUMNS


def test_what_versions_share_takes_its_bytes_once() -> None:
    one, two = (entry_bytes(altered(times)) for times in (1, 2))

    assert one == objects_bytes(objects("v001"))
    assert two - one == one - 50 - 1_000


def test_what_is_let_go_counts_no_more() -> None:
    entry = altered(VERSIONS)
    entry.trim(1)
    assert entry_bytes(entry) == objects_bytes(objects("v001"))

    entry.evict()
    assert (entry_bytes(entry), entry.weighed) == (0, {})
