"""Tables whose columns have names that can be taken for others, and conditions on each of them.

Each column and each field has values that no other one has. So bounds, rows or partition values of
one that are taken for those of another show.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from tests.tables.laws.model import ModelColumn, TableModel, quoted
from tests.tables.laws.terms import Term, column, compared, is_null, literal

WORDS = """
a b c a.b A.B a.b.c x.y x.y.z B a.B .a a. a..b _file _change_type _Commit_Version _metadata metadata
__row_operation _row_operation row_index source target s t rows row element key value key_value
list array map key_value.key x.list.element list.element select from order where group null true
false current_date date interval case when not and or in is * ? : ; , ( ) [ ] { } & | \\ ' " ` ``
"" '' a"b a'b a`b `a`.`b` a,b a;b a%b a%20b %2E % = a=b /a a/b ../a # a#b $ @ ~ ! + - -- /* */ <a>
é é Ü ü ß ẞ İ \u0131 i̇ Straße 列 Ωмега 😀 👩\u200d💻 שלום سلام \u202ea 1 1a 1.5 1e5 0x1 0
-1 NaN col c0 c1 n id version timestamp position partition path size stats numRecords minValues
nullCount add remove delta _delta_log __HIVE_DEFAULT_PARTITION__ rowid count this
self class __class__ __index_level_0__
"""
NAMES = WORDS.split()
"""Most of the names; some have letters that differ by their composition alone."""

ODD = ["a b", " a", "a ", " ", "\u00a0", "a" * 255, "é" * 100, "a" * 200 + ".b"]
FIELDS = ["b", "B.c", "b.c", "a", "element", "value", "key", "x y", "c`d", "é", "select", "list"]


class Hostile(NamedTuple):
    """A table: its columns, and the places of those that it is partitioned by."""

    columns: Sequence[ModelColumn]
    by: Sequence[int]

    def model(self) -> TableModel:
        return TableModel(self.columns, self.by)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The columns as a table is created with."""
        return [(each.name, each.type) for each in self.columns]

    @property
    def partition_columns(self) -> list[str]:
        return [each.name for each in self.columns if each.id in self.by]


def fields_of(type_: str) -> list[str]:
    """Return the names of the fields of a struct, of a type that `struct_of` made."""
    return STRUCTS.get(type_, [])


STRUCTS: dict[str, list[str]] = {}
"""The names of the fields of each struct type that was drawn."""


def struct_of(names: Sequence[str]) -> str:
    """Return the type of a struct with whole numbers."""
    type_ = f"struct<{','.join(f'{quoted(name)}:int' for name in names)}>"
    STRUCTS[type_] = list(names)
    return type_


def drawn_type(rng: Random) -> str:
    """Return a type; the fields of a struct are often parts of other names."""
    kind = rng.choice(["int", "int", "string", "struct", "struct", "array", "map"])
    if kind == "struct":
        fields = {each.lower(): each for each in rng.sample(FIELDS, k=rng.randint(1, 2))}
        return struct_of(list(fields.values()))
    return {"array": "array<int>", "map": "map<string,int>"}.get(kind, kind)


def table_of(columns: Mapping[str, str | Sequence[str]], *by: str) -> Hostile:
    """Return a table; a type that is a list is a struct with such fields."""
    made = [
        ModelColumn(at, name, type_ if isinstance(type_, str) else struct_of(type_))
        for at, (name, type_) in enumerate(columns.items(), start=1)
    ]
    return Hostile(made, [each.id for each in made if each.name in by])


