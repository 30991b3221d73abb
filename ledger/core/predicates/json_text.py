"""JSON from a client, with the same result in every reader of the log.

The nesting that Python's parser can follow depends on the depth of its own stack. Readers that
accept different texts would reach different states, so the depth of a text is bounded.
"""

import json
from typing import Any, Final

DEPTH_MAX: Final = 60


def read_json(text: str) -> Any:
    """Return the value of a text; raises ValueError if it is no JSON or exceeds `DEPTH_MAX`."""
    try:
        found = json.loads(text)
    except RecursionError as problem:
        raise too_deep() from problem
    if depth_of(found) > DEPTH_MAX:
        raise too_deep()
    return found


def too_deep() -> ValueError:
    """Return the error for a text that some readers could not parse."""
    return ValueError(f"JSON must have {DEPTH_MAX} levels at most, got more")


def depth_of(tree: Any) -> int:
    """Return how deep arrays and objects are nested, without recursion."""
    depth, level = 0, [tree]
    while level := [
        inner
        for node in level
        if isinstance(node, list | dict)
        for inner in (node.values() if isinstance(node, dict) else node)
    ]:
        depth += 1
    return depth
