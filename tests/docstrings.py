"""What a docstring adds to the name and the arguments that stand above it."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.sources import Module

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
ENDINGS: Final = ("ies", "es", "s", "ing", "ed", "d", "e")
STEM_CHARS_MIN: Final = 3
SENTENCE_WORDS_MIN: Final = 3
IDLE: Final = frozenset(
    WORD.findall(
        """
        a all also an and any anything are as at be been both but by can could did do does each
        either every for from given had has have however if in is it its just may must no none
        not nothing of on one only or other out own return returns so still such test than that
        the their them then there these they this those to too two up very was way were what
        when where whether which while with without yield yields
        """
    )
)
"""Words that say nothing of a subject."""


def repeating(module: Module) -> Iterator[str]:
    """Yield the functions and classes of a module whose docstring only repeats what they show."""
    for node in module.nodes:
        if isinstance(node, Documented):
            text = ast.get_docstring(node)
            if text and not stems_of(text) - IDLE_STEMS - shown_by(node):
                yield f"{module.name}.{node.name}:{node.lineno}"


def is_told_by_its_name(node: ast.AST) -> bool:
    """Tell whether a node is a function that needs no docstring; a test needs a sentence."""
    return isinstance(node, ast.FunctionDef) and (
        not node.name.startswith("test_") or node.name.count("_") >= SENTENCE_WORDS_MIN
    )


def shown_by(node: Documented) -> set[str]:
    """Return the stems in the name, the arguments and the types of a definition."""
    shown = [node.name]
    if not isinstance(node, ast.ClassDef):
        shown += [ast.unparse(node.args), ast.unparse(node.returns) if node.returns else ""]
    return stems_of(" ".join(shown))


def stems_of(text: str) -> set[str]:
    """Return the words of a text without their endings."""
    return {stem_of(word.lower()) for word in WORD.findall(text)}


def stem_of(word: str) -> str:
    """Return a word without its ending and without a doubled last letter."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_CHARS_MIN:
            word = word.removesuffix(ending)
            break
    is_doubled = len(word) > STEM_CHARS_MIN and word[-1] == word[-2]
    return word[:-1] if is_doubled else word


IDLE_STEMS: Final = frozenset(map(stem_of, IDLE))
