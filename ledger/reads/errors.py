"""Errors of reads, equal for every adapter: for bad arguments, and for what does not exist."""

from collections.abc import Sequence
from typing import Final

from ledger.core.limits import NUMBER_MAX, PREDICATE_CHARS_MAX
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.predicates.tree import is_array
from ledger.core.refusals import Reason
from ledger.errors import (
    LimitExceededError,
    SnapshotTooOldError,
    UnknownTableError,
    UnknownVersionError,
)
from ledger.reads.metadata import AT_HAND, POLICIES, TABLE, Bounds, Read
from ledger.reads.whole_numbers import whole_number

# Numbers and names as they come with nearly every read: there is nothing to convert.
PLAIN: Final = (int, str)
SHOWN_CHARS: Final = 80


def check_number(name: str, number: int) -> None:
    """Raise ValueError for an impossible position, version or id, TypeError for no number."""
    plain = number if type(number) is int else whole_number(name, number)
    if not 0 <= plain <= NUMBER_MAX:
        raise ValueError(f"{name} is {number}; it is a number from 0 to 2**63 - 1")


def check_reads(reads: Sequence[Read], bounds: Bounds) -> None:
    """Raise ValueError for an impossible table, txn, token, wait, lag or policy.

    Raises TypeError for a value of another type.
    """
    if bounds is not AT_HAND:
        check_bounds(bounds)
    for read in reads:
        check_table(read)
        if read.own_txn or type(read.own_txn) is not int:
            check_number("own_txn", read.own_txn)
        if not isinstance(read.write_ids, ValidWriteIdList | None):
            raise TypeError(
                f"write_ids must be a ValidWriteIdList, got {read.write_ids!r}; "
                "ValidWriteIdList.parse makes one from a text"
            )


def check_bounds(bounds: Bounds) -> None:
    """Raise ValueError for an impossible token, wait, lag or policy."""
    check_number("token", bounds.token)
    check_number("max_wait_ms", bounds.max_wait_ms)
    if bounds.max_lag_ms is not None:
        check_number("max_lag_ms", bounds.max_lag_ms)
    if bounds.policy not in POLICIES:
        raise ValueError(f"policy is {bounds.policy!r}; it is one of: {', '.join(POLICIES)}")


def check_table(read: Read) -> None:
    """Raise ValueError for an impossible table or two tables, TypeError without a table."""
    if not isinstance(read.table, str):
        check_number("table", read.table)
    if read.table_id is None:
        return
    check_number("table_id", read.table_id)
    if read.table_id != read.table and not isinstance(read.table, str):
        raise ValueError(f"give table or table_id, got both: {read.table} and {read.table_id}")


def check_condition(where: str) -> None:
    """Raise ValueError for a text in another form than `ledger.core.predicates`, "" excepted.

    Raises TypeError for anything but a text.
    """
    if not isinstance(where, str):
        raise TypeError(f"where must be the text of a condition, got {where!r}")
    if not where:
        return
    form = "a condition in the form of ledger.core.predicates"
    if len(where) > PREDICATE_CHARS_MAX:
        raise ValueError(
            f"where must be {form} of at most {PREDICATE_CHARS_MAX} characters, got {len(where)}"
        )
    try:
        is_condition = is_array(where)
    except ValueError:
        is_condition = False
    if not is_condition:
        raise ValueError(f"where must be {form}, got {where[:SHOWN_CHARS]!r}")


class ListForeignError(ValueError):
    """A list of write ids belongs to another table than the requested one."""


def check_lists(reads: Sequence[Read], values: Sequence[object], catalog: str = "") -> None:
    """Raise ListForeignError for a read whose list belongs to another table than the named one.

    `values` are the results of the reads, None for nothing; `catalog` is the default catalog.
    """
    for read, value in zip(reads, values, strict=True):
        name, listed = read.table, read.write_ids
        if value is None or listed is None or read.table_id is not None:
            continue
        if isinstance(name, str):
            check_list_is_of(read.catalog or catalog, name, listed)


