"""Operations as SQL that Spark and DuckDB both take."""

from tests.consistency.operations import (
    Add,
    Append,
    Claim,
    Delete,
    Insert,
    Operation,
    Read,
    Transfer,
    Upsert,
    Write,
    first_rows,
)


def statement(operation: Operation, place: str) -> str:
    """Return an operation as a statement on a table, whose full name is `place`."""
    match operation:
        case Read(_, key):
            where = "" if key is None else f" WHERE k = {key}"
            return f"SELECT k, n, v FROM {place}{where}"
        case Append(_, key, value):
            return f"UPDATE {place} SET v = v || ',{value}' WHERE k = {key}"
        case Upsert(_, key, value):
            matched = "WHEN MATCHED THEN UPDATE SET v = t.v || ',' || s.v"
            return merge(place, f"SELECT {key} AS k, 0 AS n, '{value}' AS v", matched)
        case Claim(_, key, value):
            return merge(place, f"SELECT {key} AS k, {value} AS n, '' AS v", "")
        case Insert(_, key, value):
            return f"INSERT INTO {place} VALUES ({key}, {value}, '')"
        case Write(_, key, value):
            return f"UPDATE {place} SET n = {value} WHERE k = {key}"
        case Add(_, key, amount):
            return f"UPDATE {place} SET n = n + ({amount}) WHERE k = {key}"
        case Transfer(_, source, target, amount):
            moved = f"CASE WHEN k = {source} THEN -{amount} ELSE {amount} END"
            return f"UPDATE {place} SET n = n + {moved} WHERE k = {source} OR k = {target}"
        case Delete(_, key):
            return f"DELETE FROM {place} WHERE k = {key}"
        case _:
            message = f"{operation} must be carried out in another way"
            raise ValueError(message)


def merge(place: str, source: str, matched: str) -> str:
    """Return a MERGE that inserts what is absent."""
    return (
        f"MERGE INTO {place} AS t USING ({source}) AS s ON t.k = s.k {matched} "
        "WHEN NOT MATCHED THEN INSERT (k, n, v) VALUES (s.k, s.n, s.v)"
    )


def insert_first(table: str, place: str) -> str:
    """Return the statement that inserts the first rows of a table, "" for none."""
    rows = ", ".join(f"({row.k}, {row.n}, '')" for row in first_rows(table))
    return f"INSERT INTO {place} VALUES {rows}" if rows else ""
