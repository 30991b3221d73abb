"""Statements on rows: how each is sent to a txn, and what it does to a model."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from ledger.arrow.types import arrow_type
from ledger.transaction.transaction import Transaction
from ledger.work.merge_clauses import MergeClause
from tests.tables.laws.model import TableModel
from tests.tables.laws.terms import Term
from tests.tables.row_files import tuples

World = Mapping[str, TableModel]
Rows = Sequence[Mapping[int, Any]]


class Counts(NamedTuple):
    """How many rows a statement inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass
class Statement(ABC):
    """A statement on one table.

    `is_blind`: it reads nothing of the table. `makes_files`: afterwards the txn has own files.
    """

    table: str
    is_blind = False
    kinds: Mapping[Any, str] = field(default_factory=dict, kw_only=True, repr=False)
    makes_files = True

    @abstractmethod
    def run(self, txn: Transaction, world: World) -> Any:
        """Send the statement to a txn that sees a world."""

    @abstractmethod
    def apply(self, world: World) -> Counts | None:
        """Change the world as the statement does; None = it must be refused with ValueError."""

    def fits(self, world: World) -> bool:
        """Return whether the statement still has a meaning: its columns are there as they were."""
        types = world[self.table].types
        named = self.ids()
        return all(key in types and self.kinds.get(key) in (None, types[key]) for key in named)

    def ids(self) -> frozenset[Any]:
        """Return the columns that the statement names."""
        return frozenset()


def where_text(where: Term | None, model: TableModel) -> str | None:
    """Return the text of a condition for the present names."""
    return None if where is None else where.text(model.names)


def keys_of(*terms: Term | None) -> frozenset[Any]:
    return frozenset[Any]().union(*(term.keys for term in terms if term is not None))


def given(rows: Rows, model: TableModel, form: str) -> Any:
    """Return rows as a caller has them."""
    ids = list(dict.fromkeys(key for row in rows for key in row))
    columns = [column for column in model.columns if column.id in ids]
    if form == "columns":
        return {column.name: [row.get(column.id) for row in rows] for column in columns}
    data = [{column.name: row.get(column.id) for column in columns} for row in rows]
    if form == "dicts":
        return data
    fields = [(column.name, arrow_type(column.type)) for column in columns]
    table = pa.Table.from_pylist(data, schema=pa.schema(fields))
    return pl.DataFrame(table) if form == "polars" and columns else table


@dataclass
class Insert(Statement):
    """New rows, in one of the forms that an insert takes."""

    rows: Rows
    form: str
    is_blind = True

    def run(self, txn: Transaction, world: World) -> Any:
        return txn.insert(self.table, given(self.rows, world[self.table], self.form))

    def apply(self, world: World) -> Counts | None:
        return Counts(inserted=world[self.table].put(self.rows))

    def ids(self) -> frozenset[Any]:
        return frozenset(key for row in self.rows for key in row)


@dataclass
class Overwrite(Statement):
    """INSERT OVERWRITE, whole or where a condition holds."""

    rows: Rows
    where: Term | None
    form: str

    def run(self, txn: Transaction, world: World) -> Any:
        model = world[self.table]
        rows = given(self.rows, model, self.form)
        return txn.overwrite(self.table, rows, where_text(self.where, model))

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        gone = len(model.take(model.matching(self.where)))
        return Counts(inserted=model.put(self.rows), deleted=gone)

    def ids(self) -> frozenset[Any]:
        return keys_of(self.where) | frozenset(key for row in self.rows for key in row)


@dataclass
class Delete(Statement):
    """Rows of a condition go, or all of them."""

    where: Term | None

    def run(self, txn: Transaction, world: World) -> Any:
        return txn.delete(self.table, where_text(self.where, world[self.table]))

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        return Counts(deleted=len(model.take(model.matching(self.where))))

    def ids(self) -> frozenset[Any]:
        return keys_of(self.where)


