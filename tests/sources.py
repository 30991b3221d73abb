"""The sources of the project, read and never imported: modules, functions, classes."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
PRODUCT: Final = ("ledger", "projections", "spark_sink")


class Module(NamedTuple):
    """A source file of the project."""

    name: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    imports: tuple[str, ...]
    is_package: bool

    @property
    def is_test(self) -> bool:
        return lies_in(self.name, "tests")


class Function(NamedTuple):
    """A function or method: where it stands, and how many lines it has."""

    place: str
    lines: int


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the project, product and tests."""
    paths = (path for top in (*PRODUCT, "tests") for path in (ROOT / top).rglob("*.py"))
    return tuple(read_module(path) for path in sorted(paths))


def read_module(path: Path) -> Module:
    place = path.relative_to(ROOT).with_suffix("")
    parts = place.parts[:-1] if place.name == "__init__" else place.parts
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, str(path))
    nodes = tuple(ast.walk(tree))
    return Module(
        ".".join(parts), text, tree, nodes, tuple(imported(nodes)), place.name == "__init__"
    )


def product() -> Iterator[Module]:
    return (module for module in modules() if not module.is_test)


def of_tests() -> Iterator[Module]:
    return (module for module in modules() if module.is_test)


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the full name of everything that is imported at these nodes."""
    for node in nodes:
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.ImportFrom():
                yield f".{node.module or ''}"
            case _:
                pass


def lies_in(name: str, *packages: str) -> bool:
    """Tell whether a module, or something named in it, lies in one of the packages."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def functions(module: Module) -> Iterator[Function]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            place = f"{module.name}.{node.name}"
            yield Function(place, node.end_lineno - node.lineno + 1)


def public_nodes(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield the public classes and functions of a module, and the public methods of the classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            inner = node.body if isinstance(node, ast.ClassDef) else []
            yield from (
                each
                for each in inner
                if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")
            )


@cache
def classes() -> Mapping[str, Sequence[ast.ClassDef]]:
    """Return the classes of the project by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def methods(owner: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (node for node in owner.body if isinstance(node, ast.FunctionDef))


def bases(owner: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield the classes of the project that a class derives from, by their names."""
    for base in owner.bases:
        name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        for found in classes().get(name, ()):
            yield found
            yield from bases(found)


def inheriting(module: Module) -> set[ast.FunctionDef]:
    """Return the methods of a module that override a method with a docstring."""
    return {
        method
        for owner in module.nodes
        if isinstance(owner, ast.ClassDef)
        for method in methods(owner)
        if any(
            each.name == method.name and ast.get_docstring(each)
            for base in bases(owner)
            for each in methods(base)
        )
    }
