"""Which of two write id lists of a table is newer: the question a cache asks of its entries.

"Newer" means to see an id the other does not. Open and aborted exceptions count alike, so equal
means that a reader of either sees the same rows (Hive's TxnIdUtils). Lists made before and after
aborted ids were forgotten differ, although they may cover the same data.
"""

from collections.abc import Sequence

from ledger.core.valid_lists import NO_TABLE_TEXT, ValidWriteIdList


def compare(a: ValidWriteIdList, b: ValidWriteIdList) -> int:
    """Return 1 if `a` is newer, -1 if `b` is, 0 if both make the same write ids valid.

    Lists of different tables order by name; case does not count.
    """
    a_name, b_name = table_key(a), table_key(b)
    if a_name != b_name:
        return 1 if a_name > b_name else -1
    a_ids, b_ids = a.exceptions(), b.exceptions()
    for a_id, b_id in zip(a_ids, b_ids, strict=False):
        if a_id != b_id:
            # The list with the greater id does not except the smaller one, which the other does.
            return sign(a_id - b_id)
    if len(a_ids) == len(b_ids):
        return sign(a.hwm - b.hwm)
    if len(a_ids) < len(b_ids):
        return compare_to_longer(a.hwm, b_ids[len(a_ids) :], b.hwm)
    return -compare_to_longer(b.hwm, a_ids[len(b_ids) :], a.hwm)


def compare_to_longer(hwm: int, further: Sequence[int], longer_hwm: int) -> int:
    """Compare a list with one that has the same exceptions and `further` ones."""
    # Up to the first further exception the lists agree on every id the shorter one reaches.
    if hwm != further[0] - 1:
        return sign(hwm - (further[0] - 1))
    has_no_more = further[-1] == longer_hwm and further[-1] - further[0] == len(further) - 1
    return 0 if has_no_more else -1


def table_key(ids: ValidWriteIdList) -> str:
    """Return the name by which tables are told apart."""
    return (ids.table or NO_TABLE_TEXT).lower()


def sign(number: int) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)