@dataclass
class Update(Statement):
    """UPDATE; a value is a term, or a constant of Python."""

    sets: Mapping[int, Any]
    where: Term | None

    def run(self, txn: Transaction, world: World) -> Any:
        model = world[self.table]
        name = {column.id: column.name for column in model.columns}
        changes = {name[key]: sent(each, model.names) for key, each in self.sets.items()}
        return txn.update(self.table, changes, where_text(self.where, model))

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        before = model.take(model.matching(self.where))
        model.put(
            row | {key: known(each, row) for key, each in self.sets.items()} for row in before
        )
        return Counts(updated=len(before))

    def ids(self) -> frozenset[Any]:
        terms = [each for each in self.sets.values() if isinstance(each, Term)]
        return keys_of(self.where, *terms) | self.sets.keys()


def sent(value: Any, names: Mapping[Any, str]) -> Any:
    """Return a value of an assignment as a caller gives it."""
    return value.text(names) if isinstance(value, Term) else value


def known(value: Any, row: Mapping[Any, Any]) -> Any:
    return value.value(row) if isinstance(value, Term) else value


class ModelClause(NamedTuple):
    """A clause of a MERGE; its terms have keys of (relation, column id)."""

    kind: str
    action: str
    sets: Mapping[int, Any] | None
    where: Term | None


@dataclass
class Merge(Statement):
    """MERGE by rows that have some columns of the target."""

    source: Rows
    on: Term
    clauses: Sequence[ModelClause]
    form: str

    def run(self, txn: Transaction, world: World) -> Any:
        model = world[self.table]
        names = {
            (side, key): f"{side}.{name}"
            for side in ("target", "source")
            for key, name in model.names.items()
        }
        name = {column.id: column.name for column in model.columns}
        clauses = [
            MergeClause(
                clause.kind,  # type: ignore[arg-type]
                clause.action,  # type: ignore[arg-type]
                None
                if clause.sets is None
                else {name[key]: sent(value, names) for key, value in clause.sets.items()},
                None if clause.where is None else clause.where.text(names),
            )
            for clause in self.clauses
        ]
        rows = given(self.source, model, self.form)
        return txn.merge(self.table, rows, self.on.text(names), clauses=clauses)

    def apply(self, world: World) -> Counts | None:
        model = world[self.table]
        sources = [{("source", key): value for key, value in row.items()} for row in self.source]
        met = {
            at: [source for source in sources if self.on.value(source | target(row)) is True]
            for at, row in model.rows.items()
        }
        matched = [clause for clause in self.clauses if clause.kind == "matched"]
        takes_all = len(matched) == 1 and matched[0].action == "delete" and not matched[0].where
        if matched and not takes_all and any(len(each) > 1 for each in met.values()):
            return None
        hit = {id(each) for several in met.values() for each in several}
        updated = deleted = 0
        new: list[dict[int, Any]] = []
        gone: list[int] = []
        for at, several in met.items():
            row = model.rows[at]
            kind = "matched" if several else "not_matched_by_source"
            values = target(row) | (several[0] if several else {})
            found = self.taken(kind, values)
            if found is None:
                continue
            gone.append(at)
            if found.action == "delete":
                deleted += 1
                continue
            updated += 1
            new.append(row | self.assigned(found, values, model))
        inserted = 0
        for source in sources:
            found = None if id(source) in hit else self.taken("not_matched", source)
            if found is not None:
                inserted += 1
                new.append(self.assigned(found, source, model))
        model.take(gone)
        model.put(new)
        return Counts(inserted, updated, deleted)

    def taken(self, kind: str, values: Mapping[Any, Any]) -> ModelClause | None:
        """Return the clause that takes a row."""
        fitting = (clause for clause in self.clauses if clause.kind == kind)
        return next((c for c in fitting if c.where is None or c.where.value(values) is True), None)

    def assigned(
        self, clause: ModelClause, values: Mapping[Any, Any], model: TableModel
    ) -> dict[int, Any]:
        if clause.sets is None:
            return {column.id: values.get(("source", column.id)) for column in model.columns}
        return {key: known(each, values) for key, each in clause.sets.items()}

    def fits(self, world: World) -> bool:
        """Return whether all columns are there, and the source has all for SET *."""
        ids = world[self.table].types.keys()
        has_all = ids == frozenset(key for row in self.source for key in row)
        takes_all = any(
            clause.sets is None and clause.action != "delete" for clause in self.clauses
        )
        return super().fits(world) and (has_all or not takes_all)

    def ids(self) -> frozenset[Any]:
        found = set(keys_of(self.on))
        sets: set[int] = {key for row in self.source for key in row}
        for clause in self.clauses:
            terms = [term for term in (clause.sets or {}).values() if isinstance(term, Term)]
            found |= keys_of(clause.where, *terms)
            sets |= set(clause.sets or {})
        return frozenset(key for _, key in found) | sets


