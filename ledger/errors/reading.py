"""Errors of reading: unknown versions, an unreachable or late read model, a rewritten log."""

from ledger.errors.root import LedgerError


class IncompatibleError(LedgerError):
    """Something was written by a version that this version cannot read."""


class FileListError(IncompatibleError):
    """The opaque bytes of a commit are not a file list: another writer wrote them."""


class ReadsUnavailableError(LedgerError):
    """The read model does not answer, or its answer cannot be understood."""

    retry_unchanged = True


class ReadsRefusedError(ReadsUnavailableError):
    """The server refuses this client, or this client does not trust the server."""

    retry_unchanged = False


class LogRewrittenError(LedgerError):
    """The log lost its end: the chain at `position` was `seen` before and is `found` now.

    "" = unknown, or nothing; `cut` is the position of the cut by which it was lost, 0 = unknown.
    """

    def __init__(self, position: int, seen: str, found: str, cut: int = 0) -> None:
        now = f"it was lost by the cut at position {cut}" if cut else "the log does not hold that"
        super().__init__(
            f"position {position} was seen{' with chain ' + seen if seen else ''}, "
            f"{'the log has ' + found + ' there' if found else now}: the log lost its end and went "
            "on without it. Acknowledged commits may be lost. Connect anew, and look up what is "
            "committed"
        )
        self.position, self.seen, self.found, self.cut = position, seen, found, cut


class ReaderBehindError(LedgerError):
    """The reader has not reached the position `wanted` in time; it has `applied`."""

    retry_unchanged = True

    def __init__(self, applied: int, wanted: int, waited_ms: int) -> None:
        super().__init__(
            f"position {wanted} was not reached within {waited_ms} ms, the reader is at {applied}; "
            "check that the follower runs, or wait longer. If the log ends before that position, "
            "it lost its end: run lakeledger log verify"
        )
        self.applied = applied
        self.wanted = wanted


class UnreadableTableError(LedgerError):
    """A plain scan of Parquet files would show other rows than the table holds."""


class RowsKeyError(UnreadableTableError):
    """The key of encrypted rows in the log, by `table` and `month`, is not at hand."""

    def __init__(self, message: str, *, table: int = 0, month: str = "") -> None:
        super().__init__(message)
        self.table, self.month = table, month


class RowsErasedError(RowsKeyError):
    """The key of encrypted rows in the log was dropped: no program can read the rows again."""
