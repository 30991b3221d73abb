"""JSON that a client sent: read alike by everybody who reads the log.

How deep the interpreter can follow a text depends on how deep it stands itself. What one reader
could read and another could not would lead them apart, so a text may be only so deep.
"""

import json
from typing import Any, Final

DEPTH_MAX: Final = 60


def read_json(text: str) -> Any:
    """Return what a text says; raises ValueError if it is no JSON or deeper than `DEPTH_MAX`."""
    try:
        found = json.loads(text)
    except RecursionError as problem:
        raise too_deep() from problem
    if depth_of(found) > DEPTH_MAX:
        raise too_deep()
    return found


def too_deep() -> ValueError:
    """Return the error for a text that not everybody could read."""
    return ValueError(f"more than {DEPTH_MAX} levels of JSON")


def depth_of(tree: Any) -> int:
    """Return how deep arrays and objects lie in each other, level by level: any depth will do."""
    depth, level = 0, [tree]
    while level := [inner for node in level for inner in within(node)]:
        depth += 1
    return depth


def within(node: Any) -> Any:
    """Return what lies directly in an array or an object."""
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()
