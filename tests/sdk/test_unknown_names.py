"""Names that no function knows: keywords, options, properties and columns are never passed over."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

import ledger
import spark_sink
from ledger import Ledger, MergeClause
from ledger.errors import LedgerError
from ledger.testing import InMemoryLedger

NAME: Final = "db.t"
ROWS: Final = [{"id": 1, "p": 1}]
ON: Final = "target.id = source.id"
BAD: Final = {"idd": "1"}

Work = Callable[[Any], Any]


def within(work: Work) -> Work:
    return lambda of: of.run(work)


def clause(**clauses: Any) -> Work:
    return within(lambda txn: txn.merge(NAME, ROWS, ON, **clauses))


CLAUSES: Final[Mapping[str, Work]] = {
    "MergeClause.update.values": clause(clauses=[MergeClause.update(BAD)]),
    "MergeClause.insert.values": clause(clauses=[MergeClause.insert(BAD)]),
    "MergeClause.update_unmatched.values": clause(clauses=[MergeClause.update_unmatched(BAD)]),
    "Transaction.merge.when_matched_update": clause(when_matched_update=BAD),
    "Transaction.merge.when_not_matched_insert": clause(when_not_matched_insert=BAD),
}
CASES: Final[Mapping[str, Work]] = {
    "Ledger.create_table.options": lambda of: of.create_table("db.n", ROWS, partition=["p"]),
    "Ledger.alter_table.changes": lambda of: of.alter_table(NAME, propertes={}),
    "Ledger.connect.client": lambda _: Ledger.connect("x:1", "x", client={"idd": "1"}),
    "Ledger.sql.parameters": lambda of: of.sql("SELECT $a", {"a": 1, "idd": 2}).to_pylist(),
    "Ledger.create_view.properties": lambda of: of.create_view(
        "db.v", "SELECT 1 AS a", properties={"lakeledger.publish": "delta"}
    ),
    "Ledger.create_namespace.properties": lambda of: of.create_namespace(
        "db", properties={"lakeledger.publish": "delta"}
    ),
    "Ledger.alter_namespace.properties": lambda of: of.alter_namespace(
        "db", properties={"lakeledger.owner": "ada"}
    ),
    "Ledger.update.changes": lambda of: of.update(NAME, BAD),
    "Ledger.merge.when_matched_update": lambda of: of.merge(
        NAME, ROWS, ON, when_matched_update=BAD
    ),
    "Ledger.merge.when_not_matched_insert": lambda of: of.merge(
        NAME, ROWS, ON, when_not_matched_insert=BAD
    ),
    "Transaction.create_table.options": within(lambda txn: txn.create_table("db.n", kinds="x")),
    "Transaction.alter_table.changes": within(lambda txn: txn.alter_table(NAME, unsett=["x"])),
    "Transaction.update.changes": within(lambda txn: txn.update(NAME, BAD)),
    "Transaction.app.info": within(lambda txn: txn.app("a", 1, info={"x": object()})),
    "Transaction.note.info": within(lambda txn: txn.note(NAME, "info of k", {"x": object()})),
    **CLAUSES,
}
PROPERTIES: Final = (
    ("lakeledger.publsh", "delta", "did you mean lakeledger.publish"),
    ("LakeLedger.Own", "1", "a name of your own"),
    ("lakeledger.publish", "detla", "delta or none"),
    ("delta.appendOnly", "yes", "true or false"),
    ("delta.isolationLevel", "Some", "isolation level"),
    ("delta.constraints.c", "idd > 0", "idd"),
)


@pytest.fixture
def of(tmp_path: Path) -> Iterator[Ledger]:
    with InMemoryLedger() as memory:
        made = memory.connect(warehouse=str(tmp_path))
        made.create_table(NAME, ROWS)
        yield made


def public() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and methods by their names."""
    for module in (ledger, spark_sink):
        for name in module.__all__:
            found = getattr(module, name)
            if not inspect.isclass(found):
                yield name, found
                continue
            for inner in dir(found):
                method = inspect.getattr_static(found, inner)
                function = getattr(method, "__func__", method)
                if not inner.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{inner}", function


def named_by_callers() -> Iterator[str]:
    """Yield the parameters that take names from their callers: mappings, and keywords."""
    for name, function in public():
        for parameter in inspect.signature(function).parameters.values():
            takes_any = parameter.kind is inspect.Parameter.VAR_KEYWORD
            if takes_any or "Mapping[" in str(parameter.annotation):
                yield f"{name}.{parameter.name}"


def test_a_new_parameter_that_takes_names_needs_a_case_here() -> None:
    assert set(named_by_callers()) == set(CASES)


def test_other_functions_take_known_keywords_only() -> None:
    loose = [
        name
        for name, function in public()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
        and f"{name}.{parameter.name}" not in CASES
    ]
    assert loose == []


@pytest.mark.parametrize("case", CASES)
def test_unknown_names_are_refused(of: Ledger, case: str) -> None:
    with pytest.raises((LedgerError, TypeError, ValueError)) as error:
        CASES[case](of)
    named = ("idd", "partition", "propertes", "kinds", "unsett", "info", "lakeledger.")
    assert any(each in str(error.value) for each in named)
    assert of.scan(NAME).to_arrow().to_pylist() == ROWS
    assert not of.tables()[1:]


@pytest.mark.parametrize(("key", "value", "said"), PROPERTIES)
def test_properties_that_mean_nothing(of: Ledger, key: str, value: str, said: str) -> None:
    """A property of the ledger that is misspelt, or has no meaning, is refused where it is set."""
    given = {key: value}
    sets: tuple[Work, ...] = (
        lambda of: of.create_table("db.n", ROWS, properties=given),
        lambda of: of.create_table("db.n", [("id", "BIGINT")], properties=given),
        lambda of: of.alter_table(NAME, properties=given),
        within(lambda txn: txn.create_table("db.n", [("id", "BIGINT")], properties=given)),
        within(lambda txn: txn.alter_table(NAME, properties=given)),
    )
    for work in sets:
        with pytest.raises((LedgerError, ValueError), match=said):
            work(of)
    assert [table.name for table in of.tables()] == [NAME]
    assert [list(table.definition.properties) for table in of.tables()] == [[]]
    of.alter_table(NAME, properties={"own": "x", "lakeledger.publish": "none"})
