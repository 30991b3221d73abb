"""The commits of a table in order, with what each changed, from any place on."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.commands import TableWrite
from ledger.log.wire.file_list import AddFile
from ledger.session.receipt import Token
from ledger.snapshot import changes
from ledger.snapshot.changes import ChangeFeed, CommitChanges
from ledger.testing import InMemoryLedger
from tests.core.parts import footprint
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.web.served import serving

MANY = 2 * changes.MANY + 500


def in_words(commit: CommitChanges) -> str:
    """Return what a commit changed: its files with a sign, in brackets those without new rows."""
    signs = (("+" if each.added else "-") + each.file.path for each in commit)
    words = " ".join(signs) if commit.data_change else f"({' '.join(commit_paths(commit))})"
    return f"{commit.version} {words}{' schema' if commit.schema_changed else ''}"


def commit_paths(commit: CommitChanges) -> list[str]:
    return [("+" if each.added else "-") + each.file.path for each in commit]


@pytest.fixture
def history(ledger: Ledger) -> list[str]:
    """Play a history of every kind of commit; return it in words."""
    create_flights(ledger)
    with ledger.transaction() as txn:
        txn.rewrite_files(TABLE, ["day1"], [of_day(1, "day1-b")])
    with ledger.transaction() as txn:
        txn.read(TABLE, "day = 2")
        txn.remove_files(TABLE, ["day2"])
        txn.add_files(TABLE, [of_day(2, "day2-b")])
    ledger.alter_table(TABLE, columns=[("day", "int"), ("tail", "string"), ("note", "string")])
    ledger.alter_table(TABLE, properties={"owner": "etl"})
    ledger.append(TABLE, [of_day(3)])
    return [
        "0 ()",
        "1 +day1 +day2",
        "2 (-day1 +day1-b)",
        "3 -day2 +day2-b",
        "4 () schema",
        "5 ()",
        "6 +day3",
    ]


def test_commits_in_order(ledger: Ledger, history: list[str]) -> None:
    """Every commit comes once, oldest first, with what it changed and who did it when."""
    found = list(ledger.changes(TABLE))

    assert list(map(in_words, found)) == history
    assert [each.operation for each in found][:3] == ["CREATE TABLE", "WRITE", "OPTIMIZE"]
    rows = ledger.reads().versions(found[0].row.table, 99)[::-1]
    assert [each.row for each in found] == rows
    assert [each.at for each in found] == [
        datetime.fromtimestamp(row.at / 1000, UTC) for row in rows
    ]
    assert [each.path for each in found[3].removed] == ["day2"]
    assert [(each.version, each.partition) for each in found[3].added] == [(3, ("2",))]


@pytest.mark.parametrize("version", range(-1, 7))
@pytest.mark.parametrize("kind", ["version", "token", "text", "position"])
def test_from_any_place(ledger: Ledger, history: list[str], version: int, kind: str) -> None:
    """A feed goes on behind a version, a commit's token or a position, without gap or overlap."""
    commits = list(ledger.changes(TABLE))
    place = commits[version].token if version >= 0 else commits[0].token.at(1)
    asked: dict[str, dict[str, Any]] = {
        "version": {"after": version},
        "token": {"after": place},
        "text": {"after": str(place)},
        "position": {"position": place.position},
    }

    found = list(map(in_words, ledger.changes(TABLE, **asked[kind])))
    assert found == history[version + 1 :]


def test_over_http(memory: InMemoryLedger, ledger: Ledger, history: list[str]) -> None:
    """Over HTTP the feed is the same."""
    row = ledger.table(TABLE)
    with serving(lambda: memory.reads) as served:
        feed = ChangeFeed(served.reads, row, -1)
        assert list(map(in_words, feed)) == history
        assert [each.token for each in feed] == [change.token for change in ledger.changes(TABLE)]


