"""Errors of planning a table for Spark."""

from ledger.errors import LedgerError


class UnreadableTableError(LedgerError):
    """A plain Parquet scan would show other rows than the table holds."""
