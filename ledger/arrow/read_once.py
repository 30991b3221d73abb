"""What a caller gives that can be read once: generators, readers, cursors, and relations over them.

`Ledger.run` calls its function again with the same object, which is then empty. So the attempts of
one `run` share a `ReadOnce`: it keeps what the first attempt read, and gives it to the next one. A
txn alone has one too: a second statement that gets the same object is refused.

Two txns, or two calls without one, keep nothing for each other. The second one is
refused where an object is known to have no rows left: a generator at its end, and what was read
here before, as far as it can be remembered.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping
from types import GeneratorType
from typing import Any, Final

from ledger.definitions.given import shown
from ledger.definitions.names import TableLike

KEPT_BYTES_MAX: Final = 256 << 20
"""The bytes of readers and relations that the attempts of one `run` keep, all together."""

LASTING: Final = frozenset({"pyarrow", "pandas", "polars", "numpy", "ledger"})
"""Libraries whose frames and tables give the same rows each time."""


_READ: Final[dict[int, "weakref.ref[Any]"]] = {}
"""What was read in this process and had rows, by identity, for as long as it exists."""


class ReadOnce:
    """The objects that the attempts of one `run`, or a txn alone, have read."""

    def __init__(self, *, repeats: bool = False, kept_bytes_max: int = KEPT_BYTES_MAX) -> None:
        self.repeats = repeats
        self.attempt = 0
        self.room = kept_bytes_max
        # By identity. An entry holds its object, so that no other one gets the same number.
        self._known: dict[int, GivenOnce] = {}

    def again(self) -> "ReadOnce":
        """Begin the next attempt: each object may be read again."""
        self.attempt += 1
        for each in self._known.values():
            if each.attempt < self.attempt - 1:
                each.forget()
        return self

    def lasting(self, given: Any, verb: str, table: TableLike) -> Any:
        """Return what a statement gets in place of an object; what lasts is returned as it is.

        `verb` and `table` name the statement in errors.
        """
        if isinstance(given, Mapping) and any(
            isinstance(each, Iterator) for each in given.values()
        ):
            return {name: self.lasting(each, verb, table) for name, each in given.items()}
        if not is_read_once(given):
            return given
        kind = OnceStream if is_stream(given) else OnceItems
        known = self._known.setdefault(id(given), kind(given, self))
        return known.told(f"{verb} {getattr(table, 'name', table)}")


def is_stream(given: Any) -> bool:
    """Tell whether an object gives a stream of Arrow."""
    return hasattr(type(given), "__arrow_c_stream__")


def is_read_once(given: Any) -> bool:
    """Tell whether a second read of an object may find it empty."""
    if isinstance(given, Iterator):
        return True
    # A relation of DuckDB may be one over a reader.
    return is_stream(given) and type(given).__module__.partition(".")[0] not in LASTING


def note_read(given: Any) -> None:
    """Remember that an object had rows and was read; one that has no weak references is not."""
    number = id(given)
    try:
        # A later object with the same number comes after the end of this one.
        _READ[number] = weakref.ref(given, lambda _: _READ.pop(number, None))
    except TypeError:
        return


def was_read(given: Any) -> bool:
    """Tell whether an object is known to have been read."""
    if isinstance(given, GeneratorType):
        return given.gi_frame is None
    known = _READ.get(id(given))
    return known is not None and known() is given


def check_unread(given: Any) -> None:
    """Raise ValueError for an iterator or a reader that is known to have no rows left."""
    if isinstance(given, Iterator) and was_read(given):
        raise read_before(given)


def read_before(given: Any) -> ValueError:
    """Return the error for an object that has no rows left."""
    return ValueError(
        f"rows must not be read yet, got a {type(given).__name__} that was read before and has no "
        "more of them: give a list or a table, or make it again"
    )


def items_of(given: Iterator[Any]) -> list[Any]:
    """Return all items of an iterator; raises ValueError as `check_unread`."""
    check_unread(given)
    items = list(given)
    if items:
        note_read(given)
    return items


class GivenOnce:
    """An object that was given, with what is kept of it.

    Attributes:
        attempt: the attempt that read it last, -1 = none.
    """

    def __init__(self, given: Any, among: ReadOnce) -> None:
        self.attempt = -1
        self._given, self._among = given, among
        self._where = self._first = ""
        self._is_kept = True

    def told(self, where: str) -> "GivenOnce":
        """Note the statement that is going to read the object."""
        self._where = where
        return self

    def forget(self) -> None:
        """Drop what is kept: the attempt before did not need it."""
        if self.attempt >= 0:
            self._is_kept = False

    def begin(self) -> None:
        """Note that a statement reads the object; raises ValueError if it cannot be read again."""
        name = f"a {type(self._given).__name__}"
        if self.attempt == self._among.attempt:
            raise ValueError(
                f"{self._where} must get rows that are not read yet, got {name} that {self._first} "
                "of the same txn has read: give a list or a table"
            )
        if self.attempt >= 0 and not self._is_kept:
            raise ValueError(
                f"{self._where} must get its rows again, because an earlier commit won, got {name} "
                "that can be read once and was too large to keep "
                f"({KEPT_BYTES_MAX >> 20} MiB), or broke off: make it within the function that "
                "run calls, or give a list or a table"
            )
        self.attempt, self._first = self._among.attempt, self._where

    def __repr__(self) -> str:
        return shown(self._given)


class OnceItems(GivenOnce):
    """Items of an iterator, such as dicts or files; they are in memory anyway."""

    _items: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def items(self) -> list[Any]:
        """Return all items; raises as `begin`."""
        self.begin()
        if self._items is not None:
            return self._items
        self._is_kept = False
        items = items_of(self._given)
        if self._among.repeats:
            self._items, self._is_kept = items, True
        return items

    def forget(self) -> None:
        super().forget()
        self._items = None


class OnceStream(GivenOnce):
    """Batches of a reader; they are kept as long as there is room."""

    _reader: Any = None

    def __init__(self, given: Any, among: ReadOnce) -> None:
        super().__init__(given, among)
        self._batches: list[Any] = []
        self._bytes = 0

    def reader(self, opened: Callable[[Any], Any]) -> Any:
        """Return the reader of the object, opened once: its schema is known before it is read."""
        if self._reader is None:
            self._reader = opened(self._given)
        return self._reader

    def batches(self) -> Iterator[Any]:
        """Yield what is kept, then what is left in the reader; raises as `begin`."""
        self.begin()
        yield from self._batches
        while True:
            was_kept, self._is_kept = self._is_kept, False
            batch = next(self._reader, None)
            self._is_kept = was_kept
            if batch is None:
                return
            self._keep(batch)
            yield batch

    def forget(self) -> None:
        super().forget()
        self._among.room += self._bytes
        self._batches, self._bytes = [], 0

    def _keep(self, batch: Any) -> None:
        if not self._is_kept:
            return
        if not self._among.repeats or batch.nbytes > self._among.room:
            self.forget()
            self._is_kept = False
            return
        self._batches.append(batch)
        self._bytes += batch.nbytes
        self._among.room -= batch.nbytes
