"""Receipts and tokens: the results of a write, to keep, to show or to hand on.

A token names a position of one ledger, and the chain of the log there. A read with it sees
everything up to that position, also in another process or on another machine, or it raises that the
log lost the position. A token without a chain, from a former version, names only the position.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from ledger.core.events.events import CommandRepeated, Event, TableAltered, TxnAborted, TxnCommitted
from ledger.reads.errors import check_number
from ledger.reads.html import table_of
from ledger.reads.port import OutcomeRow, Reached
from ledger.reads.row_counts import ChangedRows

if TYPE_CHECKING:
    from ledger.session.session import CommandAnswer

TOKEN: Final = re.compile(r"([^:]+):([0-9]+):([0-9]+)(?::([0-9a-f]{16}))?", re.ASCII)
ALREADY_APPLIED: Final = "already_applied"
"""The reason of a skipped commit: its applications had recorded the same progress before."""


@dataclass(frozen=True, slots=True, order=True)
class Token:
    """A position of a domain of a ledger; its text is `<ledger id>:<domain>:<position>:<chain>`.

    `chain` is the chain of the log at the position in hex digits. "" = unknown: the text then ends
    with the position. Tokens of one position are equal.
    """

    ledger: str
    domain: int
    position: int
    chain: str = field(default="", compare=False)

    def __str__(self) -> str:
        place = f"{self.ledger}:{self.domain}:{self.position}"
        return f"{place}:{self.chain}" if self.chain else place

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the token of a text; raises ValueError for any other text."""
        found = TOKEN.fullmatch(text)
        if found is None:
            raise ValueError(f"a token must look like 5f3a9c1e:0:44:0b1d94ac5c7fe210, got '{text}'")
        ledger, domain, position, chain = found.groups("")
        check_number("the position of a token", int(position))
        return cls(ledger, int(domain), int(position), chain)

    def at(self, position: int, chain: str = "") -> "Token":
        """Return the token of another position of the same domain."""
        return Token(self.ledger, self.domain, position, chain)

    @property
    def seen(self) -> Reached:
        """The position and chain that a reader with this token has seen."""
        return Reached(self.position, self.chain)

    def position_in(self, origin: "Token") -> int:
        """Return the position; raises ValueError if the token is not of the domain of `origin`."""
        if self.at(0) != origin.at(0):
            raise ValueError(f"token {self} is not of this ledger, whose tokens are {origin}")
        return self.position


class TableVersion(NamedTuple):
    """The result of a commit in one table: its write id (0 = no write id) and its version."""

    write_id: int
    version: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a write: `txn` (0 = none) was done at `position`, at the time `at` (UTC).

    `tables` is by table id. `repeated` says that the write had been done before and nothing changed
    now. If the first answer was not seen here, `tables` is empty and `at` is now. The same holds
    for `skipped` work: its application recorded the same progress before, at `position`, and `note`
    says which, and what that is likely to mean. `rows` says by table id how many rows the
    statements of this process inserted, updated and deleted; files of other writers do not count.
    """

    txn: int
    position: int
    at: datetime
    token: Token
    tables: Mapping[int, TableVersion] = field(default_factory=dict)
    repeated: bool = False
    skipped: bool = False
    note: str = ""
    rows: Mapping[int, ChangedRows] = field(default_factory=dict)

    @property
    def num_affected_rows(self) -> int | None:
        """The number of rows that the statements of the txn changed, None = not counted."""
        counts = [rows.affected for rows in self.rows.values()]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def versions(self) -> Mapping[int, int]:
        """The commit version that each table got, by table id."""
        return {table: each.version for table, each in self.tables.items()}

    def __repr__(self) -> str:
        what = f"txn {self.txn}" if self.txn else "done"
        tables = ", ".join(
            f"table {table} version {each.version}"
            + (f" write id {each.write_id}" if each.write_id else "")
            for table, each in sorted(self.tables.items())
        )
        when = f"{self.at:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
        ends = [f": {tables}"] if tables else []
        ends += [f", rows of table {table}: {rows}" for table, rows in sorted(self.rows.items())]
        if self.repeated:
            ends.append(" (repeated)")
        if self.skipped:
            ends.append(" (skipped)")
        if self.note:
            ends.append(f": {self.note}")
        return f"<Receipt {what} at position {self.position}, {when}{''.join(ends)}>"

    def _repr_html_(self) -> str:
        rows = [(table, *each) for table, each in sorted(self.tables.items())]
        title = repr(self.__class__(self.txn, self.position, self.at, self.token, {}))[1:-1]
        end = f": {self.note}" if self.note else ""
        state = " (skipped)" if self.skipped else " (repeated)" if self.repeated else ""
        return table_of(f"{title}{state}{end}", ("table", "write id", "version"), rows)


def receipt_of(answer: "CommandAnswer", origin: Token) -> Receipt:
    """Return the receipt of an answer; `origin` is any token of the same domain."""
    control, body, is_repeat = answer
    txn, position, is_skipped = control.txn, control.position, False
    tables: dict[int, TableVersion] = {}
    match body:
        case TxnCommitted():
            tables = {part.table: TableVersion(part.write_id, part.version) for part in body.parts}
        case TableAltered(one_shot=True):
            tables = {body.table: TableVersion(body.write_id, body.version)}
        case TxnAborted(reason="already_applied") | CommandRepeated(outcome="already_applied"):
            txn, position, is_skipped = 0, body.first, True
        case CommandRepeated():
            txn, position = body.first, body.answered
        case _:
            pass
    at = datetime.fromtimestamp(control.at / 1000, UTC)
    chain = control.chain.hex() if position == control.position else ""
    return Receipt(txn, position, at, origin.at(position, chain), tables, is_repeat, is_skipped)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The first answer to a command, as known at position `as_of`.

    `answer` is the type of the event or the reason of the refusal. None = no answer yet: the
    command may still be executed. `size` ids from `first` on were allocated.
    """

    session: int
    n: int
    as_of: int
    answer: str | None = None
    position: int = 0
    first: int = 0
    size: int = 0

    @property
    def is_known(self) -> bool:
        """Return whether the command was answered."""
        return self.answer is not None

    @classmethod
    def of_row(cls, session: int, n: int, as_of: int, row: OutcomeRow | None) -> Self:
        """Return the outcome in the read model at `as_of`."""
        if row is None:
            return cls(session, n, as_of)
        return cls(session, n, as_of, row.outcome, row.position, row.first, row.size)

    @classmethod
    def of_event(cls, event: Event) -> Self:
        """Return the outcome of an answer seen in the log."""
        from ledger.core.evolve.evolve import answered  # noqa: PLC0415 - loads the whole state

        control, body = event
        position, answer, first, size = answered(control, body)
        return cls(control.session, control.n, control.position, answer, position, first, size)

    def __str__(self) -> str:
        who = f"command {self.n} of session {self.session}"
        if self.answer is None:
            return f"{who} has no answer up to position {self.as_of}; ask again later"
        what = f", {self.size} from {self.first} on" if self.size else ""
        return f"{who} was answered at position {self.position}: {self.answer}{what}"