def test_commits_of_more_files_than_a_page_come_whole(ledger: Ledger) -> None:
    ledger.create_table(TABLE, [("tail", "string")])
    for number, size in enumerate([1, MANY, 3, changes.FILES - 4]):
        with ledger.transaction() as txn:
            txn.add_files(TABLE, [AddFile(f"{number}-{each}") for each in range(size)])
    with ledger.transaction() as txn:
        txn.read(TABLE)
        txn.remove_files(TABLE, [f"1-{each}" for each in range(MANY)])

    for after in (-1, 1, 4):
        found = {change.version: commit_paths(change) for change in ledger.changes(TABLE, after)}
        assert found == {
            version: paths
            for version, paths in enumerate(
                [
                    [],
                    ["+0-0"],
                    [f"+1-{each}" for each in range(MANY)],
                    [f"+2-{each}" for each in range(3)],
                    [f"+3-{each}" for each in range(changes.FILES - 4)],
                    [f"-1-{each}" for each in range(MANY)],
                ]
            )
            if version > after
        }


def test_follow(ledger: Ledger, memory: InMemoryLedger) -> None:
    """A feed that follows waits for each further commit."""
    create_flights(ledger)
    other = memory.connect()
    feed = iter(ledger.changes(TABLE, after=1, follow=True))
    for day in (3, 4, 5):
        other.append(TABLE, [of_day(day)])
        assert in_words(next(feed)) == f"{day - 1} +day{day}"


def test_follow_a_dropped_table(ledger: Ledger) -> None:
    create_flights(ledger)
    feed = iter(ledger.changes(TABLE, follow=True))
    found = [next(feed).version]
    ledger.drop_table(TABLE)

    assert [*found, *(each.version for each in feed)] == [0, 1]


def test_follow_without_a_reader(ledger: Ledger) -> None:
    row = create_flights(ledger)
    feed = ChangeFeed(ledger.reads(), row, 0, follow=True, is_wanted=lambda: False)
    assert [each.version for each in feed] == [1]


def test_commits_while_reading(ledger: Ledger) -> None:
    """A feed that does not follow ends with the newest commit at its begin."""
    create_flights(ledger)
    feed = iter(ledger.changes(TABLE))
    first = next(feed)
    ledger.append(TABLE, [of_day(3)])

    assert [first.version, *(each.version for each in feed)] == [0, 1]


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"after": 9}, errors.UnknownVersionError, "has no version 9"),
        ({"after": 1, "position": 5}, ValueError, "not both"),
        ({"after": "first"}, ValueError, "must look like"),
        ({"after": Token("another", 0, 5)}, ValueError, "is not of this ledger"),
    ],
)
def test_a_place_that_is_none_is_refused_with_what_it_must_be(
    ledger: Ledger, history: list[str], asked: Any, error: type[Exception], said: str
) -> None:
    assert history
    with pytest.raises(error, match=said):
        ledger.changes(TABLE, **asked)


def test_folders(ledger: Ledger) -> None:
    """The files of a table in folders are not known, and a feed of it would be empty and wrong."""
    ledger.create_table(TABLE, [("tail", "string")], layout="directories")
    with pytest.raises(errors.FilesUnknownError, match="layout directories"):
        ledger.changes(TABLE)


def unreadable(ledger: Ledger) -> None:
    """Commit a file list that cannot be decoded."""
    row = ledger.table(TABLE)
    said = footprint(files=b"j[[not")
    ledger.commit_once([TableWrite(row.table, ledger.token.position, (), said)])


def test_a_commit_whose_changes_are_unknown_ends_the_feed(ledger: Ledger) -> None:
    create_flights(ledger)
    unreadable(ledger)
    ledger.append(TABLE, [of_day(3)])

    with pytest.raises(errors.FileListError, match="--after 2"):
        list(ledger.changes(TABLE))
    assert list(map(in_words, ledger.changes(TABLE, after=2))) == ["3 +day3"]
