"""Errors that concern a table: its name, versions, columns and files, and where it came from."""

from collections.abc import Mapping

from ledger.errors.refused import RefusedError
from ledger.errors.root import LedgerError


class UnknownTableError(RefusedError):
    """The table does not exist, or this txn may not see it."""


class UnknownVersionError(RefusedError):
    """The table has no such version, or not yet."""


class TableExistsError(RefusedError):
    """Another table has the name."""


class UnknownNamespaceError(RefusedError):
    """There is no such namespace, and no table in it."""


class NamespaceExistsError(RefusedError):
    """The namespace was created before."""


class NamespaceNotEmptyError(RefusedError):
    """A table or another namespace is in the namespace."""


class UnknownColumnError(LedgerError, ValueError):
    """A condition, or the text of a partition, names a `column` that `table` does not have."""

    def __init__(self, message: str, *, column: str, table: int = 0) -> None:
        super().__init__(message)
        self.column = column
        self.table = table


class ConstraintViolatedError(LedgerError, ValueError):
    """A row breaks a CHECK `constraint` of `table`: its `condition` is false or NULL.

    `row` has the values of the columns that the condition names.
    """

    def __init__(
        self, *, table: str, constraint: str, condition: str, row: Mapping[str, object]
    ) -> None:
        values = ", ".join(f"{name} = {value!r}" for name, value in row.items())
        super().__init__(
            f"each row of table {table} must fulfil the constraint {constraint} ({condition}), got "
            f"a row with {values}"
        )
        self.table, self.constraint = table, constraint
        self.condition, self.row = condition, dict(row)

    @property
    def rule(self) -> str:
        """The constraint and its table."""
        return f"constraint {self.constraint} of table {self.table}"


class DuplicateKeyError(LedgerError, ValueError):
    """A statement would leave two rows of `table` with one key; `row` has the values of the key."""

    def __init__(self, *, table: str, row: Mapping[str, object]) -> None:
        values = ", ".join(f"{name} = {value!r}" for name, value in row.items())
        super().__init__(
            f"table {table} must have one row for each key (lakeledger.unique), got {values} "
            "twice: update the row that has the key, or use merge"
        )
        self.table, self.row = table, dict(row)

    @property
    def rule(self) -> str:
        """The table with the key."""
        return f"key of table {self.table}"


class FilesUnknownError(LedgerError):
    """The ledger does not know the requested files of `table`; the table may have files.

    External tables and tables of layout `directories` keep their rows in folders. No read returns
    what an open txn adds itself.
    """

    def __init__(self, message: str, *, table: int = 0) -> None:
        super().__init__(message)
        self.table = table


class DeltaLogError(LedgerError):
    """The log of a Delta table is damaged or incomplete at `file`; `what` says how."""

    def __init__(self, file: str, what: str) -> None:
        super().__init__(
            f"the Delta log is damaged at {file}: {what}. Nothing from there on was imported; "
            "restore the file from a copy, then start the import again"
        )
        self.file = file
        self.what = what


class IcebergTableError(LedgerError):
    """The metadata of an Iceberg table is damaged or incomplete at `file`; `what` says how."""

    def __init__(self, file: str, what: str) -> None:
        super().__init__(
            f"the Iceberg table is damaged at {file}: {what}. Nothing from there on was imported; "
            "restore the file from a copy, then start the import again"
        )
        self.file = file
        self.what = what
