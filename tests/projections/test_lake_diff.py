"""What changed between two positions agrees with the two states, after any history."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.commands import Property, TableDefinition
from ledger.errors import UnknownTableError
from ledger.reads.port import FileRow, Reads
from projections.reads.lake_diff import File, lake_diff, schema_diff
from tests.core.parts import table_of
from tests.projections.filing import commit
from tests.projections.followed import Followed

PATHS = tuple(f"{path}{vector}" for path in "abcd" for vector in ("", "#1", "#2"))


def grown(seed: int, commits: int) -> Followed:
    """Return a domain with tables whose files come, go and come back, one of them dropped."""
    domain, draw = Followed(), Random(seed)  # noqa: S311 - a seed replays a history
    sessions = [domain.open_session(user) for user in ("ada", "bob")]
    tables = [domain.create_table(sessions[0], name) for name in ("flights", "planes", "gone")]
    held: dict[int, set[str]] = {table: set() for table in tables}
    for _ in range(commits):
        table = draw.choice(list(held))
        adds = {path for path in PATHS if path not in held[table] and draw.random() < 0.3}
        removes = {path for path in held[table] if draw.random() < 0.3}
        commit(domain, draw.choice(sessions), table, sorted(adds), sorted(removes))
        held[table] = held[table] - removes | adds
        if table == tables[-1] and draw.random() < 0.2:
            domain.drop_table(sessions[0], table)
            del held[table]
    domain.follow()
    return domain


def live(reads: Reads, table: int, position: int) -> dict[File, FileRow]:
    """Return the files of a table as of a position, none before it existed."""
    if reads.definition(table, position) is None:
        return {}
    try:
        found = reads.files(table, position=position)
    except UnknownTableError:
        return {}
    return {(each.path, each.vector): each for each in found}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_files_are_what_the_ends_differ_by(seed: int, cut: tuple[float, float]) -> None:
    domain = grown(seed, 12)
    reads, newest = domain.reads, domain.head.position
    first, last = sorted(round(each * newest) for each in cut)
    found = {table.row.table: table for table in lake_diff(reads, first, last).tables}
    for row in reads.tables(include_dropped=True):
        if 0 < row.dropped <= last:
            continue
        before, after = (live(reads, row.table, each) for each in (first, last))
        came = [after[key] for key in after.keys() - before.keys()]
        gone = [before[key] for key in before.keys() - after.keys()]
        each = found.get(row.table)
        sums = [] if each is None else [each.added, each.removed]
        assert [(one.files, one.bytes, one.rows) for one in sums] == [
            (len(files), sum(one.size for one in files), len(files)) for files in (came, gone)
        ][: len(sums)]
        assert each is not None or not (came or gone)


def test_commits_and_aborts_are_counted_once_by_user() -> None:
    domain = Followed()
    ada, bob = domain.open_session("ada"), domain.open_session("bob")
    flights = domain.create_table(ada, "flights")
    commit(domain, ada, flights, ["a"])
    first = domain.head.position
    commit(domain, bob, flights, ["b"], ["a"])
    commit(domain, ada, flights, ["c"])
    domain.abort(bob, domain.open_txn(bob))
    domain.drop_table(ada, domain.create_table(ada, "planes"))
    domain.create_table(bob, "airports")
    domain.rename_table(ada, flights, "trips")
    domain.follow()

    found = lake_diff(domain.reads, first, domain.head.position)

    changes = {table.row.name: (table.change, table.first, table.last) for table in found.tables}
    assert (found.aborted, found.users["bob"] >= 2, found.users["ada"] >= 1) == (1, True, True)
    assert changes["trips"][0] == "changed"
    assert changes["airports"][:2] == ("created", -1)
    trips = next(table for table in found.tables if table.row.name == "trips")
    assert "renamed" in trips.schema
    assert (trips.added.files, trips.removed.files) == (2, 1)
    assert lake_diff(domain.reads, first, first).tables == []


PLAIN = table_of(("day", "int"), ("delay", "int"))
FIRST, SECOND = PLAIN.columns


def made(**changes: object) -> TableDefinition:
    return PLAIN._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (PLAIN, []),
        (made(columns=[FIRST]), ["column delay int dropped"]),
        (
            made(columns=[FIRST, SECOND._replace(type="bigint")]),
            ["column delay: int became bigint"],
        ),
        (made(partition_columns=["day"]), ["partitioned by day, before by nothing"]),
        (made(properties=[Property("owner", "ada")]), ["property owner: absent became ada"]),
    ],
    ids=["equal", "dropped", "type", "partitions", "property"],
)
def test_each_changed_definition_is_a_sentence(new: TableDefinition, said: list[str]) -> None:
    assert schema_diff(PLAIN, new) == said


def test_a_column_keeps_its_id() -> None:
    old = made(columns=[FIRST._replace(id=1), SECOND._replace(id=2)])
    new = made(columns=[FIRST._replace(id=1), SECOND._replace(id=2, name="late")])
    assert schema_diff(old, new) == ["column delay renamed to late"]
