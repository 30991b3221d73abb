"""The text of a Spark SQL type as a tree of its parts, and names as such a text writes them.

Any word may name an atomic type, and what follows it otherwise than a known type has it is passed
over. So the fields around it are found. The tree shows whether a type is known.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ledger.core.predicates.types import BY_NAME, WITH_LENGTH, Kind

ELEMENT: Final = "element"
KEY: Final = "key"
VALUE: Final = "value"
DEPTH_MAX: Final = 100
PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WITH_NUMBERS: Final = WITH_LENGTH | {
    name for name, row in BY_NAME.items() if row.kind is Kind.DECIMAL
}
# What may follow a type within another one.
ENDS: Final = frozenset({",", ">", "not", "comment"})
WORD: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\w+|[<>(),:])", re.DOTALL)


class TypeNode(NamedTuple):
    """A type: its word in lower case, the numbers in brackets, and the types within it.

    `rest` is the first word of what was passed over, "" for none.
    """

    word: str
    numbers: tuple[int, ...] = ()
    fields: tuple["TypeField", ...] = ()
    rest: str = ""


class TypeField(NamedTuple):
    """A type within another: a field of a struct, an element, a key or a value."""

    name: str
    type: TypeNode
    nullable: bool = True


def read_type(text: str) -> TypeNode:
    """Return the type that a text names; raises ValueError for a text of another form."""
    reader = TypeReader(text)
    node = reader.type()
    if reader.next:
        raise ValueError(f"{reader.next!r} follows a whole type")
    return node


def quoted(name: str) -> str:
    """Return the name of a field as a type has it."""
    return name if PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text; raises ValueError for what is no word."""
    at, text = 0, text.rstrip()
    while at < len(text):
        found = WORD.match(text, at)
        if found is None:
            raise ValueError(f"it has {text[at:].strip()[:20]!r}")
        yield found[1]
        at = found.end()


class TypeReader:
    """The words of a text, taken from left to right."""

    def __init__(self, text: str) -> None:
        self._words = list(words_of(text))
        self._at = 0

    @property
    def next(self) -> str:
        """The next word, "" at the end."""
        return self._words[self._at] if self._at < len(self._words) else ""

    def take(self, *wanted: str) -> str:
        """Return the next word, which must be one of the wanted ones if some are given."""
        found = self.next
        if not found or (wanted and found.lower() not in wanted):
            place = repr(found) if found else "its end"
            raise ValueError(f"{' or '.join(wanted) or 'a word'} must stand before {place}")
        self._at += 1
        return found

    def take_if(self, wanted: str) -> bool:
        """Take the next word if it is the wanted one."""
        is_wanted = self.next.lower() == wanted
        self._at += is_wanted
        return is_wanted

    def type(self, depth: int = 0) -> TypeNode:
        """Take a type."""
        if depth > DEPTH_MAX:
            raise ValueError(f"a type must have at most {DEPTH_MAX} levels")
        word = self.take().lower()
        if word == "array":
            return TypeNode(word, fields=self._parts((ELEMENT,), depth))
        if word == "map":
            return TypeNode(word, fields=self._parts((KEY, VALUE), depth))
        if word == "struct":
            return TypeNode(word, fields=self._struct(depth))
        numbers = self._numbers() if word in WITH_NUMBERS else ()
        if word == "string" and self.take_if("collate"):
            self.take()
        return TypeNode(word, numbers, rest=self._pass_over())

    def _parts(self, names: tuple[str, ...], depth: int) -> tuple[TypeField, ...]:
        fields = []
        for at, name in enumerate(names):
            self.take("," if at else "<")
            fields.append(TypeField(name, self.type(depth + 1)))
        self.take(">")
        return tuple(fields)

    def _struct(self, depth: int) -> tuple[TypeField, ...]:
        fields: list[TypeField] = []
        self.take("<")
        while not self.take_if(">"):
            if fields:
                self.take(",")
            fields.append(self._field(depth))
        return tuple(fields)

    def _field(self, depth: int) -> TypeField:
        """Take a field of a struct; its comment does not count."""
        word = self.take()
        name = word[1:-1].replace("``", "`") if word.startswith("`") else word
        self.take_if(":")
        node = self.type(depth + 1)
        is_nullable = not self.take_if("not")
        if not is_nullable:
            self.take("null")
        if self.take_if("comment"):
            self.take()
        return TypeField(name, node, is_nullable)

    def _numbers(self) -> tuple[int, ...]:
        """Take whole numbers in brackets, if they follow."""
        found: list[int] = []
        if not self.take_if("("):
            return ()
        while not found or self.take(",", ")") == ",":
            word = self.take()
            if not (word.isascii() and word.isdigit()):
                raise ValueError(f"{word!r} must be a whole number")
            found.append(int(word))
        return tuple(found)

    def _pass_over(self) -> str:
        """Take what follows an atomic type until it ends, and return the first word of it."""
        first, depth = self._at, 0
        while self.next and (depth or self.next.lower() not in ENDS):
            depth += {"(": 1, ")": -1}.get(self.next, 0)
            self._at += 1
        return self._words[first] if self._at > first else ""
