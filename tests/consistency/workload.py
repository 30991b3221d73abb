"""The workload: which txns a client asks for, all drawn from its seed.

Few keys are hot at a time, and they move on, so that txns meet and lists stay short.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Final

from tests.consistency.operations import (
    ACCOUNTS,
    BAG,
    BANK,
    CLAIMS,
    FED,
    KEYED,
    LIST_KEYS,
    LISTS,
    REGISTER_KEYS,
    REGISTERS,
    STOCK,
    TABLES,
    VAULTS,
    Add,
    Append,
    Claim,
    Compact,
    Delete,
    Feed,
    Insert,
    Operation,
    Read,
    ReadAt,
    Transfer,
    Upsert,
    Write,
)

TRANSACTIONS: Final = "transactions"
SEVERAL_TABLES: Final = "several tables"
TOKENS: Final = "tokens"
HOT_KEYS: Final = 3
STEP: Final = 25
PLACES_MAX: Final = 50
# Keys of rows that no other txn of the workload asks for.
SKEWED: Final = 900_000
PER_LIFE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask in one txn: a single operation is a statement without BEGIN and COMMIT.

    A guarded txn ends without its writes if its first read finds a row.
    """

    operations: Sequence[Operation]
    is_txn: bool
    is_guarded: bool = False


