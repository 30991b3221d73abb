"""Draws statements that mean few rows of files that have many, as tables with marks want them."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tests.tables.laws.drawing import (
    FORMS,
    ID,
    TARGETS,
    overwriting,
    some_clauses,
    some_rows,
    statement,
    updating,
)
from tests.tables.laws.model import TableModel
from tests.tables.laws.statements import (
    Delete,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Scan,
    Statement,
    Update,
    World,
)
from tests.tables.laws.terms import (
    Term,
    among,
    column,
    compared,
    condition,
    conjunction,
    disjunction,
    literal,
    negation,
)

Row = dict[int, Any]
HOT = 8
HOT_SHARE = 0.5
"""Half of the statements name some of the lowest ids, so that statements meet."""


def row_statement(  # noqa: PLR0911 - one case for each kind
    rng: Random, world: World, own: Mapping[str, bool], fresh: Iterator[int]
) -> Statement:
    """Return a statement, mostly on few rows; `fresh` are ids that no row has."""
    table = rng.choice(list(world))
    model = world[table]
    draw = rng.random()
    if draw < 0.10:
        return Insert(table, unique_rows(rng, model, rng.randint(1, 3), fresh), rng.choice(FORMS))
    if draw < 0.28:
        return Delete(table, few_rows(rng, model))
    if draw < 0.55:
        return row_update(rng, table, model, fresh)
    if draw < 0.74:
        return row_merge(rng, table, model, fresh)
    if draw < 0.84:
        by = {key: model.types[key] for key in model.by}
        where = condition(rng, by) if by and rng.random() < 0.3 else None
        return Optimize(table, where, rng.choice(TARGETS))
    if draw < 0.87:
        return Scan(table, few_rows(rng, model), list(model.types))
    if draw < 0.90:
        return with_unique(overwriting(rng, table, model), fresh)
    if draw < 0.92:
        return Delete(table, condition(rng, model.types))
    return with_unique(statement(rng, world, own), fresh)


def unique_rows(rng: Random, model: TableModel, count: int, fresh: Iterator[int]) -> list[Row]:
    return [row | {ID: next(fresh)} for row in some_rows(rng, model, count)]


def with_unique(made: Statement, fresh: Iterator[int]) -> Statement:
    """Give the rows of an insert or of a whole overwrite ids of their own."""
    is_free = isinstance(made, Insert) or (isinstance(made, Overwrite) and made.where is None)
    if is_free and isinstance(made, Insert | Overwrite):
        made.rows = [{**row, ID: next(fresh)} if ID in row else row for row in made.rows]
    return made


def ids_of(model: TableModel) -> list[int]:
    return sorted({row[ID] for row in model.rows.values() if row.get(ID) is not None})


def few_rows(rng: Random, model: TableModel) -> Term:
    """Return a condition that names one row to a few by their ids, perhaps with more said."""
    known = ids_of(model) or [0]
    if rng.random() < HOT_SHARE:
        known = known[:HOT]
    some = rng.sample(known, k=min(len(known), rng.randint(1, 3)))
    one = column(ID)
    named = compared("=", one, literal(some[0]))
    draw = rng.random()
    if draw < 0.25:
        named = among(one, some)
    elif draw < 0.4:
        named = conjunction(not_below(one, some[0]), below(one, some[0] + rng.randint(1, 5)))
    elif draw < 0.48:
        # So many that no file is marked for all of them.
        named = conjunction(not_below(one, some[0]), below(one, some[0] + 150))
    elif draw < 0.58:
        high = known[-rng.randint(1, min(4, len(known)))]
        named = compared(rng.choice([">", ">="]), one, literal(high))
    rest = {key: kind for key, kind in model.types.items() if key != ID}
    draw = rng.random()
    if draw < 0.25:
        return conjunction(named, condition(rng, rest, 1))
    if draw < 0.32:
        return disjunction(named, conjunction(condition(rng, rest, 0), below(one, some[-1])))
    if draw < 0.38:
        return conjunction(below(one, known[min(len(known) - 1, 6)]), negation(named))
    if draw < 0.45:
        return condition(rng, model.types)
    return named


def not_below(one: Term, number: int) -> Term:
    return compared(">=", one, literal(number))


def below(one: Term, number: int) -> Term:
    return compared("<", one, literal(number))


def row_update(rng: Random, table: str, model: TableModel, fresh: Iterator[int]) -> Statement:
    """Return an update of few rows; rarely their ids become others."""
    made = updating(rng, table, model)
    assert isinstance(made, Update), "an update is drawn"
    sets = {key: value for key, value in made.sets.items() if key != ID}
    if rng.random() < 0.08 or not sets:
        sets[ID] = rng.choice([next(fresh), rng.choice(ids_of(model) or [0])])
    return Update(table, sets, few_rows(rng, model))


def row_merge(rng: Random, table: str, model: TableModel, fresh: Iterator[int]) -> Statement:
    """Return a merge by ids, of which some are new."""
    known = ids_of(model)
    if rng.random() < HOT_SHARE:
        known = known[:HOT]
    keys = rng.sample(known, k=min(len(known), rng.randint(1, 3)))
    keys += [next(fresh) for _ in range(rng.randint(0 if keys else 1, 2))]
    rows = [row | {ID: key} for row, key in zip(some_rows(rng, model, 5), keys, strict=False)]
    ids = frozenset(key for row in rows for key in row)
    on = compared("=", column(("target", ID)), column(("source", ID)))
    shared = [key for key in model.by if key in ids]
    if shared and rng.random() < 0.2:
        key = rng.choice(shared)
        on = conjunction(on, compared("=", column(("target", key)), column(("source", key))))
    none = {"not_matched_by_source": 0.96, "matched": 0.4}
    clauses = some_clauses(rng, model, ids, none)
    return Merge(table, rows, on, clauses, rng.choice(["dicts", "arrow"]))
