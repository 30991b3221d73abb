"""Histories as data: JSON lines, one as a txn begins and one as it ends.

A client writes a line before it asks, so a killed client leaves a txn without an end: its outcome
is unknown. Times are those of the machine's monotonic clock, the same for all processes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TextIO, TypeAlias

from tests.consistency.operations import Change, Feed, Operation, Row, from_json, to_json

NEVER: Final = float("inf")

Outcome: TypeAlias = Literal["committed", "aborted", "unknown"]
Result: TypeAlias = Sequence[Row] | Sequence[Change] | None


@dataclass(frozen=True, slots=True)
class Txn:
    """A txn of a history, or a statement that is one.

    Attributes:
        id: unique in its history.
        session: which session it belongs to; a process that begins anew has another one.
        operations: what it asked, in order, as far as it came.
        results: the rows that each got, None for one that reads nothing.
        begun: before it opened; `ended` after its outcome was known.
        place: where it was committed, as its system counts all tables; 0 if that is not told.
        read_from: the place of its snapshot, 0 if that is not told.
        after: the txn whose token it waited for, "" for none.
        is_fresh: whether its snapshot must hold all that was acknowledged before it began.
    """

    id: str
    session: str
    operations: Sequence[Operation]
    results: Sequence[Result] = ()
    outcome: Outcome = "unknown"
    begun: float = 0.0
    ended: float = NEVER
    place: int = 0
    read_from: int = 0
    after: str = ""
    is_fresh: bool = True
    error: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """Txns in the order in which they began, and the facts of the run, {} for none.

    A cut in `cuts` has `kept` (the last place that its log kept), `lost` (how many places behind it
    were lost), `batches` (how many batches), `cut` (its own place), `from` and `to` (its time).
    """

    txns: Sequence[Txn]
    facts: Mapping[str, Any] = field(default_factory=dict)


class Pen:
    """Writes the history of one session; every line is with the kernel before the next step."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def begin(self, txn: Txn) -> None:
        """Note what is about to be asked."""
        self._line(
            {
                "begin": txn.id,
                "session": txn.session,
                "at": txn.begun,
                "ops": [to_json(operation) for operation in txn.operations],
                "after": txn.after,
                "fresh": txn.is_fresh,
            }
        )

    def end(self, txn: Txn) -> None:
        """Note what came of it."""
        self._line(
            {
                "end": txn.id,
                "at": txn.ended,
                "outcome": txn.outcome,
                "results": txn.results,
                "done": len(txn.operations),
                "place": txn.place,
                "from": txn.read_from,
                "error": txn.error,
            }
        )

    def _line(self, fields: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(fields) + "\n")
        self._file.flush()


def read_history(folder: Path) -> History:
    """Return the history that the sessions of a run have left in a folder."""
    txns: dict[str, Txn] = {}
    for file in sorted(folder.glob("session-*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for fields in parsed(lines):
                if "begin" in fields:
                    txns[fields["begin"]] = begun(fields)
                else:
                    txns[fields["end"]] = finished(txns[fields["end"]], fields)
    facts = folder / "run.json"
    return History(
        sorted(txns.values(), key=lambda txn: txn.begun),
        json.loads(facts.read_text(encoding="utf-8")) if facts.exists() else {},
    )


def write_history(history: Iterable[Txn], folder: Path) -> None:
    """Leave txns in a folder, as one session would."""
    with (folder / "session-0.jsonl").open("w", encoding="utf-8") as file:
        pen = Pen(file)
        for txn in history:
            pen.begin(txn)
            pen.end(txn)


def parsed(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of a session; the last one of a killed client may be half a line."""
    for line in lines:
        if line.endswith("\n"):
            yield json.loads(line)


def begun(fields: Mapping[str, Any]) -> Txn:
    return Txn(
        fields["begin"],
        fields["session"],
        tuple(from_json(operation) for operation in fields["ops"]),
        begun=fields["at"],
        after=fields["after"],
        is_fresh=fields["fresh"],
    )


def finished(txn: Txn, fields: Mapping[str, Any]) -> Txn:
    """Return a txn with its outcome."""
    operations = txn.operations[: fields["done"]]
    results = [
        result_of(operation, found)
        for operation, found in zip(operations, fields["results"], strict=False)
    ]
    return replace(
        txn,
        operations=operations,
        results=results,
        outcome=fields["outcome"],
        ended=fields["at"] if fields["outcome"] != "unknown" else NEVER,
        place=fields["place"],
        read_from=fields["from"],
        error=fields["error"],
    )


def result_of(operation: Operation, found: Any) -> Result:
    """Return a result as it was before it became JSON."""
    if found is None:
        return None
    if isinstance(operation, Feed):
        return [
            Change(place, [Row(*row) for row in added], [Row(*row) for row in removed])
            for place, added, removed in found
        ]
    return [Row(*row) for row in found]
