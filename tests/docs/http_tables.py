"""The tables of the paths over HTTP, made from the routes and the docstrings of the reads.

`make docs` puts them into docs/http.md, and a test compares both.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Final, get_args, get_origin

from ledger.reads.remote.routes import ROUTES, Route

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "The ledger": (),
    "Txns and sessions": ("/txns", "/sessions"),
    "Tables": ("/tables",),
}
HEAD: Final = "| Path | Parameters | Answer |\n|---|---|---|"
# What follows the first statement: the page says once what is answered where nothing is found.
RAISES: Final = re.compile(r"(;? raises .*|, or None|, None .*)?\.$")


def tables() -> str:
    return "\n\n".join("\n".join(section(title)) for title in SECTIONS) + "\n"


def section(title: str) -> Iterator[str]:
    yield f"**{title}**\n\n{HEAD}"
    for route in ROUTES:
        if title == title_of(route):
            path = f"POST {route.path}" if has_only_body(route) else route.path
            yield f"| `{path}` | {parameters(route)} | {answer(route)} |".replace("|  |", "| |")


def title_of(route: Route) -> str:
    found = [title for title, starts in SECTIONS.items() if route.path.startswith(starts)]
    return found[0] if found else "The ledger"


def has_only_body(route: Route) -> bool:
    """Return whether the read of a path is for requests with a body only."""
    return route.body in route.parameters and route.parameters[route.body].annotation is not str


def parameters(route: Route) -> str:
    """Return the parameters behind the path."""
    names = [name for name in route.parameters if not route.is_in_path(name)]
    if has_only_body(route):
        names.remove(route.body)
        kind = route.parameters[route.body].annotation
        return ", ".join([*(f"`{name}`" for name in names), f"the body: `{kind.__name__}`"])
    return ", ".join(f"`{name}`" for name in names)


def answer(route: Route) -> str:
    """Return the kind of answer, and the first sentence about the read."""
    text = " ".join((inspect.getdoc(route.read) or "").partition("\n\n")[0].split())
    text = RAISES.sub("", text.removeprefix("Return "))
    kind = route.kind if not is_list(route) else get_args(route.kind)[0]
    name = str(kind.__name__)
    return f"`{f'[{name}]' if is_list(route) else name}`: {text}"


def is_list(route: Route) -> bool:
    return get_origin(route.kind) is list