def target(row: Mapping[int, Any]) -> dict[Any, Any]:
    """Return a row of the target with the keys of terms over two relations."""
    return {("target", key): value for key, value in row.items()}


@dataclass
class Optimize(Statement):
    """Small files become larger ones; no row changes."""

    where: Term | None
    target_bytes: int

    def run(self, txn: Transaction, world: World) -> Any:
        text = where_text(self.where, world[self.table])
        txn.optimize(self.table, text, target_bytes=self.target_bytes)

    def apply(self, world: World) -> Counts | None:  # noqa: ARG002 - no row changes
        return Counts()

    def fits(self, world: World) -> bool:
        return self.ids() <= set(world[self.table].by)

    def ids(self) -> frozenset[Any]:
        return keys_of(self.where)


@dataclass
class Scan(Statement):
    """A scan within the txn, which must show what the model has."""

    where: Term | None
    chosen: Sequence[int]
    makes_files = False

    def run(self, txn: Transaction, world: World) -> Any:
        model = world[self.table]
        names = [column.name for column in model.columns if column.id in self.chosen]
        ids = [column.id for column in model.columns if column.id in self.chosen]
        scan = txn.scan(self.table, where_text(self.where, model), names)
        found = scan.to_arrow()
        assert found.column_names == names
        assert counted(found) == model.counted(self.where, ids)
        assert scan.count() == len(found)

    def apply(self, world: World) -> Counts | None:  # noqa: ARG002 - no row changes
        return Counts()

    def ids(self) -> frozenset[Any]:
        return keys_of(self.where) | frozenset(self.chosen)


def counted(table: Any) -> Counter[Any]:
    """Return the rows of an Arrow table, counted."""
    if not table.num_columns:
        return Counter([()] * len(table))
    return Counter(tuples(table))


@dataclass
class InsertSelect(Statement):
    """INSERT of rows that a scan of a table found; `columns` are ids of target and source."""

    origin: str
    where: Term | None
    columns: Mapping[int, int]
    is_blind = True  # It reads the table that it is from.

    def run(self, txn: Transaction, world: World) -> Any:
        origin, model = world[self.origin], world[self.table]
        named = {column.id: column.name for column in origin.columns}
        mine = {column.id: column.name for column in model.columns}
        names = [named[column] for column in self.columns.values()]
        found = txn.scan(self.origin, where_text(self.where, origin), names).to_arrow()
        return txn.insert(self.table, found.rename_columns([mine[key] for key in self.columns]))

    def apply(self, world: World) -> Counts | None:
        origin = world[self.origin]
        found = [origin.rows[at] for at in origin.matching(self.where)]
        rows = [{key: row.get(of) for key, of in self.columns.items()} for row in found]
        return Counts(inserted=world[self.table].put(rows))

    def fits(self, world: World) -> bool:
        origin, mine = world[self.origin].types, world[self.table].types
        return keys_of(self.where) <= origin.keys() and all(
            mine.get(key, 0) == origin.get(of, 1) for key, of in self.columns.items()
        )
