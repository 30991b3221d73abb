"""How large things may grow, and what names and tests must be. Sources are read, never imported."""

import ast
import re
from collections import Counter
from typing import Final

import pytest

from tests.docstrings import is_told_by_its_name, repeating
from tests.sources import (
    Module,
    functions,
    inheriting,
    lies_in,
    modules,
    of_tests,
    product,
    public_nodes,
)

MODULE_LINES_MAX: Final = 400
# A module below the floor is an exception; there may be so many.
MODULE_LINES_FLOOR: Final = 40
BELOW_FLOOR_MAX: Final = 20
# The modules that lie loose in a folder, beside the packages in it: in any folder, and in a few.
FOLDER_MAX: Final = 16
LOOSE_MAX: Final = {"ledger": 9, "ledger/core": 6, "projections": 3, "spark_sink": 11}
FUNCTION_LINES_MAX: Final = 60
BANNED_NAMES: Final = {"manager", "helper", "util", "handler", "service", "base", "common"}

# The packages whose docstrings add to the names.
TELLING: Final = (
    *("ledger.core", "ledger.log", "ledger.reads", "ledger.machine", "projections"),
    *("ledger.recovery", "ledger.session", "ledger.delta", "ledger.definitions"),
    "tests",
)

DOUBLES: Final = {"mock", "unittest.mock", "pytest_mock"}
# A broker works on after its answer and does not say when it is done; the demo waits for processes.
POLLS: Final = {"tests.demo.report", "tests.log.kafka_bench"}
BARE_IGNORE: Final = re.compile(r"#\s*type:\s*ignore(?!\[)")


def words_of(name: str) -> set[str]:
    """Return the words of a module or class name, in lower case and singular."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {word.lower().removesuffix("s") for word in words} | {word.lower() for word in words}


def test_no_module_has_more_lines_than_a_reader_keeps_in_mind() -> None:
    sizes = {module.name: len(module.text.splitlines()) for module in modules()}
    assert {name: lines for name, lines in sizes.items() if lines > MODULE_LINES_MAX} == {}


def test_few_modules_are_tiny() -> None:
    tiny = [
        module.name
        for module in product()
        if not module.is_package and len(module.text.splitlines()) < MODULE_LINES_FLOOR
    ]
    assert len(tiny) <= BELOW_FLOOR_MAX, tiny


def test_few_modules_lie_loose_in_a_folder() -> None:
    loose = Counter(
        module.name.rpartition(".")[0].replace(".", "/")
        for module in product()
        if not module.is_package and not module.name.endswith("__main__")
    )
    wide = {name: n for name, n in loose.items() if n > LOOSE_MAX.get(name, FOLDER_MAX)}
    assert wide == {}


def test_no_two_classes_of_the_product_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for module in product():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module.name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_function_is_longer_than_a_page_in_product_and_tests() -> None:
    found = [function for module in modules() for function in functions(module)]
    assert [each for each in found if each.lines > FUNCTION_LINES_MAX] == []


def test_no_module_package_or_class_has_a_name_that_says_nothing_of_what_it_is() -> None:
    classes = (
        f"{module.name}.{node.name}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    )
    names = {*(module.name for module in modules()), *classes}
    assert [name for name in sorted(names) if words_of(name) & BANNED_NAMES] == []


def test_what_is_public_says_what_it_is() -> None:
    """Every module and everything public has a docstring; overrides inherit it.

    A function of tests has one where it says more than the name: a test, whose name is no sentence.
    """
    wrong = [
        f"{module.name}:{getattr(node, 'lineno', 1)}"
        for module in modules()
        for node in {module.tree, *public_nodes(module.tree)} - inheriting(module)
        if not ast.get_docstring(node) and not (module.is_test and is_told_by_its_name(node))
    ]
    assert wrong == []


def test_a_docstring_adds_to_the_name() -> None:
    """In these packages each has a word that name, arguments and types do not show."""
    wrong = [
        place
        for module in modules()
        if lies_in(module.name, *TELLING)
        for place in repeating(module)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "repeats"),
    [
        ('def name_of(error: Exception) -> str:\n    """Return the name of an error."""', True),
        ('def name_of(error: Exception) -> str:\n    """Return its class, as text."""', False),
        ('def test_probes_stay_open() -> None:\n    """The probes stay open."""', True),
        ('class Lag:\n    """The lag of a reader."""', False),
    ],
)
def test_a_docstring_that_adds_nothing_is_seen(source: str, *, repeats: bool) -> None:
    tree = ast.parse(source)
    module = Module("made", source, tree, tuple(ast.walk(tree)), (), is_package=False)
    assert bool([*repeating(module)]) is repeats


def test_types_are_ignored_by_name() -> None:
    wrong = [module.name for module in modules() if BARE_IGNORE.search(module.text)]
    assert wrong == []


def test_nothing_is_faked_behind_its_back() -> None:
    """Tests use no mocks and patch nothing: what replaces a part is given to its constructor."""
    doubles = [
        f"{module.name} imports {name}"
        for module in modules()
        for name in module.imports
        if lies_in(name, *DOUBLES)
    ]
    patches = [
        f"{module.name}.{node.name}"
        for module in of_tests()
        for node in module.nodes
        if isinstance(node, ast.FunctionDef)
        and {"monkeypatch", "mocker"} & {argument.arg for argument in node.args.args}
    ]
    assert doubles + patches == []


def test_tests_wait_for_a_condition_never_for_a_time_to_pass() -> None:
    wrong = [
        f"{module.name}:{node.lineno}"
        for module in of_tests()
        if module.name not in POLLS
        for node in module.nodes
        if isinstance(node, ast.Attribute | ast.Name)
        and "sleep" in {getattr(node, "attr", ""), getattr(node, "id", "")}
    ]
    assert wrong == []