LONG = "é" * 100
TABLES = [
    table_of({"a.b": "int", "a": ["b", "B.c"], "a.b.c": "int", "A.B ": "string"}, "a.b.c"),
    table_of({"x.y": ["z"], "x.y.z": "string", "x": ["y", "y.z"], "X.Y.w": "int"}),
    table_of({"list": "array<int>", "list.list.element": "int", "list.element": "int"}),
    table_of({"map": "map<string,int>", "map.key_value.key": "string", "map.key": ["value"]}),
    table_of({"source": ["target"], "target": ["source", "n"], "n": "int", "t": "int"}, "n"),
    table_of({"_file": "int", "_metadata": ["file_path"], "__row_operation": "string"}, "_file"),
    table_of({"_change_type": "string", "_Commit_Version": "int", "rows": ["rows"]}),
    table_of({"select": "int", "from": ["order"], "order": "string", "null": "int"}, "null"),
    table_of({"`": "int", '"': "string", "'": ["`", '"'], "`a`.`b`": "int", "a": ["b"]}, '"'),
    table_of({"a b": "int", "a%20b": "string", "a=b": "int", "a/b": "int"}, "a=b", "a/b"),
    table_of({"é": "int", "e\u0301": "int", "e": ["é", "e\u0301"]}, "e\u0301"),
    table_of({"İ": "int", "\u0131": "int", "i": ["\u0131", "i"], "i\u0307x": "string"}, "\u0131"),
    table_of({"😀": "int", "שלום": ["x#y"], "1": "int", "1a": "string", "1.5": "int"}, "1"),
    table_of({LONG: "int", f"{LONG}.b": "int", f"{LONG}2": ["b"], "#": "int"}, "#"),
]
"""Tables whose names lie one beside the other."""


def drawn_table(rng: Random) -> Hostile:
    """Return a table of two to six columns."""
    chosen: dict[str, str] = {}
    for each in rng.sample([*NAMES, *ODD], k=rng.randint(2, 6)):
        chosen.setdefault(each.lower(), each)
    for each in list(chosen.values()):
        # What a dot may stand for is there too.
        first, dot, _ = each.partition(".")
        if dot and first and rng.random() < 0.7 and len(chosen) < 6:
            chosen.setdefault(first.lower(), first)
    names = list(chosen.values())
    rng.shuffle(names)
    columns = [ModelColumn(0, "n", "int")] if "n" not in chosen else []
    for each in names:
        last = [other.partition(".")[2] for other in names if other.startswith(f"{each}.")]
        type_ = struct_of([last[0], *({"z"} - set(last))]) if last else drawn_type(rng)
        columns.append(ModelColumn(0, each, type_))
    columns = [each._replace(id=at) for at, each in enumerate(columns, start=1)]
    plain = [each.id for each in columns if each.type in {"int", "string"} and len(each.name) < 99][
        1:
    ]
    return Hostile(columns, rng.sample(plain, k=min(len(plain), rng.randint(0, 2))))


def value(rng: Random, each: ModelColumn, *, may_lack: bool = True) -> Any:
    """Return a value that no other column has; sometimes NULL."""
    if may_lack and rng.random() < 0.15:
        return None
    low = each.id * 1000
    numbers = [low + at for at in range(4)]
    match each.type:
        case "int":
            return rng.choice(numbers)
        case "string":
            return f"{rng.choice(['a', 'é', 'x/=%', ' '])}{rng.choice(numbers)}"
        case "array<int>":
            return [rng.choice(numbers) for _ in range(rng.randint(0, 2))]
        case "map<string,int>":
            return [(f"k{each.id}", rng.choice(numbers))]
        case _:
            names = fields_of(each.type)
            return {name: rng.choice(numbers) + 100 * at for at, name in enumerate(names, start=1)}


def rows(rng: Random, model: TableModel, count: int) -> list[dict[int, Any]]:
    return [{each.id: value(rng, each) for each in model.columns} for _ in range(count)]


def within(key: Any, name: str) -> Term:
    """Return a field of a struct column, NULL without the struct."""
    return Term(
        lambda names: f"{names[key]}.{quoted(name)}",
        lambda row: None if row.get(key) is None else row[key].get(name),
        frozenset([key]),
    )


def parts(model: TableModel, key: Any = lambda id_: id_) -> Iterator[tuple[Term, str, Any]]:
    """Yield each column and field that can be compared, with its type and its column."""
    for each in model.columns:
        if each.type in {"int", "string"}:
            yield column(key(each.id)), each.type, each
        for name in fields_of(each.type):
            yield within(key(each.id), name), "int", each


def conditions(rng: Random, model: TableModel) -> Iterator[Term]:
    """Yield conditions on each column and each field, that hold for some rows."""
    for term, *_ in parts(model):
        found = [value for row in model.rows.values() if (value := term.value(row)) is not None]
        if found:
            yield compared("=", term, literal(rng.choice(found)))
            yield compared(rng.choice([">=", "<", "<>", "<=>"]), term, literal(rng.choice(found)))
    for each in model.columns:
        yield is_null(column(each.id), negated=rng.random() < 0.5)
