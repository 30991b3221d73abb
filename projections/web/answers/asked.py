"""The parameters of one request, checked as they are read.

A number is 0 or more and below 2**63, and a list has at most `LIMIT_MAX` rows. A parameter that the
question does not read is an error: otherwise a misspelled one would be ignored. A parameter given
twice is an error too, also if one of them is in the path.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.refusals import Reason
from ledger.errors import LimitExceededError
from ledger.reads.errors import check_condition
from ledger.reads.remote.http_form import read_json
from ledger.reads.whole_numbers import ROWS_MAX, number_of

LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = ROWS_MAX
Kind = TypeVar("Kind")

FLAGS: Final = {"true": True, "false": False}


class BadRequestError(Exception):
    """A parameter or body is not valid, such as a negative position."""


class Asked:
    """The parameters of a request, in its path and behind it, and its body.

    `max_wait_ms` is how long an answer waits for rows, once that parameter was read.
    """

    def __init__(
        self, path: Mapping[str, str], query: Iterable[tuple[str, str]], body: bytes = b""
    ) -> None:
        self._given = dict(path)
        for name, text in query:
            if name in self._given:
                raise BadRequestError(f"{name} must be given once, got two")
            self._given[name] = text
        self._body = body
        self._read: set[str] = set()
        self.max_wait_ms = 0

    @property
    def has_body(self) -> bool:
        """Return whether the request has a body."""
        return bool(self._body)

    def number(self, name: str) -> int:
        """Return a number; raises BadRequestError if it is missing."""
        found = self.number_or_none(name)
        if found is None:
            raise BadRequestError(f"{name} is missing; it must be a number")
        return found

    def number_or_none(self, name: str) -> int | None:
        """Return a number of at most 63 bits, None if it is missing."""
        text = self.text_or_none(name)
        if text is None:
            return None
        found = number_of(text)
        if found is None:
            raise BadRequestError(f"{name} is {text!r}; it is a number from 0 to 2**63 - 1")
        return found

    def limit(self) -> int:
        """Return the largest number of rows to return; raises LimitExceededError for too many."""
        found = self.limit_or_none()
        return LIMIT_DEFAULT if found is None else found

    def limit_or_none(self) -> int | None:
        """Return the largest number of rows to return, None for all; raises as `limit` does."""
        found = self.number_or_none("limit")
        if found is not None and found > LIMIT_MAX:
            raise LimitExceededError(
                f"limit must be at most {LIMIT_MAX}, got {found}; request the other rows with "
                "another question",
                reason=Reason.LIMIT_EXCEEDED.value,
            )
        return found

    def text(self, name: str) -> str:
        """Return a text; raises BadRequestError if it is missing."""
        found = self.text_or_none(name)
        if found is None:
            raise BadRequestError(f"{name} is missing")
        return found

    def text_or_none(self, name: str) -> str | None:
        """Return a text, None if it is missing; it counts as read."""
        self._read.add(name)
        return self._given.get(name)

    def digits(self, name: str) -> bytes:
        """Return bytes that are given as hex digits."""
        text = self.text(name)
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise BadRequestError(f"{name} must be hex digits, got {text!r}") from None

    def flag(self, name: str) -> bool:
        """Return the value of a flag, False if it is not given."""
        text = self.text_or_none(name) or "false"
        if text not in FLAGS:
            raise BadRequestError(f"{name} must be true or false, got {text!r}")
        return FLAGS[text]

    def check_one_of(self, *names: str) -> None:
        """Raise BadRequestError if more than one of these is given."""
        given = [name for name in names if name in self._given]
        if len(given) > 1:
            raise BadRequestError(
                f"at most one of {', '.join(given)} may be given; name one of them"
            )

    def condition(self) -> str:
        """Return the condition in `where` or in the body, "" if neither is given."""
        found = self.text_or_none("where") or ""
        if found and self._body:
            raise BadRequestError("the condition must be in where or in the body, got both")
        try:
            found = found or self._body.decode()
            check_condition(found)
        except ValueError as problem:
            raise BadRequestError(str(problem)) from None
        return found

    def txns(self) -> ValidTxnList | None:
        """Return the valid txn list in the body, None if there is no body."""
        return self.body(ValidTxnList, "valid txn list")

    def body(self, kind: type[Kind], name: str) -> Kind | None:
        """Return the content of the body, None if there is no body."""
        if not self._body:
            return None
        try:
            return read_json(kind, self._body)
        except ValueError as problem:
            raise BadRequestError(f"the body must be a {name}: {problem}") from None

    def pass_over_rest(self) -> None:
        """Let pass every parameter that this question does not read, as other programs' APIs do."""
        self._read |= self._given.keys()

    def check_all_read(self) -> None:
        """Raise BadRequestError for parameters that this question does not read."""
        if unread := sorted(self._given.keys() - self._read):
            known = ", ".join(sorted(self._read)) or "none"
            raise BadRequestError(f"unknown parameter {', '.join(unread)}; known here: {known}")
