"""Statements as SQL, as verbs of the SDK, and as what they do to plain rows.

A row is (id, v, p, ts): two numbers, a text, and seconds since 1970. A condition has three values,
as in SQL: None is unknown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from ledger.transaction.transaction import Transaction

Row = tuple[int | None, int | None, str | None, int | None]
Truth = bool | None

COLUMNS: Final = "id INT, v INT, p STRING, ts TIMESTAMP"
NAMES: Final = ("id", "v", "p", "ts")
TEXTS: Final = (None, "x", "y/1 %", "é=", "it's", "__HIVE")
BEGIN: Final = 1_710_000_000  # Around a change of the clocks in New York.
LOCAL: Final = "2024-03-10 12:00:00"


@dataclass(frozen=True)
class Condition:
    """A condition: `holds` gets a row and the time zone of the session."""

    sql: str
    holds: Callable[[Row, ZoneInfo], Truth]


def compared(place: int, test: Callable[[Any], Truth]) -> Callable[[Row, ZoneInfo], Truth]:
    """Return a test of one column, unknown for NULL."""
    return lambda row, _: None if row[place] is None else test(row[place])


def at_hour(row: Row, zone: ZoneInfo) -> Truth:
    """Return whether a row's time is before noon, on the clocks of a zone."""
    return None if row[3] is None else datetime.fromtimestamp(row[3], zone).hour < 12


def since_local(row: Row, zone: ZoneInfo) -> Truth:
    """Return whether a row's time is not before a time on the clocks of a zone."""
    if row[3] is None:
        return None
    local = datetime.fromisoformat(LOCAL).replace(tzinfo=zone)
    return row[3] >= local.timestamp()


CONDITIONS: Final = (
    Condition("id = 3", compared(0, lambda value: value == 3)),
    Condition("id < 5 AND p = 'x'", lambda row, _: both(less(row[0], 5), equal(row[2], "x"))),
    Condition("v > 0", compared(1, lambda value: value > 0)),
    Condition("v IS NULL", lambda row, _: row[1] is None),
    Condition("p = 'x'", compared(2, lambda value: value == "x")),
    Condition("p IS NULL", lambda row, _: row[2] is None),
    Condition("NOT (p = 'x')", compared(2, lambda value: value != "x")),
    Condition("p IN ('x', 'it\\'s')", compared(2, lambda value: value in ("x", "it's"))),
    Condition("p LIKE 'y%'", compared(2, lambda value: value.startswith("y"))),
    Condition("v = 1 OR p = 'é='", lambda row, _: either(equal(row[1], 1), equal(row[2], "é="))),
    Condition("1 = 0", lambda _row, _: False),
    Condition("hour(ts) < 12", at_hour),
    Condition(f"ts >= TIMESTAMP '{LOCAL}'", since_local),
)
# What the verbs say as well.
SHARED: Final = CONDITIONS[:11]


def less(value: Any, bound: Any) -> Truth:
    return None if value is None else value < bound


def equal(value: Any, other: Any) -> Truth:
    return None if value is None else value == other


def both(one: Truth, other: Truth) -> Truth:
    if one is False or other is False:
        return False
    return None if None in (one, other) else True


def either(one: Truth, other: Truth) -> Truth:
    if one is True or other is True:
        return True
    return None if None in (one, other) else False


@dataclass(frozen=True)
class Statement:
    """A statement on a table `{t}`; `apply` returns the rows after it."""

    sql: str
    apply: Callable[[Sequence[Row], ZoneInfo], list[Row]]
    verb: Callable[[Transaction, str], object] | None = None


def literal(value: Any, place: int) -> str:
    """Return a value of a column as SQL."""
    if value is None:
        return "NULL"
    if place == 2:
        return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    if place == 3:
        return f"TIMESTAMP '{datetime.fromtimestamp(value, UTC).isoformat(' ')}'"
    return str(value)


def values(rows: Sequence[Row]) -> str:
    each = (", ".join(literal(value, at) for at, value in enumerate(row)) for row in rows)
    return ", ".join(f"({text})" for text in each)


