"""Valid lists: their text, their answers against the plain definition, and their order."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.limits import LISTED_IDS_MAX
from ledger.core.lists.text import ID_MAX
from ledger.core.lists.valid_lists import (
    RangeResponse,
    ValidCleanerWriteIdList,
    ValidCompactorWriteIdList,
    ValidTxnList,
    ValidWriteIdList,
    compare,
    sign,
)

NONE, SOME, ALL = RangeResponse.NONE, RangeResponse.SOME, RangeResponse.ALL
TOP = 24
laws = settings(deadline=None)


@st.composite
def txn_lists(draw: st.DrawFn) -> ValidTxnList:
    """Draw a small list; dense exceptions are likely, so that runs and gaps both come up."""
    states = draw(st.lists(st.sampled_from(["valid", "open", "open", "aborted"]), max_size=TOP))
    marked = list(enumerate(states, 1))
    still_open = tuple(member for member, state in marked if state == "open")
    aborted = tuple(member for member, state in marked if state == "aborted")
    min_open = draw(st.sampled_from([still_open[0] if still_open else None, None, TOP + 1]))
    return ValidTxnList(len(states), still_open, aborted, min_open)


@st.composite
def write_id_lists(draw: st.DrawFn) -> ValidWriteIdList:
    """Draw a small list of a table that may be missing or spelled in another case."""
    ids = draw(txn_lists())
    table = draw(st.sampled_from(["db.t", "db.t", "DB.T", "db.u", None]))
    return ValidWriteIdList(table, ids.hwm, ids.open, ids.aborted, ids.min_open)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int, int]:
    """Draw the bounds of a range that may reach above every list."""
    first = draw(st.integers(1, TOP + 3))
    return first, draw(st.integers(first, TOP + 6))


def visible(ids: ValidTxnList | ValidWriteIdList) -> set[int]:
    """Return the ids a list makes valid, straight from the definition."""
    return set(range(1, ids.hwm + 1)) - set(ids.open) - set(ids.aborted)


def how_many(members: set[int], bounds: tuple[int, int]) -> RangeResponse:
    """Return how much of a range a set covers, counted one by one."""
    asked = set(range(bounds[0], bounds[1] + 1))
    return ALL if asked <= members else SOME if asked & members else NONE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20:3:3,4,5,6:", ValidTxnList(20, (3, 4, 5, 6), (), 3)),
        ("20:3:3-7:", ValidTxnList(20, (3, 4, 5, 6, 7), (), 3)),
        ("11:4:4-8,10:2,9", ValidTxnList(11, (4, 5, 6, 7, 8, 10), (2, 9), 4)),
        (f"9:{ID_MAX}::1-6,9", ValidTxnList(9, (), (1, 2, 3, 4, 5, 6, 9), None)),
        ("9:1:1,3,5,7,9:2,4,6,8", ValidTxnList(9, (1, 3, 5, 7, 9), (2, 4, 6, 8), 1)),
        (f"0:{ID_MAX}::", ValidTxnList(0, (), (), None)),
        (f"{ID_MAX}:{ID_MAX}::", ValidTxnList(ID_MAX, (), (), None)),
    ],
)
def test_each_part_of_a_txn_list_joins_its_own_runs(text: str, expected: ValidTxnList) -> None:
    assert expected == ValidTxnList.parse(text)
    assert text == expected.text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ValidTxnList(ID_MAX, (), (), None)),
        (f"5:{ID_MAX}", ValidTxnList(5, (), (), None)),
        ("5:3:3", ValidTxnList(5, (3,), (), 3)),
        ("5:3:3:", ValidTxnList(5, (3,), (), 3)),
        ("6:2:4,2-3,6:5", ValidTxnList(6, (2, 3, 4, 6), (5,), 2)),
        ("6:900:4-4:", ValidTxnList(6, (4,), (), 900)),
    ],
)
def test_txn_list_is_read_liberally(text: str, expected: ValidTxnList) -> None:
    assert expected == ValidTxnList.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t1:20:1:1,2,3,4,5,6:", ValidWriteIdList("t1", 20, (1, 2, 3, 4, 5, 6), (), 1)),
        ("db.t:1:2::1", ValidWriteIdList("db.t", 1, (), (1,), 2)),
        (f"null:8:{ID_MAX}::7", ValidWriteIdList(None, 8, (), (7,), None)),
    ],
)
def test_write_id_list_text(text: str, expected: ValidWriteIdList) -> None:
    assert expected == ValidWriteIdList.parse(text)
    assert text == expected.text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ValidWriteIdList(None, ID_MAX, (), (), None)),
        (f"t1:21:{ID_MAX}", ValidWriteIdList("t1", 21, (), (), None)),
        ("NULL:21:3:3", ValidWriteIdList(None, 21, (3,), (), 3)),
    ],
)
def test_write_id_list_is_read_liberally(text: str, expected: ValidWriteIdList) -> None:
    assert expected == ValidWriteIdList.parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "named"),
    [
        (ValidTxnList.parse, "5", "got '5'"),
        (ValidTxnList.parse, "5:1:1:2:3", "got '5:1:1:2:3'"),
        (ValidTxnList.parse, "x:1::", "field hwm: .*'x'"),
        (ValidTxnList.parse, f"{ID_MAX + 1}:1::", "field hwm"),
        (ValidTxnList.parse, f"{'9' * 5000}:1::", "field hwm"),
        (ValidTxnList.parse, "5::1:", "field min open: .*''"),
        (ValidTxnList.parse, "5:0::", "field min open: .*got 0"),
        (ValidTxnList.parse, f"1:{ID_MAX}:-1,0:", "field open: .*''"),
        (ValidTxnList.parse, "5:1:1_0:", "field open: .*'1_0'"),
        (ValidTxnList.parse, "5:1:1,,3:", "field open: .*''"),
        (ValidTxnList.parse, "5:1:4-2:", "field open: the run '4-2'"),
        (ValidTxnList.parse, f"{ID_MAX}:1:1-{ID_MAX}:", f"field open: .*{LISTED_IDS_MAX} ids"),
        (ValidTxnList.parse, "5:1:0-1:", "field open: .*got 0 to 1"),
        (ValidTxnList.parse, "5:1:2,2:", "field open: .*ascend"),
        (ValidTxnList.parse, "5:1::6", "field aborted: .*1 to hwm 5, got 6 to 6"),
        (ValidTxnList.parse, "5:1:2,3:1,3", "fields open and aborted: .*3"),
        (ValidWriteIdList.parse, "flights", "got 'flights'"),
        (ValidWriteIdList.parse, "db.t:5", "got '5'"),
        (ValidWriteIdList.parse, "db.t:5:1:1-6:", "field open: .*'1-6'"),
        (ValidWriteIdList.parse, ":5:1::", "field table: .*got ''"),
        (ValidWriteIdList.parse, "a$b:5:1::", "field table: .*got 'a"),
    ],
)
def test_malformed_text_is_refused(parse: Callable[[str], object], text: str, named: str) -> None:
    with pytest.raises(ValueError, match="^.*" + named.replace("$", r"\$")):
        parse(text)


@given(txn_lists())
@laws
def test_a_txn_list_survives_its_text(ids: ValidTxnList) -> None:
    assert ids == ValidTxnList.parse(ids.text())


@given(write_id_lists())
@laws
def test_a_write_id_list_survives_its_text(ids: ValidWriteIdList) -> None:
    assert ids == ValidWriteIdList.parse(ids.text())


@given(txn_lists() | write_id_lists())
@laws
def test_membership_is_the_definition(ids: ValidTxnList | ValidWriteIdList) -> None:
    """An id is valid iff at or below the high watermark and no exception."""
    asked = range(1, TOP + 5)

    assert visible(ids) == {member for member in asked if ids.is_valid(member)}
    assert set(ids.aborted) == {member for member in asked if ids.is_aborted(member)}


@given(txn_lists() | write_id_lists(), ranges())
@laws
def test_ranges_are_counted(ids: ValidTxnList | ValidWriteIdList, bounds: tuple[int, int]) -> None:
    assert how_many(visible(ids), bounds) is ids.range_valid(*bounds)
    assert how_many(set(ids.aborted), bounds) is ids.range_aborted(*bounds)


@pytest.mark.parametrize(
    ("text", "write_id", "expected"),
    [
        (f"t:9:{ID_MAX}::", 9, True),
        (f"t:9:{ID_MAX}::", 10, False),
        ("t:9:5:5:", 4, True),
        ("t:9:5:5:", 5, False),
        ("t:1:3::1", 2, False),
    ],
)
def test_a_base_stays_below_open_ids_and_the_high_watermark(
    text: str, write_id: int, *, expected: bool
) -> None:
    """A compacted file serves a reader only if nothing in it was open, even in a cut list."""
    assert expected is ValidWriteIdList.parse(text).is_valid_base(write_id)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"t:9:{ID_MAX}::2,7", f"t:9:{ID_MAX}::2,7"),
        ("t:9:5:5,8:2,7", "t:4:5::2"),
        ("t:9:1:1:2", "t:0:1::"),
        ("t:1:2::1", "t:1:2::1"),
        (f"t:9:{ID_MAX}:4:", f"t:3:{ID_MAX}::"),
        ("", f"null:{ID_MAX}:{ID_MAX}::"),
    ],
)
def test_a_compactor_sees_only_resolved_ids(text: str, expected: str) -> None:
    assert expected == ValidWriteIdList.parse(text).for_compactor().text()


@given(write_id_lists(), ranges())
@laws
def test_a_compactor_takes_a_range_whole_or_not(
    ids: ValidWriteIdList, bounds: tuple[int, int]
) -> None:
    """A range is compactable iff no id in it is open or above the reader's high watermark."""
    top = min(ids.hwm + 1, ids.min_open or TOP + 9, *ids.open, TOP + 9)
    compactor = ids.for_compactor()

    assert (ALL if bounds[1] < top else NONE) is compactor.range_valid(*bounds)
    assert isinstance(compactor, ValidCompactorWriteIdList)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [((1, 2), ALL), ((1, 3), SOME), ((3, 3), NONE), ((5, 6), NONE), ((4, 5), ALL), ((9, 9), NONE)],
)
def test_a_cleaner_leaves_what_reaches_above_its_list(
    bounds: tuple[int, int], expected: RangeResponse
) -> None:
    cleaner = ValidWriteIdList("t", 5, (3,), (), 3).for_cleaner()

    assert expected is cleaner.range_valid(*bounds)
    assert isinstance(cleaner, ValidCleanerWriteIdList)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("t:5:1:1,2,3,4,5:", "t:8:1:1,2,3,4,5,6,7,8:", 0),
        ("t:5:1:1,2,3,4,5:", "t:8:1:1,2,3,4,6,7,8:", -1),
        ("t:0:1::", "t:5:9::", -1),
        ("t:5:7::", "t:8:7:7:6,8", 0),
        ("t:6:9::6", "t:8:9::", -1),
        ("t:5:9::3", "t:5:3:3:", 0),
        ("T:5:9::", "t:5:9::", 0),
        ("t1:9:9::", "t2:5:9::", -1),
        ("null:5:9::", "t:5:9::", -1),
    ],
)
def test_the_list_that_sees_more_is_newer(a: str, b: str, expected: int) -> None:
    assert expected == compare(ValidWriteIdList.parse(a), ValidWriteIdList.parse(b))
    assert -expected == compare(ValidWriteIdList.parse(b), ValidWriteIdList.parse(a))


