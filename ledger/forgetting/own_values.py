"""The values of rows that are forgotten, and whether a record, a row or a text has one of them.

A value counts if no other row of the files that were read has it: a country tells of no person.
Each value has the forms in which statistics, partitions and conditions spell it. Numbers are
compared by their column. In free text a value is a word, and only a longer one counts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow.compute as pc

from ledger.arrow.types import Family, family_of
from ledger.core.conflicts.footprints import path_hash
from ledger.core.predicates.tree import (
    ColumnRef,
    Compare,
    In,
    Literal,
    Node,
    of_wire,
    parts_of,
    walked,
)
from ledger.files.statistics import FORMS, BoundForm, bound_json, leaves_of

SPELLED: Final = frozenset({"minValues", "maxValues", "partitionValues"})
"""The names below which JSON has values by column."""

EQUAL: Final = frozenset({"=", "<=>"})
TEXT_CHARS_MIN: Final = 4
DIGITS_MIN: Final = 6
WORD: Final = re.compile(r"\w+")


class OwnValues:
    """The values that only the forgotten rows of a table have, by the names of columns.

    Attributes:
        files: the hashes of paths of files whose statistics are known to have one, although the
            files are gone.
    """

    def __init__(self, partition_columns: Sequence[str] = (), location: str = "") -> None:
        self.files: set[bytes] = set()
        self._location = location
        self._partition_columns = tuple(partition_columns)
        self._forms: dict[str, set[str]] = {}
        self._shared: dict[str, set[str]] = {}
        self._words: dict[str, set[str]] = {}
        self._of_word: dict[str, list[tuple[int, str]]] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._forms.values()))

    def take(self, rows: Any, hit: Any) -> None:
        """Take the values of the rows of a file that are `hit`, and of the others."""
        own, others = rows.filter(hit), rows.filter(pc.invert(hit))
        for leaf in leaves_of(rows.schema):
            form = FORMS.get(family_of(leaf.kind))
            if form is None:
                continue
            values = pc.unique(values_at(own, leaf.path).drop_null())
            is_shared = pc.is_in(values, value_set=pc.unique(values_at(others, leaf.path)))
            name, family = leaf.path[-1], family_of(leaf.kind)
            self._note(name, family, form, values.filter(pc.invert(is_shared)))
            shared = self._shared.setdefault(name, set())
            for value in values.filter(is_shared):
                shared |= forms_of(value, form)
        self._settle()

    def take_condition(self, where: Node) -> None:
        """Take the constants that a condition says columns are equal to."""
        for name, text in compared(where, is_equal=True):
            self._forms.setdefault(name, set()).add(text)
            self._words.setdefault(name, set()).add(text)
        self._settle()

    def _note(self, name: str, family: Family, form: BoundForm, values: Any) -> None:
        found = set[str]().union(*(forms_of(value, form) for value in values))
        self._forms.setdefault(name, set()).update(found)
        if family in {Family.STRING, Family.WHOLE}:
            self._words.setdefault(name, set()).update(found)

    def _settle(self) -> None:
        for name, shared in self._shared.items():
            self._forms.get(name, set()).difference_update(shared)
            self._words.get(name, set()).difference_update(shared)
        self._of_word = None

    def in_file(self, path: str, stats: str) -> bool:
        """Return whether what is said of a file has one, or the file is known for it."""
        name = path.removeprefix(self._location).lstrip("/") if self._location else path
        is_known = not self.files.isdisjoint({path_hash(name), path_hash(unquote(name))})
        return (bool(stats) and is_known) or self.in_text(path) or self.in_json(stats)

    def in_values(self, values: Sequence[str | None], names: Sequence[str] = ()) -> bool:
        """Return whether texts of values of some columns, by default a partition, have one."""
        names = names or self._partition_columns
        if len(names) != len(values):
            return any(text is not None and self.in_text(text) for text in values)
        return any(
            text is not None and (text in self._forms.get(name, ()) or self.in_text(text))
            for name, text in zip(names, values, strict=True)
        )

    def in_condition(self, wire: str) -> bool:
        """Return whether a condition of the log compares a column with one."""
        node = of_wire(wire)
        return any(
            text in self._forms.get(name, ()) or self.in_text(text) for name, text in compared(node)
        ) or any(
            self.in_text(each.text or "") for each in walked(node) if isinstance(each, Literal)
        )

    def in_json(  # noqa: PLR0911 - a case for each form
        self, tree: Any, column: str = "", *, is_value: bool = False
    ) -> bool:
        """Return whether JSON has one: below the names of `SPELLED` by column, else as a text."""
        match tree:
            case bool() | None:
                return False
            case {"path": str() as path, "stats": str() as stats} if self.in_file(path, stats):
                return True
            case dict():
                return any(
                    self.in_json(each, name, is_value=is_value or name in SPELLED)
                    for name, each in tree.items()
                )
            case (str() as name, each) if is_value and isinstance(tree, tuple):
                return self.in_json(each, name, is_value=True)
            case list() | tuple():
                is_partition = all(isinstance(each, str | None) for each in tree)
                return (is_partition and self.in_values(tree)) or any(
                    self.in_json(each, column, is_value=is_value) for each in tree
                )
            case str():
                return self._in_string(tree, column, is_value=is_value)
            case _:
                return is_value and self._is_own(str(tree), column)

    def in_text(self, text: str) -> bool:
        """Return whether a text has one as a word; escapes of a path count as their signs."""
        if "%" in text:
            text = f"{text}\n{unquote(text)}"
        known = self._of_word = self._of_word or by_word(self._words)
        for word in WORD.finditer(text):
            for before, form in known.get(word[0], ()):
                start = word.start() - before
                end = start + len(form)
                if start >= 0 and text.startswith(form, start) and is_end(text, end):
                    return True
        return False

    def in_raw(self, folder: Path) -> bool:
        """Return whether the bytes of a file in a folder have a longer one, as they stand there."""
        known = by_word(self._words)
        forms = [form.encode() for each in known.values() for _, form in each]
        for path in folder.rglob("*") if forms else ():
            # RocksDB may delete a file meanwhile.
            with suppress(OSError):
                data = path.read_bytes() if path.is_file() else b""
                if any(form in data for form in forms):
                    return True
        return False

    def _in_string(self, text: str, column: str, *, is_value: bool) -> bool:
        if is_value and self._is_own(text, column):
            return True
        if text[:1] in ("{", "["):
            try:
                tree = json.loads(text)
            except (ValueError, RecursionError):
                return self.in_text(text)
            return self.in_json(tree) or (text[0] == "[" and self.in_condition(text))
        return self.in_text(text)

    def _is_own(self, text: str, column: str) -> bool:
        """Return whether a value is one; a column that is not known may be any."""
        if column in self._forms:
            return text in self._forms[column]
        return any(text in forms for forms in self._forms.values())


def compared(node: Node, *, is_equal: bool = False) -> list[tuple[str, str]]:
    """Return the constants in a condition, each with a column that it is compared with.

    With `is_equal` a column must be equal to it, or to one of a list.
    """
    found = []
    for each in walked(node):
        is_one = isinstance(each, In) or (isinstance(each, Compare) and each.symbol in EQUAL)
        parts = parts_of(each) if is_one or not is_equal else ()
        names = [part.name for part in parts if isinstance(part, ColumnRef)]
        texts = [part.text for part in parts if isinstance(part, Literal)]
        found += [(name, text) for name in names for text in texts if text is not None]
    return found


def values_at(table: Any, path: Sequence[str]) -> Any:
    """Return the values of a column, or of a field within it."""
    values = table.column(path[0])
    return (pc.struct_field(values, list(path[1:])) if path[1:] else values).combine_chunks()


def forms_of(value: Any, form: BoundForm) -> set[str]:
    """Return the texts of a value: as it is, and as a lower and an upper bound."""
    plain = value.as_py()
    number = plain if form.number is None else value.cast(form.number).as_py()
    bounds = (bound_json(spell, number) for spell in (form.low, form.high))
    return {str(plain), *(str(json.loads(bound)) for bound in bounds if bound is not None)}


def by_word(forms: Mapping[str, set[str]]) -> dict[str, list[tuple[int, str]]]:
    """Return texts by their first words, with the number of signs before the word."""
    found: dict[str, list[tuple[int, str]]] = {}
    for text in set[str]().union(*forms.values()):
        least = DIGITS_MIN if text.lstrip("-").isdigit() else TEXT_CHARS_MIN
        for form in {text, json.dumps(text)[1:-1]} if len(text) >= least else ():
            if (word := WORD.search(form)) is not None:
                found.setdefault(word[0], []).append((word.start(), form))
    return found


def is_end(text: str, end: int) -> bool:
    """Return whether a word that is not longer ends at a place of a text."""
    return WORD.match(text[end - 1 : end]) is None or WORD.match(text[end : end + 1]) is None