def check_list_is_of(catalog: str, name: str, write_ids: ValidWriteIdList) -> None:
    """Raise ListForeignError for a list of another table than the named one.

    Write ids of one table say nothing about another. A list may leave out the catalog, or the name.
    """
    full = f"{catalog}.{name}"
    if (write_ids.table or name).lower() not in {name.lower(), full.lower()}:
        raise ListForeignError(
            f"write_ids must be a list of table {full}, got a list of {write_ids.table}; give the "
            "table's own list, or its id if it was renamed since"
        )


def plain_read(read: Read) -> Read:
    """Return a read whose numbers are ints; raises TypeError unless they are whole numbers."""
    if type(read.own_txn) is int and read.table_id is None and type(read.table) in PLAIN:
        return read
    return read._replace(
        table=read.table if isinstance(read.table, str) else whole_number("table", read.table),
        table_id=None if read.table_id is None else whole_number("table_id", read.table_id),
        own_txn=whole_number("own_txn", read.own_txn),
    )


def unknown_table(table: int, position: int) -> UnknownTableError:
    """Return the error for a table that did not exist up to an applied position."""
    return UnknownTableError(
        f"there is no table {table} up to position {position}; wait for the position of its "
        "creation, or resolve its name again",
        reason=Reason.UNKNOWN_TABLE.value,
        subject=table,
    )


def dropped_table(table: int, dropped: int) -> UnknownTableError:
    """Return the error for files of a table from its drop on."""
    return UnknownTableError(
        f"table {table} was dropped at position {dropped}; resolve its name again, or name an "
        "earlier position to read what it held",
        reason=Reason.UNKNOWN_TABLE.value,
        subject=table,
    )


def no_list(what: str) -> LimitExceededError:
    """Return the error for a list that can no longer be made."""
    error = LimitExceededError(what, reason=Reason.LIMIT_EXCEEDED.value)
    error.retry_unchanged = False  # Forgotten mappings do not come back.
    return error


def check_list_left(txns: ValidTxnList, watermark: int, position: int) -> None:
    """Raise LimitExceededError if mappings for the list of a position may be cleaned."""
    if min((*txns.exceptions(), txns.hwm + 1)) < watermark:
        raise no_list(
            f"the list as of position {position} is gone: mappings of txns below {watermark} were "
            "cleaned since. Name the list itself, or a later position"
        )


def list_too_old(table: int, watermark: int) -> SnapshotTooOldError:
    """Return the error for a list that hides commits whose mappings were cleaned."""
    return SnapshotTooOldError(
        f"the list hides commits to table {table} whose mappings were cleaned since, like all "
        f"mappings of txns below {watermark}. Take a new list, and hold a txn while you use it",
        reason=Reason.SNAPSHOT_TOO_OLD.value,
        subject=table,
    )


def list_lost(txn: int, cut: int) -> SnapshotTooOldError:
    """Return the error for a list with a txn that the log lost."""
    return SnapshotTooOldError(
        f"the list holds txn {txn} valid, which was lost by the cut at position {cut}. Take a new "
        "list, and look up what is committed",
        reason=Reason.SNAPSHOT_TOO_OLD.value,
        subject=txn,
    )


def unknown_object(table: str | int, what: str, position: int) -> UnknownTableError:
    """Return the error for metadata that a reader does not see."""
    found = f"table {table}" if what == TABLE else f"object {what!r} of table {table}"
    return UnknownTableError(
        f"{found} does not exist for this reader up to position {position}; resolve the name "
        "again, or see which objects the table has in its properties",
        reason=Reason.UNKNOWN_TABLE.value,
    )


def unknown_version(table: int, version: int, newest: int, name: str = "") -> UnknownVersionError:
    """Return the error for a missing version, with the range of those there are.

    `newest` is -1 for a table whose creation is not committed.
    """
    has = f"its versions are 0 to {newest}" if newest >= 0 else "its creation is not committed"
    if 0 <= version <= newest:
        has = "the log lost it, and was cut. See lakeledger table history for the versions it has"
    return UnknownVersionError(
        f"table {name or table} has no version {version}; {has}",
        reason="UnknownVersion",
        subject=table,
    )
