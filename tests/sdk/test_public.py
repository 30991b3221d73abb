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
def test_each_public_name_is_there_and_says_what_it_is(name: str) -> None:
    assert getattr(ledger, name).__doc__
    assert name in dir(ledger)


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_that_may_be_raised_can_be_caught_by_a_public_name(name: str) -> None:
    assert name in ledger.__all__
    assert getattr(ledger, name) is getattr(errors, name)


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_stands_in_the_tree_that_the_module_draws(name: str) -> None:
    assert name in (errors.__doc__ or "")


def test_a_name_that_is_not_there_is_an_error_like_in_any_module() -> None:
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
