"""The page of all messages of errors, made from the sources: the one place that pins their wording.

A message stands under the class of its error, in the order of modules. A constant in it has its
value. Any other value is shown by its expression in braces; where that is long, by the one variable
that it is made of, or as `{...}` if there are several.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from textwrap import wrap
from typing import Final

from tests.sources import Module, product

WIDTH: Final = 150
NAME_CHARS_MAX: Final = 24
WORDS_MIN: Final = 3
OWN_ROOT: Final = "LedgerError"
OF_PYTHON: Final = ("TypeError", "ValueError")
HEAD: Final = """# Messages

Every message of the errors of LakeLedger, by the class of the error. A value that depends on the
case stands in braces. The page is made from the code by `make docs`, so a change of wording shows
here; tests pin reasons and values instead. [SDK](sdk.md) describes the classes.
"""


def page() -> str:
    found: dict[str, dict[str, None]] = {}
    for kind, text in messages():
        found.setdefault(kind, {})[text] = None
    return "\n".join([HEAD, *(section(kind, [*found[kind]]) for kind in sorted(found))])


def section(kind: str, texts: Sequence[str]) -> str:
    """Return the messages of one class, an item each."""
    items = ("\n".join(wrap(f"- {text}", WIDTH, subsequent_indent="  ")) for text in texts)
    return "\n".join([f"## {kind}\n", *items, ""])


def messages() -> Iterator[tuple[str, str]]:
    """Yield class and message of each error that the product makes."""
    sources = list(product())
    kinds = error_classes(sources)
    for module in sources:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and node.name in kinds:
                yield from ((node.name, text) for text in own_messages(module, node))
            if isinstance(node, ast.Call):
                kind = name_of(node.func)
                if kind in kinds and node.args and (text := text_of(module, node.args[0])):
                    yield kind, text


def error_classes(sources: Sequence[Module]) -> frozenset[str]:
    """Return the names of all errors, LakeLedger's own and two of Python."""
    bases: Mapping[str, list[str]] = {
        node.name: [name_of(base) for base in node.bases]
        for module in sources
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    }

    def is_error(name: str) -> bool:
        return name == OWN_ROOT or any(map(is_error, bases.get(name, ())))

    return frozenset({*filter(is_error, bases), *OF_PYTHON})


def own_messages(module: Module, node: ast.ClassDef) -> Iterator[str]:
    """Yield the messages that the constructor of an error class makes itself."""
    for call in ast.walk(node):
        is_super = isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__"
        if (
            is_super
            and isinstance(call, ast.Call)
            and call.args
            and (said := text_of(module, call.args[0]))
        ):
            yield said


def name_of(node: ast.expr) -> str:
    """Return the last name of an expression, "" for another expression."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def text_of(module: Module, node: ast.expr) -> str:
    """Return a message with its values in braces, "" unless it is a text of some words."""
    match node:
        case ast.Constant(value=str() as said):
            text = said
        case ast.JoinedStr(values=values):
            text = "".join(piece_of(module, value) for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            text = text_of(module, left) + text_of(module, right)
        case _:
            return ""
    return text if len(text.split()) >= WORDS_MIN else ""


def piece_of(module: Module, node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.FormattedValue)
    if is_constant(node.value):
        piece = ast.Expression(ast.JoinedStr([node]))
        code = compile(ast.fix_missing_locations(piece), module.name, "eval")
        return str(eval(code, vars(import_module(module.name))))  # noqa: S307 - our own source
    said = ast.unparse(node.value)
    if len(said) <= NAME_CHARS_MAX and "'" not in said:
        return f"{{{said}}}"
    names = variables_in(node.value)
    return f"{{{names.pop()}}}" if len(names) == 1 else "{...}"


def variables_in(node: ast.expr) -> set[str]:
    """Return the variables that an expression is made of, without what it calls or binds itself."""
    found = {each for each in ast.walk(node) if isinstance(each, ast.Name)}
    called = {each.func for each in ast.walk(node) if isinstance(each, ast.Call)}
    bound = {each.id for each in found if isinstance(each.ctx, ast.Store)}
    return {each.id for each in found - called} - bound - set(dir(builtins))


def is_constant(node: ast.expr) -> bool:
    """Return whether an expression is made of constants of a module alone."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    called = {call.id for call in calls if isinstance(call, ast.Name)}
    names = variables_in(node)
    # What a constant has as an attribute may differ in each process.
    owners = (each.value for each in ast.walk(node) if isinstance(each, ast.Attribute))
    is_plain = called <= set(dir(builtins)) and not any(
        isinstance(owner, ast.Name) for owner in owners
    )
    return is_plain and bool(names) and all(map(str.isupper, names))