class Workload:
    """The txns of one client; `lacks` names what its system cannot do."""

    def __init__(self, seed: int, client: int, life: int, lacks: frozenset[str]) -> None:
        self._chance = Random(f"{seed}/{client}/{life}")  # noqa: S311 - repeatable on purpose
        self._values = count((life * 100 + client) * PER_LIFE + 1)
        self._asked = 0
        self._lacks = lacks
        self._places: list[tuple[str, int]] = []
        self._kinds = [
            (kind, weight) for kind, weight, needs in self._menu() if not lacks & set(needs)
        ]

    def _menu(self) -> Sequence[tuple[Callable[[], Plan], int, Sequence[str]]]:
        """Return the kinds of txns, how often each is drawn, and what it needs."""
        txn, both = TRANSACTIONS, SEVERAL_TABLES
        return (
            (self._lists, 30, ("Append", txn)),
            (self._append, 14, ("Append",)),
            (self._look, 14, ()),
            (self._upsert, 9, ("Upsert",)),
            (self._claim, 9, ("Claim",)),
            (self._look_then_insert, 9, (txn,)),
            (self._register, 12, ("Write", txn)),
            (self._insert, 8, ()),
            (self._skewed_inserts, 9, (txn,)),
            (self._skew, 30, ("Append", txn)),
            (self._transfer, 8, ("Transfer",)),
            (self._vaults, 6, ("Add", txn, both)),
            (self._sums, 6, (txn, both)),
            (self._stock, 14, ("Delete",)),
            (self._replace, 6, ("Delete", txn)),
            (self._compact, 5, ("Compact",)),
            (self._past, 3, ("ReadAt",)),
            (self._feed, 3, ("Feed",)),
        )

    def next(self) -> Plan:
        """Return the next txn to ask for."""
        self._asked += 1
        kinds, weights = zip(*self._kinds, strict=True)
        plan: Plan = self._chance.choices(kinds, weights)[0]()
        return plan

    def note_place(self, table: str, place: int) -> None:
        """Note a place of a table that may be read again."""
        self._places = [*self._places[-PLACES_MAX:], (table, place)]

    @property
    def waits_for_token(self) -> bool:
        """Whether the next txn waits for another client's token first."""
        return TOKENS not in self._lacks and self._chance.random() < 0.1

    def _value(self) -> int:
        return next(self._values)

    def _key(self, bound: int | None = None) -> int:
        key = self._asked // STEP + self._chance.randrange(HOT_KEYS)
        return key if bound is None else key % bound

    def _list(self) -> str:
        if {TRANSACTIONS, SEVERAL_TABLES} & self._lacks:
            return LISTS[0]
        return self._chance.choice(LISTS)

    def _lists(self) -> Plan:
        steps: list[Operation] = []
        for _ in range(self._chance.randint(2, 4)):
            table, key = self._list(), self._key(LIST_KEYS)
            is_read = self._chance.random() < 0.5
            steps.append(Read(table, key) if is_read else Append(table, key, self._value()))
        return Plan(steps, is_txn=True)

    def _append(self) -> Plan:
        return alone(Append(self._list(), self._key(LIST_KEYS), self._value()))

    def _look(self) -> Plan:
        table = self._chance.choice((*LISTS, KEYED, CLAIMS, BAG, REGISTERS, BANK))
        bound = {KEYED: None, CLAIMS: None, BAG: None, REGISTERS: REGISTER_KEYS}
        key = None if table == BANK else self._key(bound.get(table, LIST_KEYS))
        return alone(Read(table, key))

    def _upsert(self) -> Plan:
        return alone(Upsert(KEYED, self._key(), self._value()))

    def _claim(self) -> Plan:
        return alone(Claim(CLAIMS, self._key(), self._value()))

    def _look_then_insert(self) -> Plan:
        key = self._key()
        steps = (Read(CLAIMS, key), Insert(CLAIMS, key, self._value()))
        return Plan(steps, is_txn=True, is_guarded=True)

    def _register(self) -> Plan:
        key = self._key(REGISTER_KEYS)
        return Plan((Read(REGISTERS, key), Write(REGISTERS, key, self._value())), is_txn=True)

    def _insert(self) -> Plan:
        return alone(Insert(BAG, self._key(), self._value()))

    def _skewed_inserts(self) -> Plan:
        one, other = self._key(), self._key()
        steps: list[Operation] = [Read(BAG, one), Insert(BAG, other, self._value())]
        if self._chance.random() < 0.3:
            steps = [Insert(BAG, one, self._value()), Insert(BAG, other, self._value())]
        return Plan(steps, is_txn=True)

    def _skew(self) -> Plan:
        """Read one of two places and write the other one: the same two for all clients."""
        bags, lists = ((BAG, SKEWED), (BAG, SKEWED + 1)), [(name, LIST_KEYS - 1) for name in LISTS]
        pairs: list[Sequence[tuple[str, int]]] = [bags]
        if SEVERAL_TABLES not in self._lacks:
            pairs += [lists, ((BAG, SKEWED), (STOCK, SKEWED))]
        read, written = self._chance.sample(self._chance.choice(pairs), 2)
        write = Append if written[0] in LISTS else Insert
        return Plan((Read(*read), write(*written, self._value())), is_txn=True)

    def _transfer(self) -> Plan:
        source, target = self._chance.sample(range(ACCOUNTS), 2)
        return alone(Transfer(BANK, source, target, self._chance.randint(1, 9)))

    def _vaults(self) -> Plan:
        one, other = (self._chance.randrange(ACCOUNTS) for _ in VAULTS)
        amount = self._chance.randint(-9, 9)
        steps = (Add(VAULTS[0], one, -amount), Add(VAULTS[1], other, amount))
        return Plan(steps, is_txn=True)

    def _sums(self) -> Plan:
        return Plan(tuple(Read(table) for table in VAULTS), is_txn=True)

    def _stock(self) -> Plan:
        drawn = self._chance.random()
        if drawn < 0.6:
            return alone(Insert(STOCK, self._key(), self._value()))
        return alone(Delete(STOCK, self._key())) if drawn < 0.8 else alone(Read(STOCK))

    def _replace(self) -> Plan:
        key = self._key()
        return Plan((Delete(STOCK, key), Insert(STOCK, key, self._value())), is_txn=True)

    def _compact(self) -> Plan:
        return alone(Compact(self._chance.choice((STOCK, STOCK, *TABLES))))

    def _past(self) -> Plan:
        if not self._places:
            return self._look()
        return alone(ReadAt(*self._chance.choice(self._places)))

    def _feed(self) -> Plan:
        table = self._chance.choice(FED)
        places = [place for name, place in self._places if name == table]
        goes_on = bool(places) and self._chance.random() < 0.5
        return alone(Feed(table, self._chance.choice(places) if goes_on else 0))


def alone(operation: Operation) -> Plan:
    """Return an operation as a statement of its own."""
    return Plan((operation,), is_txn=False)
