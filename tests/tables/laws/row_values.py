"""Values and conditions by which bounds of new rows are judged: each has something odd about it."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any, Final

from tests.tables.laws.terms import spelled

LONG: Final = "a text of more than thirty-two letters, "
TEXTS: Final = [
    *("", " ", "a", "é", "e\u0301", "it's", "\\", "null", "1", "\x00", "ß"),
    *(LONG, LONG + "1", LONG + "2", LONG + "\U0010ffff", LONG[:31] + "é", LONG[:31] + "😀1"),
    *("\U0010ffff" * 33, "\uffff" * 40, "\ud7ff" * 33 + "z", "z" * 33, "z" * 34, "z" * 300),
]
REALS: Final = [0.0, -0.0, 1.5, -1.5, 0.5, 2.0, math.nan, math.inf, -math.inf]
MOMENTS: Final = [
    datetime(2024, 3, 10, 6, 59, 59, 999999, UTC),
    datetime(2024, 3, 10, 7, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2023, 12, 31, 23, 30, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
    datetime(9999, 12, 30, tzinfo=UTC),
    datetime(1, 1, 2, tzinfo=UTC),
]
DAYS: Final = [date(1, 1, 1), date(1582, 10, 4), date(2024, 2, 29), date(9999, 12, 31)]
VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "int": [-(2**31), -1, 0, 1, 2, 3, 7, 2**31 - 1],
    "bigint": [-(2**63), -1, 0, 1, 2, 7, 2**31, 2**53, 2**53 + 1, 2**63 - 1],
    "smallint": [-(2**15), -1, 0, 1, 2, 2**15 - 1],
    "float": [*REALS, 16777216.0, 0.10000000149011612],
    "double": [*REALS, 0.1, 5e-324, 1.7976931348623157e308, 9007199254740993.0],
    "string": TEXTS,
    "boolean": [True, False],
    "date": DAYS,
    "timestamp": MOMENTS,
    "timestamp_ntz": [each.replace(tzinfo=None) for each in MOMENTS],
    "decimal(7,2)": [Decimal(each) for each in ("0.00", "-1.50", "1.50", "99999.99", "7.00")],
    "decimal(38,10)": [
        Decimal(each) for each in ("0", "1.5", "-1.5", "1.0000000001", "9" * 28 + ".9999999999")
    ],
}
WIDER: Final = {"int": "bigint", "float": "double", "smallint": "int"}
WEIGHTS: Final = {"string": 5, "int": 2}
NUMBERS: Final = ("int", "bigint", "smallint", "float", "double", "decimal(7,2)", "decimal(38,10)")
TIMES: Final = ("date", "timestamp", "timestamp_ntz")
TOLD: Final = ("int", "bigint", "smallint", "string", "boolean", *TIMES, *NUMBERS[-2:])
SIGNS: Final = ("=", "<", "<=", ">", ">=", "<>", "<=>")
Columns = Mapping[str, str]


class Drawing:
    """Draws values and conditions; a few values of each type, so that statements meet often."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._values = {
            kind: rng.sample(each, k=min(len(each), 3)) for kind, each in VALUES.items()
        }

    def value(self, kind: str) -> Any:
        """Return a value of a type, sometimes NULL."""
        return None if self.rng.random() < 0.2 else self.rng.choice(self._values[kind])

    def literal(self, kind: str) -> str:
        """Return a value of a type as Spark SQL has it."""
        value = self.rng.choice(self._values[kind])
        if kind == "timestamp" and self.rng.random() < 0.6:
            # Without a zone it is of the session's.
            return f"TIMESTAMP'{value.replace(tzinfo=None).isoformat(sep=' ')}'"
        return exact(value, kind)

    def condition(self, columns: Columns, depth: int = 2) -> str:
        """Return a condition over columns."""
        rng, draw = self.rng, self.rng.random()
        if depth and draw < 0.35:
            one, other = (self.condition(columns, depth - 1) for _ in range(2))
            return f"({one} {rng.choice(['AND', 'AND', 'OR'])} {other})"
        if depth and draw < 0.42:
            return f"(NOT {self.condition(columns, depth - 1)})"
        name = rng.choice(list(columns))
        kind = columns[name]
        one, other = self.literal(kind), self.literal(kind)
        usual = (
            f"({name} {rng.choice(['=', '=', '=', *SIGNS])} {one})",
            f"({name} {rng.choice(['IN', 'IN', 'NOT IN'])} ({one}, {other}))",
            f"({name} BETWEEN {one} AND {other})",
            f"({name} IS {rng.choice(['', 'NOT '])}NULL)",
            f"({one} {rng.choice(SIGNS)} {name})",
            self._odd(name, columns),
        )
        return rng.choices(usual, (9, 4, 2, 3, 1, 4))[0]

    def _odd(self, name: str, columns: Columns) -> str:
        """Return a test that compares a column by its like, across types, or by a function."""
        rng, kind, sign = self.rng, columns[name], self.rng.choice(SIGNS)
        like = [each for each in columns if columns[each] == kind and each != name]
        tests = [f"(coalesce({name}, {self.literal(kind)}) {sign} {self.literal(kind)})"]
        tests += [f"({name} {sign} {each})" for each in like]
        if kind in NUMBERS:
            tests += [f"({name} {sign} {self.literal(rng.choice(NUMBERS))})"] * 3
        if kind == "string":
            texts = ("a%", LONG[:20] + "%", "%é%", "_")
            tests.append(f"({name} LIKE {spelled(rng.choice(texts))})")
            tests.append(f"(upper({name}) {sign} {self.literal(kind)})")
            tests.append(f"(length({name}) > {rng.randint(0, 40)})")
        if kind in TIMES:
            tests += [f"({name} {sign} {self.literal(rng.choice(TIMES))})"] * 2
            tests.append(f"(CAST({name} AS DATE) {sign} {self.literal('date')})")
            tests.append(f"(year({name}) {sign} 2024)")
        return rng.choice(tests)


def exact(value: Any, kind: str) -> str:
    """Return a value as a literal that means it in every time zone."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind == "timestamp_ntz":
        return f"TIMESTAMP_NTZ'{value.isoformat(sep=' ')}'"
    if kind in {"float", "double"} or kind.startswith("decimal"):
        return f"CAST('{value}' AS {kind})"
    return spelled(value)
