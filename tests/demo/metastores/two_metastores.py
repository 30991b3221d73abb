"""Two metastores: the steps of Hive's design page of a synchronized metastore cache.

M1 and M2 are processes with a cache each. A table gets the write ids of the page, M1 changes it,
and M2 reads the events one by one. Entries and answers are compared with the steps, once with one
version of a table, as on the page, and once with many.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from ledger.client import Ledger
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.reads.port import TableRow
from ledger.transaction.transaction import Transaction
from tests.demo.metastores.metastore import WORD, Mode, TablePlace
from tests.demo.metastores.metastore_process import MetastoreProcess
from tests.demo.metastores.metastore_steps import WANTED, StepLine, differences, short
from tests.demo.report import Report

LAST: Final = 13
ABORTED: Final = 7
OPEN: Final = (8, 12)
NOT_COMMITTED: Final = (ABORTED, *OPEN, 15)
HEADS: Final = ("step", "what happens", "M1", "M2", "answer")
CLAIMS: Final[Mapping[Mode, str]] = {
    "one version": "lists, flags and answers are as on the design page",
    "many versions": "an open change sends no reader to the store",
}


def show_two_metastores(ledger: Ledger, place: TablePlace, report: Report) -> None:
    """Walk the steps with both kinds of caches; `place` may be of either kind."""
    with ExitStack() as held:
        pairs = {
            mode: tuple(
                held.enter_context(MetastoreProcess(name, place._replace(mode=mode)))
                for name in ("M1", "M2")
            )
            for mode in WANTED
        }
        for mode, (first, second) in pairs.items():
            report.say(f"M1 is process {first.pid}, M2 is {second.pid}")
            show(report, mode, walk(ledger, first, second, mode))
            first.dismiss()
            second.dismiss()


def show(report: Report, mode: Mode, found: Sequence[StepLine]) -> None:
    """Show the found lines and check them against the wanted ones."""
    report.grid(f"{mode} of a table; * = uncommitted, - = no entry", HEADS, found)
    wrong = differences(found, WANTED[mode])
    answers = [line.answer for line in found if line.answer]
    hits = sum(" cache " in answer for answer in answers)
    report.check(
        f"with {mode} of a table {CLAIMS[mode]}",
        holds=not wrong,
        found="; ".join(wrong) or f"{hits} of {len(answers)} readers answered from a cache",
    )


class Walk:
    """The steps on one table, to be taken once; M2 learns of M1 through the log only."""

    def __init__(
        self,
        ledger: Ledger,
        first: MetastoreProcess,
        second: MetastoreProcess,
        mode: Mode,
        table: int,
    ) -> None:
        self._ledger = ledger
        self._first = first
        self._second = second
        self._mode = mode
        self._table = table
        self._position = ledger.token.position
        self._lines: list[StepLine] = []

    def play(self) -> Sequence[StepLine]:
        """Take all steps and return what was seen."""
        for metastore in (self._first, self._second):
            metastore.ask("follow", position=self._position)
        before = self._ids()
        self._read("1", self._first, before)
        self._read("1", self._second, before)
        self._commit(before)
        self._abort()
        self._first.ask("follow", position=self._position)
        self._see("11", "M1 reads of it all")
        return self._lines

    def _commit(self, before: ValidWriteIdList) -> None:
        """Commit a change at M1 before M2 knows anything of it; `before` is an older reader's."""
        altered = self._write("alter", table=self._table, word="v14")
        self._see("2", "M1 alters")
        meanwhile = self._ids()
        self._read("2", self._first, meanwhile)
        self._read("2", self._second, meanwhile)
        self._write("commit", txn=altered["txn"])
        self._see("2", "M1 commits")
        after = self._ids()
        self._read("2", self._first, after)
        self._read("3", self._second, after)
        self._second.ask("follow", position=altered["position"])
        self._see("4", "M2 reads of the alter")
        self._read("5", self._second, after)
        self._read("5", self._second, before)
        self._second.ask("follow", position=self._position)
        self._see("6", "M2 reads of the commit")
        self._read("7", self._second, after)
        self._read("7", self._second, before)

    def _abort(self) -> None:
        """Abort a change at M1; M2 reads each of its events."""
        altered = self._write("alter", table=self._table, word="v15")
        self._second.ask("follow", position=self._position)
        self._see("8", "M1 alters, M2 reads of it")
        self._read("8", self._second, self._ids())
        self._write("abort", txn=altered["txn"])
        self._second.ask("follow", position=self._position)
        self._see("9", "M1 aborts, M2 reads of it")
        for _ in range(2):
            self._read("10", self._second, self._ids())

    def _write(self, do: str, **request: Any) -> Any:
        """Send M1 a request; with many versions M1 reads the event from the log like all others."""
        answer = self._first.ask(do, **request)
        self._position = answer["position"]
        if self._mode == "many versions":
            self._first.ask("follow", position=self._position)
        return answer

    def _ids(self) -> ValidWriteIdList:
        """Return the list of a new reader; by then the store has come as far."""
        self._ledger.wait(self._position)
        reads = self._ledger.reads()
        return reads.write_ids_at(self._table)

    def _read(self, step: str, metastore: MetastoreProcess, ids: ValidWriteIdList) -> None:
        answer = metastore.read(self._table, ids)
        self._see(step, f"reader of {short(ids)} at {metastore.name}", answer)

    def _see(self, step: str, what: str, answer: str = "") -> None:
        first, second = (each.entry(self._table) for each in (self._first, self._second))
        self._lines.append(StepLine(step, what, first, second, answer))


def walk(
    ledger: Ledger, first: MetastoreProcess, second: MetastoreProcess, mode: Mode
) -> Sequence[StepLine]:
    """Take the steps on a table of their own, and leave nothing open; return what was seen."""
    table, still_open = bring_about(ledger, f"table_of_{mode.replace(' ', '_')}")
    seen = Walk(ledger, first, second, mode, table.table).play()
    for txn in still_open:
        txn.abort("the steps are over")
    ledger.forget_aborted(table=table, write_ids=NOT_COMMITTED)
    return seen


def bring_about(ledger: Ledger, name: str) -> tuple[TableRow, list[Transaction]]:
    """Create a table with the list of the page; return it with the txns left open."""
    table = ledger.create_table(name, layout="directories", properties={WORD: "v0"})
    txns = ledger.begin_many(LAST)
    ids = ledger.allocate(txns, [table])
    by_write_id = {ids[table.table, txn.id]: txn for txn in txns}
    for write_id, txn in by_write_id.items():
        if write_id == ABORTED:
            txn.abort("an exception of the page")
        elif write_id not in OPEN:
            txn.wrote(table, "insert")
            txn.commit()
    return table, [by_write_id[each] for each in OPEN]
