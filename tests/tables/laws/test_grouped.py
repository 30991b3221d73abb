"""A law: whatever threads append beside one another, the table has what was acknowledged, once."""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import AppendWriter, WaitingAppend
from ledger.client import Ledger
from ledger.errors import ConflictError, LedgerError
from ledger.reads.row_counts import ChangedRows, rows_in
from ledger.testing import InMemoryLedger

COLUMNS: Final = [("id", "bigint NOT NULL"), ("name", "string")]
TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "blocks": {"lakeledger.inline": "on"},
    "small blocks": {"lakeledger.inline": "2000", "delta.constraints.c": "id >= 0"},
    "files": {},
    "keys": {"lakeledger.inline": "on", "lakeledger.unique": "true", "lakeledger.key": "id"},
}


class Step(NamedTuple):
    """What a thread does next; `rows` is how many rows an append has."""

    what: str
    rows: int = 0


class Done(NamedTuple):
    """An append, as it was accepted."""

    ids: Sequence[int]
    outcome: WaitingAppend


OTHERS: Final = ("bad rows", "bad key", "flush", "alter", "other append")
STEPS: Final = st.one_of(
    st.builds(Step, st.just("append"), st.integers(0, 40)),
    st.builds(Step, st.sampled_from(OTHERS), st.just(0)),
)


def play(thread: int, steps: Sequence[Step], writer: AppendWriter, other: Ledger) -> list[Done]:
    """Return what a thread appended; its ids begin with its number."""
    done = []
    for number, (what, count) in enumerate(steps):
        first = thread * 1_000_000 + number * 1_000
        ids = list(range(first, first + count))
        if what == "append":
            rows = pa.table({"id": pa.array(ids, pa.int64())}) if number % 2 else id_rows(ids)
            done.append(Done(ids, writer.append(rows)))
        elif what == "bad rows":
            with suppress(ValueError):
                writer.append([{"id": first}, {"name": "no id"}])
        elif what == "bad key":
            done.append(Done([first, first], writer.append(id_rows([first, first]))))
        elif what == "flush":
            with suppress(LedgerError):
                writer.flush()
        elif what == "alter":
            with suppress(LedgerError):
                columns: list[Any] = [*other.table("t").definition.columns, (f"c{first}", "int")]
                other.alter_table("t", columns=columns)
        else:
            with suppress(ConflictError):
                other.append("t", id_rows([first + 999]))
    return done


def id_rows(ids: Sequence[int]) -> list[dict[str, Any]]:
    return [{"id": each, "name": f"n{each}"} for each in ids]


@given(
    st.sampled_from(sorted(TABLES)),
    st.lists(st.lists(STEPS, max_size=8), min_size=1, max_size=4),
    st.sampled_from([0, 2, 20]),
)
@settings(max_examples=60, deadline=None)
def test_the_rows_of_a_table_are_the_acknowledged_appends(
    kind: str, programs: Sequence[Sequence[Step]], flush_ms: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, InMemoryLedger() as memory:
        ledger, other = memory.connect(warehouse=folder), memory.connect()
        ledger.create_table("t", COLUMNS, properties=TABLES[kind])
        writer = ledger.writer("t", flush_ms=flush_ms)
        with ThreadPoolExecutor(len(programs)) as pool:
            calls = [
                pool.submit(play, thread, steps, writer, other)
                for thread, steps in enumerate(programs)
            ]
            threads = [call.result(60) for call in calls]
        with suppress(LedgerError):
            writer.close()
        check(ledger, kind, threads)


def check(ledger: Ledger, kind: str, threads: Sequence[Sequence[Done]]) -> None:
    """Compare a table with the outcomes of the appends: rows, commits and their order."""
    known, commits = Counter[int](), Counter[int]()
    for thread in threads:
        kept = [each for each in thread if each.outcome.exception() is None]
        lost = [each for each in thread if each.outcome.exception() is not None]
        assert all(kind == "keys" and len(each.ids) > len({*each.ids}) for each in lost)
        places = [each.outcome.result().versions[1] for each in kept]
        assert all(one <= two for one, two in pairwise(places))
        for place, each in zip(places, kept, strict=True):
            known.update(each.ids)
            commits[place] += len(each.ids)
    found = Counter(ledger.scan("t", columns=["id"]).to_arrow()["id"].to_pylist())
    assert Counter({each: count for each, count in found.items() if each % 1_000 != 999}) == known
    counted = {each.version: rows_in(each.info) for each in ledger.history("t", 10_000)}
    assert {version: ChangedRows(count) for version, count in commits.items()} == {
        version: counted[version] for version in commits
    }
