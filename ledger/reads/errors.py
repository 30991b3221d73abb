"""Read errors: what a reader is told that asks for what is not there, whatever it reads from."""

from collections.abc import Sequence
from typing import Final

from ledger.core.limits import NUMBER_MAX
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.refusals import Reason
from ledger.errors import (
    LimitExceededError,
    SnapshotTooOldError,
    UnknownTableError,
    UnknownVersionError,
)
from ledger.reads.metadata import AT_HAND, POLICIES, TABLE, Bounds, Read
from ledger.reads.whole_numbers import whole

# Numbers and names as they come with nearly every read: there is nothing to convert.
PLAIN: Final = (int, str)


def is_number(number: int) -> bool:
    """Tell whether this can be a position, a version or an id; 0 is before the first, or none."""
    return 0 <= number <= NUMBER_MAX


def check_number(name: str, number: int) -> None:
    """Raise ValueError for what can be no position, version or id, TypeError for no number."""
    plain = number if type(number) is int else whole(name, number)
    if not 0 <= plain <= NUMBER_MAX:
        raise ValueError(f"{name} is {number}; it is a number from 0 to 2**63 - 1")


def check_reads(reads: Sequence[Read], bounds: Bounds) -> None:
    """Raise ValueError for a table, a txn, a token, a wait, a lag or a policy that can be none.

    What is no number, or no list, at all raises TypeError.
    """
    if bounds is not AT_HAND:
        check_bounds(bounds)
    for each in reads:
        check_table(each)
        if each.own_txn or type(each.own_txn) is not int:
            check_number("own_txn", each.own_txn)
        if not isinstance(each.write_ids, ValidWriteIdList | None):
            raise TypeError(
                f"write_ids is {each.write_ids!r}, which is no list; ValidWriteIdList.parse makes "
                "one of a text"
            )


def check_bounds(bounds: Bounds) -> None:
    """Raise ValueError for a token, a wait, a lag or a policy that can be none."""
    check_number("token", bounds.token)
    check_number("max_wait_ms", bounds.max_wait_ms)
    if bounds.max_lag_ms is not None:
        check_number("max_lag_ms", bounds.max_lag_ms)
    if bounds.policy not in POLICIES:
        raise ValueError(f"policy is {bounds.policy!r}; it is one of: {', '.join(POLICIES)}")


def check_table(read: Read) -> None:
    """Raise ValueError if a read names what can be no table, or two tables, TypeError for none."""
    if not isinstance(read.table, str):
        check_number("table", read.table)
    if read.table_id is None:
        return
    check_number("table_id", read.table_id)
    if read.table_id != read.table and not isinstance(read.table, str):
        raise ValueError(f"table is {read.table} and table_id {read.table_id}; give one of them")


class ListForeignError(ValueError):
    """A list of write ids names another table than the one that is asked for."""


def check_lists(reads: Sequence[Read], values: Sequence[object], catalog: str = "") -> None:
    """Raise ListForeignError where a name is a table's, and the list brought is another one's.

    `values` is what each read found, None for nothing; `catalog` is that of names without one.
    """
    for read, value in zip(reads, values, strict=True):
        name, listed = read.table, read.write_ids
        if value is None or listed is None or read.table_id is not None:
            continue
        if isinstance(name, str):
            check_list_is_of(read.catalog or catalog, name, listed)


def check_list_is_of(catalog: str, name: str, write_ids: ValidWriteIdList) -> None:
    """Raise ListForeignError for a list that names another table than one of catalog and name.

    Write ids of one table say nothing of another. A list may leave out the catalog, or the name.
    """
    full = f"{catalog}.{name}"
    if (write_ids.table or name).lower() not in {name.lower(), full.lower()}:
        raise ListForeignError(
            f"write_ids are those of table {write_ids.table}, and {full} is asked for; give its "
            "own list, or the table's id if it was renamed since"
        )


def plain_read(read: Read) -> Read:
    """Return a read whose numbers are plain ones; raises TypeError for what is no whole number."""
    if type(read.own_txn) is int and read.table_id is None and type(read.table) in PLAIN:
        return read
    return read._replace(
        table=read.table if isinstance(read.table, str) else whole("table", read.table),
        table_id=None if read.table_id is None else whole("table_id", read.table_id),
        own_txn=whole("own_txn", read.own_txn),
    )


def unknown_table(table: int, position: int) -> UnknownTableError:
    """Return the error for a table that never was up to an applied position."""
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
    """Return the error for a list that cannot be told."""
    error = LimitExceededError(what, reason=Reason.LIMIT_EXCEEDED.value)
    error.retry_unchanged = False  # What was forgotten does not come back.
    return error


def check_list_left(txns: ValidTxnList, watermark: int, position: int) -> None:
    """Raise LimitExceededError if mappings that the list of a position needs may be cleaned."""
    if min((*txns.exceptions(), txns.hwm + 1)) < watermark:
        raise no_list(
            f"the list as of position {position} is gone: mappings of txns below {watermark} were "
            "cleaned since. Name the list itself, or a later position"
        )


def list_too_old(table: int, watermark: int) -> SnapshotTooOldError:
    """Return the error for a list that hides commits which cannot be told from others any more."""
    return SnapshotTooOldError(
        f"the list hides commits to table {table} whose mappings were cleaned since, with those of "
        f"all txns below {watermark}. Take a new list, and hold a txn while you use it",
        reason=Reason.SNAPSHOT_TOO_OLD.value,
        subject=table,
    )


def list_lost(txn: int, cut: int) -> SnapshotTooOldError:
    """Return the error for a list of what the log lost."""
    return SnapshotTooOldError(
        f"the list holds txn {txn} valid, which was lost by the cut at position {cut}. Take a new "
        "list, and look up what is committed",
        reason=Reason.SNAPSHOT_TOO_OLD.value,
        subject=txn,
    )


def unknown_object(table: str | int, what: str, position: int) -> UnknownTableError:
    """Return the error for metadata that is not there for a reader."""
    found = f"table {table}" if what == TABLE else f"object {what!r} of table {table}"
    return UnknownTableError(
        f"{found} does not exist for this reader up to position {position}; resolve the name "
        "again, or see which objects the table has in its properties",
        reason=Reason.UNKNOWN_TABLE.value,
    )


def unknown_version(table: int, version: int, newest: int) -> UnknownVersionError:
    """Return the error for a version that a table does not have; `newest` -1 = it has none."""
    has = f"its versions are 0 to {newest}" if newest >= 0 else "its creation is not committed"
    return UnknownVersionError(
        f"table {table} has no version {version}; {has}", reason="UnknownVersion", subject=table
    )