def dicts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows as the verbs take them."""
    return [
        {
            **dict(zip(NAMES, row, strict=True)),
            "ts": None if row[3] is None else datetime.fromtimestamp(row[3], UTC),
        }
        for row in rows
    ]


def any_row(random: Random, number: int) -> Row:
    moment = random.choice([None, BEGIN + random.randrange(400) * 600])
    return number, random.choice([None, 0, 1, 2]), random.choice(TEXTS), moment


def any_rows(random: Random, count: int = 5) -> list[Row]:
    """Return rows of different ids."""
    return [any_row(random, number) for number in random.sample(range(12), count)]


def insert(random: Random) -> Statement:
    rows = any_rows(random)
    return Statement(
        f"INSERT INTO {{t}} VALUES {values(rows)}",
        lambda before, _: [*before, *rows],
        lambda txn, table: txn.insert(table, dicts(rows)),
    )


def delete(random: Random, conditions: Sequence[Condition] = CONDITIONS) -> Statement:
    where = random.choice(conditions)
    return Statement(
        f"DELETE FROM {{t}} WHERE {where.sql}",
        lambda before, zone: [row for row in before if not where.holds(row, zone)],
        lambda txn, table: txn.delete(table, where.sql),
    )


def update(random: Random, conditions: Sequence[Condition] = CONDITIONS) -> Statement:
    """Return an UPDATE, which may move rows to other partitions."""
    where, target = random.choice(conditions), random.choice(["x", "z"])

    def changed(row: Row) -> Row:
        return row[0], None if row[1] is None else row[1] + 1, target, row[3]

    return Statement(
        f"UPDATE {{t}} SET v = v + 1, p = '{target}' WHERE {where.sql}",
        lambda before, zone: [changed(row) if where.holds(row, zone) else row for row in before],
        lambda txn, table: txn.update(table, {"v": "v + 1", "p": f"'{target}'"}, where.sql),
    )


def merge(random: Random) -> Statement:
    """Return a MERGE with all kinds of clauses, for a table whose ids may repeat."""
    source = any_rows(random, 4)
    by_id = {row[0]: row for row in source}

    def merged(before: Sequence[Row], _: ZoneInfo) -> list[Row]:
        after: list[Row] = []
        for row in before:
            found = by_id.get(row[0])
            if found is None:
                after.append((row[0], -1, *row[2:]) if row[1] == 2 else row)
            elif found[1] != 0:
                after.append((row[0], row[1], found[2], row[3]))
        known = {row[0] for row in before}
        return [*after, *(row for row in source if row[0] not in known)]

    return Statement(
        f"MERGE INTO {{t}} t USING (SELECT * FROM VALUES {values(source)} AS s(id, v, p, ts)) s "
        "ON t.id = s.id WHEN MATCHED AND s.v = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.v = 2 THEN UPDATE SET v = -1",
        merged,
    )


def upsert(random: Random) -> Statement:
    """Return a MERGE that the verbs say as well."""
    source = any_rows(random, 4)
    by_id = {row[0]: row for row in source}

    def merged(before: Sequence[Row], _: ZoneInfo) -> list[Row]:
        after = [
            (*row[:1], by_id[row[0]][1], *row[2:]) if row[0] in by_id else row for row in before
        ]
        known = {row[0] for row in before}
        return [*after, *(row for row in source if row[0] not in known)]

    return Statement(
        f"MERGE INTO {{t}} t USING (SELECT * FROM VALUES {values(source)} AS s(id, v, p, ts)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        merged,
        lambda txn, table: txn.merge(
            table,
            dicts(source),
            "target.id = source.id",
            when_matched_update={"v": "source.v"},
            when_not_matched_insert=True,
        ),
    )


def overwrite(random: Random) -> Statement:
    """Return an INSERT OVERWRITE of everything, or of the rows of a condition."""
    rows = any_rows(random, 3)
    if random.random() < 0.3:
        return Statement(
            f"INSERT OVERWRITE {{t}} VALUES {values(rows)}",
            lambda _before, _zone: list(rows),
            lambda txn, table: txn.overwrite(table, dicts(rows)),
        )
    inside: list[Row] = [(row[0], row[1], "x", row[3]) for row in rows]
    return Statement(
        f"INSERT INTO {{t}} REPLACE WHERE p = 'x' SELECT * FROM VALUES {values(inside)}",
        lambda before, _: [*(row for row in before if row[2] != "x"), *inside],
        lambda txn, table: txn.overwrite(table, dicts(inside), "p = 'x'"),
    )


def truncate(_: Random) -> Statement:
    return Statement(
        "TRUNCATE TABLE {t}", lambda _before, _zone: [], lambda txn, table: txn.delete(table)
    )


KINDS: Final = (insert, delete, delete, update, update, merge, upsert, overwrite, insert, truncate)


def any_statement(random: Random) -> Statement:
    """Return any statement; a TRUNCATE is rare."""
    kind = random.choice(KINDS)
    return kind(random) if kind is not truncate or random.random() < 0.4 else insert(random)


def any_shared(random: Random) -> Statement:
    """Return a statement that the verbs say as well."""
    kind = random.choice([insert, delete, update, upsert, overwrite])
    if kind is delete or kind is update:
        return kind(random, SHARED)
    return kind(random)
