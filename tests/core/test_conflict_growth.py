"""A check costs what the attempt itself read and wrote, not how many won meanwhile."""

import json
from collections.abc import Callable
from statistics import median
from time import perf_counter

import pytest
from pyroaring import BitMap

from ledger.core.commands import Footprint
from ledger.core.conflicts.attempts import Attempt
from ledger.core.conflicts.checks import first_hit
from ledger.core.conflicts.footprints import is_blind
from ledger.core.conflicts.index import ConflictIndex, TableWinners
from ledger.core.conflicts.winners import WinningPart
from ledger.core.predicates.predicates import COMPILED_CHARS_MAX, Predicates
from ledger.core.rows.bitmaps import bytes_of
from ledger.core.rows.changes import AddedRows, Marks, ToldColumn
from tests.core.parts import NO_ROWS, above, equals, footprint, partition, table_of

MANY = 1_000
ROUNDS = 15
CHECKS = 40
RATIO_MAX = 2.5
SCHEMA = (("day", "int"),)
DAYS = [partition(str(day)) for day in range(4)]
TABLE = table_of(("day", "int"), ("id", "int"), by=["day"])
PATHS = [f"mine/{number}" for number in range(20)]


def in_few_days(number: int) -> Footprint:
    """Return a rewrite of one file in the same few days as all others."""
    return footprint("MERGE", adds=DAYS, remove=[f"theirs/{number}"], removes_in=DAYS)


def in_a_day_of_its_own(number: int) -> Footprint:
    """Return a rewrite of one file in a day that nobody else writes to."""
    day = partition(str(number))
    return footprint("MERGE", adds=[day], remove=[f"theirs/{number}"], removes_in=[day])


def marks_a_row(number: int) -> Footprint:
    """Return an update of one row of the one file of a table."""
    rows = [Marks("one", bytes_of(BitMap([3 * number])))]
    return footprint("UPDATE", removes_in=DAYS, rows=NO_ROWS._replace(marks=rows))


def tells_an_id(number: int) -> Footprint:
    """Return an insert of a row with an id that no other row has."""
    rows = [AddedRows(DAYS[0], [ToldColumn("id", "int")], [partition(str(number))], "", "")]
    return footprint("MERGE", adds=DAYS[:1], rows=NO_ROWS._replace(added=rows))


def winners(count: int, said: Callable[[int], Footprint]) -> TableWinners:
    """Return a table in which so many rewrites won."""
    index = ConflictIndex()
    for position in range(1, count + 1):
        index.record(
            WinningPart(
                position,
                table=1,
                txn=position,
                session=4,
                at=position,
                operation="MERGE",
                blind=False,
                rearranges=False,
                metadata="",
                replaces=False,
                protocol="",
                coarse=[],
                footprint=said(position),
            ),
            SCHEMA,
        )
    return index.tables[1]


def attempt_of(said: Footprint) -> Attempt:
    """Return a commit that read before all winners."""
    return Attempt(
        read_at=0,
        level="Serializable",
        coarse=[],
        footprint=said,
        blind=is_blind(said),
        rearranges=False,
        changes=False,
        alters=False,
        replaces=False,
        breaks=False,
        definition=TABLE,
    )


def check(table: TableWinners, said: Footprint) -> Callable[[], None]:
    """Return a check of a commit that read before all winners and meets none of them."""
    predicates, attempt = Predicates(), attempt_of(said)

    def run() -> None:
        assert first_hit(table, attempt, predicates) is None

    return run


def seconds(run: Callable[[], None]) -> float:
    """Return how long a few runs take together."""
    began = perf_counter()
    for _ in range(CHECKS):
        run()
    return perf_counter() - began


def growth(few: Callable[[], None], many: Callable[[], None]) -> float:
    """Return the ratio of the median times of two runs, measured in turn."""
    rounds = [(seconds(few), seconds(many)) for _ in range(ROUNDS)]
    return median(each for _, each in rounds) / median(each for each, _ in rounds)


ATTEMPTS = [
    (
        "listed paths",
        in_a_day_of_its_own,
        footprint(
            "DELETE",
            read=PATHS,
            remove=PATHS,
            removes_in=[partition("0")],
            reads=[equals("day", "-1", "int")],
        ),
    ),
    (
        "an equality",
        in_a_day_of_its_own,
        footprint("UPDATE", reads=[equals("day", "-1", "int")], adds=[partition("-1")]),
    ),
    (
        "a range over few partitions",
        in_few_days,
        footprint("UPDATE", reads=[above("day", "9")], adds=[partition("10")]),
    ),
    (
        "a hundred rows of a file that others mark",
        marks_a_row,
        footprint(
            "UPDATE",
            removes_in=DAYS[:1],
            rows=NO_ROWS._replace(marks=[Marks("one", bytes_of(BitMap(range(1, 300, 3))))]),
        ),
    ),
    (
        "an equality over told values",
        tells_an_id,
        footprint("UPDATE", reads=[equals("id", "-1", "int")]),
    ),
]


@pytest.mark.parametrize(
    ("won", "said"), [row[1:] for row in ATTEMPTS], ids=[row[0] for row in ATTEMPTS]
)
def test_checks_do_not_grow(won: Callable[[int], Footprint], said: Footprint) -> None:
    few, many = check(winners(1, won), said), check(winners(MANY, won), said)

    assert growth(few, many) <= RATIO_MAX


DAY = ["col", "day"]
EITHER = [["=", DAY, ["lit", "-1", "int"]], [">", DAY, ["lit", str(MANY), "int"]]]
ALIKE = ["like", ["cast", DAY, "string"], ["lit", "%a" * 100 + "b", "string"]]


@pytest.mark.parametrize(
    ("scan", "steps"),
    [
        ([">", DAY, ["lit", str(MANY), "int"]], MANY),
        (["or", *EITHER], 3 * MANY),
        (["or", EITHER[1], ALIKE], 50 * MANY),
    ],
    ids=["one comparison", "two of them", "a pattern"],
)
def test_scans_are_asked_of_so_many_partitions(scan: list[object], steps: int) -> None:
    said = footprint("UPDATE", reads=[json.dumps(scan)], adds=[partition("1")])
    attempt, won = attempt_of(said), winners(MANY, in_a_day_of_its_own)

    asked = first_hit(won, attempt, Predicates(asked_max=100 * steps))
    unasked = first_hit(won, attempt, Predicates(asked_max=steps - 1))
    assert (asked, unasked is not None and unasked.rule) == (None, "file_added")


def test_compiled_scans_are_let_go() -> None:
    predicates = Predicates()
    texts = [
        json.dumps(["=", DAY, ["lit", f"{'9' * 60_000}{number}", "int"]]) for number in range(99)
    ]
    for text in texts:
        predicates.of(text, SCHEMA, derive=False)
    kept = [text for text, *_ in predicates.compiled]

    assert kept == texts[-len(kept) :]
    assert predicates.chars == sum(map(len, kept)) <= COMPILED_CHARS_MAX
