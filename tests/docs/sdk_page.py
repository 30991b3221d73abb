"""The page of the SDK, made from its docstrings.

`python -m tests.docs.sdk_page` prints docs/sdk.md; `make docs` writes it, and a test compares both.
Signatures are shown as they are written in the source.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import ledger
import spark_sink
from ledger.definitions.definitions import TableChanges, TableOptions
from ledger.delta.importer import import_delta
from ledger.reads.port import Reads
from ledger.reads.remote.http import HttpCache, HttpReads
from ledger.snapshot.changes import ChangeFeed, CommitChanges
from ledger.snapshot.scan import Scan
from ledger.snapshot.sql import SqlResult
from ledger.tables.vacuum_report import VacuumReport
from projections.cache.reads import MetadataCache
from tests.docs.pages import anchor

HEAD: Final = """\
# SDK reference

This page is made from the docstrings by `make docs`. A name without a module is imported from
`ledger`. The [tutorial](tutorial.md) shows how the parts work together.
"""
WIDTH: Final = 100
FIRST: Final = ("Ledger", "Transaction")
# What the package itself needs of a transaction.
INTERNAL: Final = frozenset({"ask", "check_shown", "origin", "reached", "status"})
BESIDE: Final[Mapping[str, tuple[Any, ...]]] = {
    "Options of tables": (TableOptions, TableChanges),
    "Rows": (Scan, ChangeFeed, CommitChanges, SqlResult, VacuumReport),
    "Spark": (spark_sink.cached_table, spark_sink.foreach_batch),
    "Reads": (Reads, HttpReads),
    "Metadata cache": (MetadataCache, HttpCache),
    "Delta": (import_delta,),
}
# Each has the methods of what it is a client of.
CLIENTS: Final = (HttpReads, HttpCache)
CODE: Final = re.compile(r"(`[^`]+`)")


class Member(NamedTuple):
    """A method or property of a class: its name, its source and its docstring."""

    name: str
    node: ast.FunctionDef
    doc: str
    is_property: bool


def page() -> str:
    """Return the whole page."""
    names = [*FIRST, *(name for name in ledger.__all__ if name not in FIRST)]
    found = {name: getattr(ledger, name) for name in names}
    errors = {name: each for name, each in found.items() if is_error(each)}
    functions = {name: each for name, each in found.items() if inspect.isfunction(each)}
    parts = [HEAD]
    for name, each in found.items():
        if name not in errors and name not in functions:
            parts += class_part(each)
    for each in functions.values():
        parts += function_part(each)
    for title, others in BESIDE.items():
        parts.append(f"## {title}\n")
        for each in others:
            parts.append(f"### `{each.__module__}.{each.__name__}`\n")
            parts += [*body_of(each, "####")]
    parts.append("## Errors\n")
    parts += [error_line(name, each) for name, each in sorted(errors.items())]
    headings = [part.removeprefix("## ").strip() for part in parts if part.startswith("## ")]
    parts.insert(1, f"{index(headings)}\n")
    return "\n".join(parts).rstrip() + "\n"


def index(headings: Iterable[str]) -> str:
    """Return links to the sections of a page, in as many lines as they take."""
    words = [f"[{heading}](#{anchor(heading)})" for heading in headings]
    return "\n".join(textwrap.wrap(", ".join(words), WIDTH, break_on_hyphens=False))


def is_error(each: Any) -> bool:
    """Tell whether something is a class of exceptions."""
    return inspect.isclass(each) and issubclass(each, BaseException)


def error_line(name: str, error: Any) -> str:
    """Return the line of an exception: what it is a kind of, and what it says."""
    base = error.__mro__[1].__name__
    text = f"- **`{name}`** (a `{base}`): {escaped(' '.join(doc_of(error).split()))}"
    return "\n".join(
        textwrap.wrap(text, WIDTH + 40, subsequent_indent="  ", break_long_words=False)
    )


def class_part(kind: Any) -> Iterator[str]:
    yield f"## `{kind.__name__}`\n"
    yield from body_of(kind)


def function_part(function: Any) -> Iterator[str]:
    yield f"## `{function.__name__}`\n"
    yield from body_of(function)


def body_of(each: Any, level: str = "###") -> Iterator[str]:
    """Yield the signature of a class or function, its text, and the members of a class."""
    if inspect.isfunction(each):
        yield signature(each.__name__, node_of(each))
        yield from text(doc_of(each))
        return
    fields = fields_of(each)
    if fields:
        yield code(call(each.__name__, fields))
    yield from text(doc_of(each))
    for member in () if each in CLIENTS else members(each):
        yield f"{level} `{each.__name__}.{member.name}`\n"
        if not member.is_property:
            yield signature(f".{member.name}", member.node)
        yield from text(member.doc)


def doc_of(each: Any) -> str:
    """Return a docstring; a class does not inherit one."""
    return (
        inspect.cleandoc(vars(each).get("__doc__") or "")
        if inspect.isclass(each)
        else inspect.cleandoc(each.__doc__ or "")
    )


def node_of(function: Any) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def members(kind: type) -> list[Member]:
    """Return the public methods and properties of a class, as they are written.

    Its own come first, then those of the class on which all of its other bases stand.
    """
    found: dict[str, Member] = {}
    own, *bases = kind.__mro__
    ground = [each for each in bases if all(each in base.__mro__ for base in own.__bases__)]
    for owner in [own, *sorted(bases, key=ground.__contains__, reverse=True)]:
        if not owner.__module__.startswith(("ledger", "projections", "spark_sink")):
            continue
        for name, each in vars(owner).items():
            inner = getattr(each, "fget", None) or getattr(each, "__func__", each)
            inner = inspect.unwrap(inner) if callable(inner) else inner
            if name.startswith("_") or name in INTERNAL or name in found:
                continue
            if inspect.isfunction(inner) and inner.__doc__:
                doc = inspect.cleandoc(inner.__doc__)
                found[name] = Member(name, node_of(inner), doc, isinstance(each, property))
    return list(found.values())


def fields_of(kind: type) -> list[str]:
    """Return the fields of a tuple, dataclass or dict with fixed keys, as they are written."""
    node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(node, ast.ClassDef)
    has_fields = hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__")
    if not has_fields and not hasattr(kind, "__total__"):
        return []
    return [
        ast.unparse(each)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_")
    ]


def signature(name: str, node: ast.FunctionDef) -> str:
    """Return how a function is called, as it is written."""
    given = node.args
    parts = [ast.unparse(each) for each in given.posonlyargs]
    plain = [*given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    parts += [
        argument(each, default)
        for each, default in zip(plain, [*defaults, *given.defaults], strict=True)
        if each.arg not in {"self", "cls"}
    ]
    if given.vararg:
        parts.append(f"*{ast.unparse(given.vararg)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [
        argument(each, default)
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg:
        parts.append(f"**{ast.unparse(given.kwarg)}")
    answer = "" if node.returns is None else f" -> {ast.unparse(node.returns).strip(chr(39))}"
    return code(call(name, parts, answer))


def argument(each: ast.arg, default: ast.expr | None) -> str:
    text = each.arg
    if each.annotation is not None:
        text += f": {ast.unparse(each.annotation).strip(chr(39))}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def call(name: str, parts: Iterable[str], answer: str = "") -> str:
    """Return a call in one line, or with an argument a line."""
    given = list(parts)
    line = f"{name}({', '.join(given)}){answer}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in given), f"){answer}"])


def code(text: str) -> str:
    """Return a block that shows code that is not run."""
    return f"```text\n{text}\n```\n"


def text(doc: str) -> Iterator[str]:
    """Yield a docstring as Markdown, a paragraph each."""
    for paragraph in doc.split("\n\n"):
        head, _, rest = paragraph.partition("\n")
        if head.endswith(":") and rest.startswith("    "):
            yield f"{escaped(head)}\n"
            items = re.split(r"\n(?=\S)", textwrap.dedent(rest))
            yield "\n".join(f"- {escaped(' '.join(item.split()))}" for item in items) + "\n"
        elif paragraph.strip():
            yield escaped(paragraph) + "\n"


def escaped(paragraph: str) -> str:
    """Return a text in which nothing but code in backticks is markup."""
    parts = CODE.split(paragraph)
    return "".join(
        part if part.startswith("`") else re.sub(r"([<>*\[\]])", r"\\\1", part) for part in parts
    )


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
