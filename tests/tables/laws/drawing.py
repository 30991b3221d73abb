"""Draws statements that have a meaning for the tables as a txn sees them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from tests.tables.laws.altering import (
    AddColumn,
    Alteration,
    DropColumn,
    Evolve,
    RenameColumn,
    Repartition,
    WidenColumn,
)
from tests.tables.laws.model import NARROW, TableModel
from tests.tables.laws.statements import (
    Delete,
    Insert,
    InsertSelect,
    Merge,
    ModelClause,
    Optimize,
    Overwrite,
    Scan,
    Statement,
    Update,
    World,
)
from tests.tables.laws.terms import (
    NESTED,
    VALUES,
    Term,
    column,
    compared,
    condition,
    conjunction,
    drawn,
    value_for,
)

FORMS = ["dicts", "columns", "arrow", "polars"]
NEW_NAMES = ["key", "c0", "c1", "extra", "a b", "order", "Über", "x.y", "p=q", "n`1", "Extra2"]
TARGETS = [256 << 20, 2_000]
ID = 1
KEY = 2
"""The columns `id` and `key`, which are never dropped."""


def statement(  # noqa: PLR0911 - one case for each kind
    rng: Random, world: World, own: Mapping[str, bool]
) -> Statement:
    """Return a statement; `own` says in which tables the txn has files of its own."""
    table = rng.choice(list(world))
    model = world[table]
    draw = rng.random()
    if draw < 0.10:
        found = None if own[table] else alteration(rng, table, model)
        return found or adding(rng, table, model)
    if draw < 0.15:
        return evolving(rng, table, model)
    if draw < 0.35:
        rows = some_rows(rng, model, rng.randint(0, 5))
        return Insert(table, rows, rng.choice(FORMS))
    if draw < 0.45:
        return overwriting(rng, table, model)
    if draw < 0.57:
        return Delete(table, some_condition(rng, model, 0.05))
    if draw < 0.70:
        return updating(rng, table, model)
    if draw < 0.84:
        return merging(rng, table, model)
    if draw < 0.90:
        by = {key: model.types[key] for key in model.by}
        where = condition(rng, by) if by and rng.random() < 0.6 else None
        return Optimize(table, where, rng.choice(TARGETS))
    if draw < 0.95:
        ids = [each for each in model.types if rng.random() < 0.7]
        return Scan(table, some_condition(rng, model, 0.3), ids)
    return selecting(rng, table, rng.choice(list(world)), world)


def some_rows(rng: Random, model: TableModel, count: int) -> list[dict[int, Any]]:
    ids = [each for each in model.columns if each.id in (ID, KEY) or rng.random() < 0.85]
    return [{each.id: drawn(rng, each.type) for each in ids} for _ in range(count)]


def some_condition(rng: Random, model: TableModel, none: float) -> Term | None:
    """Return a condition, or with a probability none; often on partition columns alone."""
    if rng.random() < none:
        return None
    types = model.types
    if model.by and rng.random() < 0.35:
        types = {key: types[key] for key in model.by}
    return condition(rng, types)


def overwriting(rng: Random, table: str, model: TableModel) -> Statement:
    """Return an overwrite, whose rows fulfil its condition."""
    where = some_condition(rng, model, 0.15)
    rows = some_rows(rng, model, rng.randint(0, 6))
    kept = [row for row in rows if where is None or where.value(row) is True]
    return Overwrite(table, kept, where, rng.choice(FORMS))


def updating(rng: Random, table: str, model: TableModel) -> Statement:
    """Return an update of one or two columns."""
    chosen = rng.sample(list(model.columns), k=min(len(model.columns), rng.randint(1, 2)))
    sets: dict[int, Any] = {}
    for each in chosen:
        value = value_for(rng, each.type, model.types)
        is_constant = isinstance(value, Term) and not value.keys
        if is_constant and rng.random() < 0.7 and not isinstance(value.value({}), str):
            value = value.value({})
        sets[each.id] = value
    return Update(table, sets, some_condition(rng, model, 0.1))


def merging(rng: Random, table: str, model: TableModel) -> Statement:
    """Return a merge by the key, often with further conditions."""
    rows = some_rows(rng, model, rng.randint(0, 4))
    if rng.random() < 0.8:
        known = [row.get(KEY) for row in model.rows.values()]
        keys = [*known, *VALUES[model.types[KEY]]]
        keys = list(dict.fromkeys(keys))
        rng.shuffle(keys)
        rows = [row | {KEY: key} for row, key in zip(rows, keys, strict=False)]
    ids = frozenset(key for row in rows for key in row) or frozenset([ID, KEY])
    rows = rows or [dict.fromkeys(ids)]
    mine = {("target", key): kind for key, kind in model.types.items()}
    given = {("source", key): kind for key, kind in model.types.items() if key in ids}
    on = compared("=", column(("target", KEY)), column(("source", KEY)))
    shared = [key for key in model.by if key in ids]
    if shared and rng.random() < 0.5:
        key = rng.choice(shared)
        on = conjunction(on, compared("=", column(("target", key)), column(("source", key))))
    if rng.random() < 0.3:
        on = conjunction(on, condition(rng, mine | given, 0))
    clauses = some_clauses(rng, model, ids, {"not_matched_by_source": 0.35})
    return Merge(table, rows, on, clauses, rng.choice(["dicts", "arrow"]))


def some_clauses(
    rng: Random, model: TableModel, ids: frozenset[int], none: Mapping[str, float]
) -> list[ModelClause]:
    """Return clauses of a merge by rows with these columns.

    `none` has by kind the probability that a clause is left out, where it is not the usual one.
    """
    mine = {("target", key): kind for key, kind in model.types.items()}
    given = {("source", key): kind for key, kind in model.types.items() if key in ids}
    clauses: list[ModelClause] = []
    has_all = ids == model.types.keys()
    for kind, scope, actions in (
        ("matched", mine | given, ["update", "delete"]),
        ("not_matched", given, ["insert"]),
        ("not_matched_by_source", mine, ["update", "delete"]),
    ):
        for is_last in (False, True):
            if rng.random() < none.get(kind, 0.6):
                continue
            where = None if is_last and rng.random() < 0.6 else condition(rng, scope, 1)
            action = rng.choice(actions)
            sets = None
            is_all = has_all and kind != "not_matched_by_source" and rng.random() < 0.4
            if action != "delete" and not is_all:
                several = rng.sample(list(model.columns), k=rng.randint(1, len(model.columns)))
                sets = {each.id: value_for(rng, each.type, scope) for each in several}
            clauses.append(ModelClause(kind, action, sets, where))
    return clauses or [ModelClause("matched", "delete", None, None)]


def selecting(rng: Random, table: str, origin: str, world: World) -> Statement:
    """Return an insert of rows of a table into the same or another one."""
    model, other = world[table], world[origin]
    columns = {}
    for each in model.columns:
        like = [key for key, kind in other.types.items() if kind == each.type]
        if like and rng.random() < 0.8:
            columns[each.id] = rng.choice(like)
    columns = columns or {ID: ID}
    # A column of the source may be read once only.
    chosen = {of: key for key, of in columns.items()}
    where = some_condition(rng, other, 0.1)
    return InsertSelect(table, origin, where, {key: of for of, key in chosen.items()})


def new_name(rng: Random, model: TableModel) -> str:
    taken = {each.name.lower() for each in model.columns}
    return rng.choice([name for name in NEW_NAMES if name.lower() not in taken] or ["fresh"])


def adding(rng: Random, table: str, model: TableModel) -> Statement:
    """Return a new column, or a wider one."""
    narrow = [each.id for each in model.columns if each.type in NARROW]
    if (narrow and rng.random() < 0.4) or len(model.columns) > 8:
        return WidenColumn(table, rng.choice(narrow)) if narrow else Delete(table, None)
    return AddColumn(table, new_name(rng, model), rng.choice(list(VALUES | NESTED)))


def alteration(rng: Random, table: str, model: TableModel) -> Alteration | None:
    """Return a change that is made before a txn writes rows."""
    free = [each.id for each in model.columns if each.id not in (ID, KEY)]
    kind = rng.random()
    if kind < 0.3:
        by = [each for each in free if model.types[each] not in NESTED]
        return Repartition(table, rng.sample(by, k=min(len(by), rng.randint(0, 2))))
    if kind < 0.6:
        return RenameColumn(table, rng.choice([KEY, *free]), new_name(rng, model))
    droppable = [each for each in free if each not in model.by]
    if kind < 0.85 and len(droppable) > 1:
        return DropColumn(table, rng.choice(droppable), rng.random() < 0.5)
    return None


def evolving(rng: Random, table: str, model: TableModel) -> Statement:
    """Return an insert that adds a column, and may widen another."""
    if len(model.columns) > 8:
        return Insert(table, some_rows(rng, model, 2), "arrow")
    kind = rng.choice(list(VALUES | NESTED))
    rows: Sequence[dict[int, Any]] = some_rows(rng, model, rng.randint(1, 3))
    narrow = [each.id for each in model.columns if each.type in NARROW and each.id not in model.by]
    wider = rng.choice(narrow) if narrow and rng.random() < 0.5 else None
    added = (new_name(rng, model), kind)
    return Evolve(table, [row | {0: drawn(rng, kind)} for row in rows], added, wider)
