"""What a vacuum deleted, or would delete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ledger.errors import ReaderBehindError
from ledger.reads.amounts import amount
from ledger.reads.html import table_of
from ledger.reads.port import TableRow

Why = Literal["released", "orphan"]


class VacuumedFile(NamedTuple):
    """A file that was deleted, or would be.

    `path` is below the location of the table, and absolute for a file of a former table of the name
    that lies elsewhere.
    """

    path: str
    size: int
    why: Why


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """What a vacuum deleted, or would delete if it was a dry run; `note` says what it left out.

    `stopped_by` is the error before whose cure nothing more may be deleted, None for a whole run.
    """

    table: TableRow
    dry_run: bool
    files: Sequence[VacuumedFile] = field(repr=False)
    note: str = ""
    stopped_by: ReaderBehindError | None = None

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(file.size for file in self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<VacuumReport: {self._said()}>"

    def _repr_html_(self) -> str:
        title = ". ".join(filter(None, (self._said(), self.note)))
        return table_of(title, VacuumedFile._fields, self.files)

    def _said(self) -> str:
        count = amount(len(self.files), "file")
        done = "would go from" if self.dry_run else "gone from"
        dropped = ", which was dropped" if self.table.dropped else ""
        return f"{count} of {amount(self.size, 'byte')} {done} {self.table.name}{dropped}"
