"""Random read predicates and partition values, of every type that is judged.

None of them fails in Spark: no value is outside its type, nothing is divided by zero, and texts are
compared with numbers only where they are numbers.
"""

from random import Random
from typing import Any, Final

SCHEMA: Final = (
    ("i", "int"),
    ("l", "bigint"),
    ("s", "string"),
    ("n", "string"),
    ("d", "date"),
    ("t", "timestamp"),
    ("m", "decimal(10,2)"),
    ("b", "boolean"),
    ("f", "double"),
)
VALUES: Final[dict[str, list[str | None]]] = {
    "i": ["0", "1", "01", "-1", "7", "10", "+10", " 7 ", "2147483647", None, ""],
    "l": ["0", "1", "9007199254740992", "9007199254740993", "-9223372036854775808", None],
    "s": ["a", "A", "b", "ab", "a_b", "a%", "é", "😀", " ", "2024-01-31", None, ""],
    "n": ["0", "1", "01", "10", "9007199254740993", "-7", None],
    "d": ["2024-01-31", "2024-1-31", "2024-02-01", "1969-12-31", "2024", "9999-12-31", None],
    "t": [
        "2024-01-31 00:00:00",
        "2024-01-31T00:00:00.000Z",
        "2024-01-31 01:30:00+01:30",
        "2024-01-31 12:30:45.123456",
        "1969-12-31 23:59:59.5",
        None,
    ],
    "m": ["0", "1", "1.5", "1.50", "-1.005", "99999999.99", "1e2", None],
    "b": ["true", "false", "TRUE", "f", "1", None, ""],
    "f": ["0.0", "-0.0", "1", "1.5", "1e3", "-2.5E-3", "9007199254740992", "Infinity", None],
}

# What no evaluation understands.
RAND = ["unknown", "rand() > 0.5", []]
SUBQUERY = ["unknown", "p IN (SELECT 1)"]
UDF = ["unknown", "f(x)", ["x"]]


def lit(text: str | None, type_: str) -> list[Any]:
    return ["lit", text, type_]


INTS: Final = [lit(text, "int") for text in ("0", "1", "-1", "7", "10", "2147483647")]
BIGINTS: Final = [lit(text, "bigint") for text in ("9007199254740992", "9007199254740993")]
DECIMALS: Final = [
    lit("0.0", "decimal(1,1)"),
    lit("1.5", "decimal(2,1)"),
    lit("1.50", "decimal(3,2)"),
    lit("-1.01", "decimal(3,2)"),
    lit("9007199254740992.0", "decimal(17,1)"),
]
DOUBLES: Final = [lit(text, "double") for text in ("0", "1.5", "1e3", "9007199254740992")]
NUMERIC_TEXTS: Final = [lit(text, "string") for text in ("1", "01", "7", "10")]
NULL: Final = lit(None, "void")
NUMBERS: Final = [*INTS, *BIGINTS, *DECIMALS, *DOUBLES, NULL]
MOMENTS: Final = [
    lit("2024-01-31", "date"),
    lit("2024-02", "date"),
    lit("2024-01-31", "string"),
    lit("2024-01-31 12:30:45.123456", "timestamp"),
    lit("2024-01-31T00:00:00+00:00", "timestamp"),
    lit("2024-01-31 00:00:00", "timestamp_ntz"),
    NULL,
]
LITERALS: Final[dict[str, list[list[Any]]]] = {
    "i": [*NUMBERS, *NUMERIC_TEXTS],
    "l": [*NUMBERS, *NUMERIC_TEXTS],
    "s": [lit(text, "string") for text in ("a", "A", "ab", "é", "😀", "", "2024-01-31")] + [NULL],
    "n": [*NUMBERS, lit("01", "string"), lit("1", "string")],
    "d": MOMENTS,
    "t": MOMENTS,
    "m": [*NUMBERS, *NUMERIC_TEXTS],
    "b": [lit("true", "boolean"), lit("false", "boolean"), lit("yes", "string"), NULL],
    "f": [*NUMBERS, *NUMERIC_TEXTS],
}
PATTERNS: Final = ("a%", "%b", "_", "a\\_b", "a\\%", "%", "", "2024-%", "%a%b%")
NUMERIC: Final = ("i", "l", "m", "f", "n")
COMPARISONS: Final = ("=", "=", "<>", "<", "<=", ">", ">=", "<=>")


def row(random: Random) -> tuple[str | None, ...]:
    """Return the partition values of some file."""
    return tuple(random.choice(VALUES[name]) for name, _ in SCHEMA)


def condition(random: Random, depth: int = 3) -> list[Any]:
    """Return a predicate that is judged."""
    match random.randrange(6 if depth else 1):
        case 1:
            return ["not", condition(random, depth - 1)]
        case 2 | 3:
            return ["and", *(condition(random, depth - 1) for _ in range(random.randint(2, 3)))]
        case 4 | 5:
            return ["or", *(condition(random, depth - 1) for _ in range(random.randint(2, 3)))]
        case _:
            return plain(random)


def plain(random: Random) -> list[Any]:  # noqa: PLR0911 - one case for each form
    """Return a predicate without connectives."""
    name = random.choice(SCHEMA)[0]
    column, literals = ["col", random.choice((name, name.upper()))], LITERALS[name]
    match random.randrange(9):
        case 0 | 1 | 2:
            pair = [column, random.choice(literals)]
            random.shuffle(pair)
            return [random.choice(COMPARISONS), *pair]
        case 3:
            return ["in", column, random.choices(literals, k=random.randint(1, 4))]
        case 4:
            return ["is_null", column]
        case 5:
            return ["like", ["col", "s"], lit(random.choice(PATTERNS), "string")]
        case 6:
            return ["=", ["call", "coalesce", column, random.choice(literals)], column]
        case 7:
            return ["=", computed(random), random.choice(INTS)]
        case _:
            two = random.choices(NUMERIC, k=2)
            return [random.choice(COMPARISONS), ["col", two[0]], ["col", two[1]]]


def computed(random: Random) -> list[Any]:
    """Return a number out of a function or of arithmetic."""
    day, divisor = ["cast", ["col", random.choice("dt")], "date"], random.choice(("3", "-3"))
    return random.choice(
        [
            ["%", ["col", random.choice("il")], lit(divisor, "int")],
            ["/", ["col", random.choice("il")], lit("2", "int")],
            ["+", ["cast", ["col", "i"], "bigint"], lit("1", "int")],
            ["*", ["col", "f"], lit("2", "int")],
            ["neg", ["col", random.choice("imf")]],
            ["call", random.choice(("year", "month", "day")), day],
            ["call", "hour", ["col", "t"]],
            ["call", "length", ["col", "s"]],
            ["call", "abs", ["col", random.choice("if")]],
            ["cast", ["col", random.choice("bm")], "int"],
            [
                "cast",
                ["call", "length", ["cast", ["col", random.choice("ildtmb")], "string"]],
                "int",
            ],
        ]
    )
