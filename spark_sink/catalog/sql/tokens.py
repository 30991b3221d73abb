"""The tokens of a statement, read from its first to its last.

Spark's lexer made them, so comments and quotes are what Spark takes for such.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

WORD: Final = "word"
NAME: Final = "name"
"""A name in backquotes."""

STRING: Final = "string"
NUMBER: Final = "number"
END: Final = ";"


class SqlToken(NamedTuple):
    """A part of a statement: what it is, its text without quotes, and where it stands."""

    kind: str
    text: str
    start: int
    stop: int

    def is_word(self, word: str) -> bool:
        """Return whether it is this word, in letters of any case."""
        return self.kind in (WORD, "mark") and self.text.upper() == word


class FormError(ValueError):
    """A statement has another form than one that begins so must have; its text says what stands."""


class Tokens:
    """The tokens of one statement that are still to be read."""

    def __init__(self, text: str, tokens: Sequence[Mapping[str, Any]]) -> None:
        self._text = text
        self._all = [SqlToken(t["kind"], t["text"], t["start"], t["stop"]) for t in tokens]
        while self._all and self._all[-1].is_word(END):
            self._all.pop()
        self._at = 0

    def takes(self, *words: str) -> bool:
        """Read these words if they stand next, and return whether they do."""
        following = self._all[self._at : self._at + len(words)]
        if len(following) < len(words):
            return False
        if not all(token.is_word(word) for token, word in zip(following, words, strict=True)):
            return False
        self._at += len(words)
        return True

    def needs(self, *words: str) -> None:
        """Read these words; raises FormError if others stand next."""
        if not self.takes(*words):
            raise self.error(" ".join(words))

    def is_at_end(self) -> bool:
        """Return whether everything is read."""
        return self._at == len(self._all)

    def ends(self) -> None:
        """Raise FormError if something is left."""
        if not self.is_at_end():
            raise self.error("the end")

    @property
    def start(self) -> int:
        """Where the next token begins in the statement."""
        return self._all[self._at].start

    @property
    def stop(self) -> int:
        """Where the last token that was read ends."""
        return self._all[self._at - 1].stop

    def is_at_number(self) -> bool:
        """Return whether a number without quotes stands next."""
        return not self.is_at_end() and self._all[self._at].kind == NUMBER

    def skip(self) -> None:
        """Pass over one token."""
        self._at += 1

    def name(self) -> list[str]:
        """Read a name, and return its parts."""
        parts = [self._one("a name", NAME, WORD).text]
        while self.takes("."):
            parts.append(self._one("a name", NAME, WORD, NUMBER).text)
        return parts

    def string(self) -> str:
        """Read a text in quotes."""
        return self._one("a text in quotes", STRING).text

    def number(self) -> str:
        """Read a number, which may stand in quotes."""
        token = self._one("a number", NUMBER, STRING)
        number = token.text.strip().rstrip("lL")
        if not number.replace(".", "", 1).isdecimal():
            self._at -= 1
            raise self.error("a number")
        return number

    def until(self, *words: str, what: str = "a condition") -> str:
        """Read up to a word outside of parentheses, or to the end, and return that text."""
        depth, first = 0, self._at
        while not self.is_at_end():
            token = self._all[self._at]
            if depth == 0 and any(token.is_word(word) for word in words):
                break
            depth += token.is_word("(") - token.is_word(")")
            self._at += 1
        if first == self._at:
            raise self.error(what)
        return self._text[self._all[first].start : self._all[self._at - 1].stop]

    def before_last(self, word: str) -> str:
        """Read up to the last token, which must be this word, and return the text before it."""
        last = self._all[-1]
        if not last.is_word(word) or self._at >= len(self._all) - 1:
            self._at = len(self._all)
            raise self.error(word)
        text = self._text[self._all[self._at].start : last.start]
        self._at = len(self._all)
        return text

    def names(self) -> list[str]:
        """Read a list of columns, with parentheses around it or without."""
        is_closed = self.takes("(")
        found = [".".join(self.name())]
        while self.takes(","):
            found.append(".".join(self.name()))
        if is_closed:
            self.needs(")")
        return found

    def error(self, wanted: str) -> FormError:
        """Return the error of another token where one was wanted."""
        if self.is_at_end():
            return FormError(f"{wanted} is missing at its end")
        return FormError(f"{wanted} must stand where {self._all[self._at].text!r} is")

    def _one(self, wanted: str, *kinds: str) -> SqlToken:
        if self.is_at_end() or self._all[self._at].kind not in kinds:
            raise self.error(wanted)
        self._at += 1
        return self._all[self._at - 1]
