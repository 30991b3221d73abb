"""Operations of a history, typed: what a client asks, and which rows it gets.

Every table has the columns k (a key), n (a number) and v (a text). Values are unique in a history,
so each one tells who wrote it. Results are rows in the order of k, n, v.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, TypeAlias


class Row(NamedTuple):
    """A row of any table of a history."""

    k: int
    n: int
    v: str


class Change(NamedTuple):
    """A commit of a change feed: the rows that it added and removed."""

    place: int
    added: Sequence[Row]
    removed: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Append:
    """Put a value behind the list of a key: UPDATE ... SET v = concat(v, ',', value)."""

    table: str
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Upsert:
    """The same by MERGE: a key that is absent gets a row with a list of one value."""

    table: str
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Insert a row if its key is absent, by MERGE."""

    table: str
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Insert:
    """Insert a row and read nothing."""

    table: str
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Write:
    """Give the register of a key another value."""

    table: str
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Add:
    """Add an amount to the number of a key."""

    table: str
    key: int
    amount: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """Move an amount from one key to another, by one UPDATE."""

    table: str
    source: int
    target: int
    amount: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete all rows of a key."""

    table: str
    key: int


@dataclass(frozen=True, slots=True)
class Compact:
    """Put the rows of a table into fewer files."""

    table: str


@dataclass(frozen=True, slots=True)
class Read:
    """Read the rows of a key, or of all keys."""

    table: str
    key: int | None = None


@dataclass(frozen=True, slots=True)
class ReadAt:
    """Read a table as it was at a place of an earlier commit."""

    table: str
    place: int


@dataclass(frozen=True, slots=True)
class Feed:
    """Read the changes of a table behind a place of it, 0 for all of them."""

    table: str
    after: int = 0


Operation: TypeAlias = (
    Append
    | Upsert
    | Claim
    | Insert
    | Write
    | Add
    | Transfer
    | Delete
    | Compact
    | Read
    | ReadAt
    | Feed
)
KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        Append,
        Upsert,
        Claim,
        Insert,
        Write,
        Add,
        Transfer,
        Delete,
        Compact,
        Read,
        ReadAt,
        Feed,
    )
}
READS: Final = (Read, ReadAt, Feed)

LISTS: Final = ("lists_a", "lists_b")
KEYED: Final = "keyed"
REGISTERS: Final = "registers"
CLAIMS: Final = "claims"
BAG: Final = "bag"
STOCK: Final = "stock"
BANK: Final = "bank"
VAULTS: Final = ("vault_a", "vault_b")
FED: Final = (STOCK, BANK, KEYED)
TABLES: Final = (*LISTS, KEYED, REGISTERS, CLAIMS, BAG, STOCK, BANK, *VAULTS)

LIST_KEYS: Final = 64
REGISTER_KEYS: Final = 16
ACCOUNTS: Final = 6
BALANCE: Final = 100


def first_rows(table: str) -> Sequence[Row]:
    """Return the rows that a table has before its history begins."""
    if table in LISTS:
        return [Row(key, 0, "") for key in range(LIST_KEYS)]
    if table == REGISTERS:
        return [Row(key, 0, "") for key in range(REGISTER_KEYS)]
    if table == BANK or table in VAULTS:
        return [Row(key, BALANCE, "") for key in range(ACCOUNTS)]
    return []


def to_json(operation: Operation) -> Mapping[str, Any]:
    return {"op": type(operation).__name__, **asdict(operation)}


def from_json(fields: Mapping[str, Any]) -> Operation:
    """Return what `to_json` was given; the field `op` names its class."""
    kept = dict(fields)
    made: Operation = KINDS[kept.pop("op")](**kept)
    return made


def list_of(text: str | None) -> tuple[int, ...]:
    """Return the values of a list as a row has it."""
    return tuple(int(part) for part in (text or "").split(",") if part)


def ordered(rows: Sequence[Sequence[Any]]) -> list[Row]:
    """Return rows of a reader in the one order that histories have."""
    return sorted(Row(int(k), int(n or 0), v or "") for k, n, v in rows)