@given(write_id_lists(), write_id_lists())
@laws
def test_compare_is_antisymmetric(a: ValidWriteIdList, b: ValidWriteIdList) -> None:
    """Asked the other way round, compare answers the opposite."""
    assert compare(a, b) == -compare(b, a)


@given(txn_lists(), txn_lists())
@laws
def test_compare_is_zero_iff_readers_see_the_same(a: ValidTxnList, b: ValidTxnList) -> None:
    a_ids = ValidWriteIdList("db.t", a.hwm, a.open, a.aborted, a.min_open)
    b_ids = ValidWriteIdList("db.t", b.hwm, b.open, b.aborted, b.min_open)

    assert (visible(a) == visible(b)) is (compare(a_ids, b_ids) == 0)


@given(txn_lists(), txn_lists())
@laws
def test_the_newer_list_sees_the_least_id_only_one_sees(a: ValidTxnList, b: ValidTxnList) -> None:
    a_ids = ValidWriteIdList("db.t", a.hwm, a.open, a.aborted, a.min_open)
    b_ids = ValidWriteIdList("db.t", b.hwm, b.open, b.aborted, b.min_open)
    least = min(visible(a) ^ visible(b), default=0)

    assert sign(a.is_valid(least) - b.is_valid(least)) == compare(a_ids, b_ids)
