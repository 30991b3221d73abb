"""What the package names for programs, and that naming it costs nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ledger
from ledger import errors

ERRORS = [
    name
    for name, each in vars(errors).items()
    if isinstance(each, type) and issubclass(each, errors.LedgerError)
]


def test_type_checkers_see_what_is_loaded() -> None:
    """The imports for type checkers name each public name once, from the module that has it."""
    (block, *_) = (
        node
        for node in ast.parse(Path(ledger.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    )
    imports = [
        (name.name, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    names = set(ledger.__all__) - set(ERRORS)
    assert len(imports) == len(names)
    assert dict(imports) == {name: getattr(ledger, name).__module__ for name in names}


@pytest.mark.parametrize("name", ledger.__all__)
def test_named(name: str) -> None:
    """Each public name is there, and says what it is."""
    assert getattr(ledger, name).__doc__
    assert name in dir(ledger)


@pytest.mark.parametrize("name", ERRORS)
def test_every_error(name: str) -> None:
    """Every error that may be raised can be caught by a public name."""
    assert name in ledger.__all__
    assert getattr(ledger, name) is getattr(errors, name)


@pytest.mark.parametrize("name", ERRORS)
def test_drawn(name: str) -> None:
    """Every error stands in the tree that the module draws."""
    assert name in (errors.__doc__ or "")


def test_no_such_name() -> None:
    """A name that is not there is an error like in any module."""
    with pytest.raises(AttributeError, match="no attribute 'Lake'"):
        _ = ledger.Lake


@pytest.mark.parametrize(
    ("statement", "unloaded"),
    [
        ("import ledger", "ledger.client fastavro pyroaring"),
        (
            "from ledger import Ledger",
            "confluent_kafka structlog rocksdict ledger.sequencer.sequencer",
        ),
        ("import ledger.core.decide.decide", "fastavro confluent_kafka"),
    ],
)
def test_light(statement: str, unloaded: str) -> None:
    """A program loads no more than it uses: no Kafka client before it connects."""
    script = f"{statement}\nimport sys\nprint(set(sys.modules) & set({unloaded.split()}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "set()"
