"""Two imports of one Delta table at once: they make one table, whichever is faster."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.delta.importer import DeltaImport, import_delta
from ledger.log.port import Log
from ledger.reads.port import AppRow
from ledger.testing import InMemoryLedger
from tests.oracle.reads import StateReads
from tests.sdk.delta_logs import Action, add, begin, info, metadata, remove, write_log

NAME = "flights"


def test_two_imports_at_once_make_one_table(memory: InMemoryLedger, tmp_path: Path) -> None:
    versions: list[Sequence[Action]] = [
        [info("SET TBLPROPERTIES"), metadata(a=str(number))] if number % 3 == 0
        else [info(), add(f"f{number}")]
        for number in range(1, 40)
    ]  # fmt: skip
    write_log(tmp_path, begin(), *versions)
    clients = [memory.connect(settings=ClientSettings(timeout_s=20.0)) for _ in range(2)]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda each: import_delta(each, tmp_path, NAME), clients))

    assert [each.version for each in found] == [39, 39]
    assert sum(each.versions for each in found) == 40
    assert len(clients[0].reads().files(found[0].table)) == 26


@pytest.mark.parametrize("overtaken", [0, 1, 2])
def test_overtaken(memory: InMemoryLedger, tmp_path: Path, overtaken: int) -> None:
    """An import that another one overtakes goes on behind it, also at a version made from older."""
    deletion = info("DELETE", blind=False, readVersion=1)
    write_log(tmp_path, begin(), [info(), add("a")], [info(), add("b")], [deletion, remove("a")])
    slow, fast = (DeltaImport(memory.connect(), tmp_path, NAME) for _ in range(2))

    def overtake(done: int, _newest: int) -> None:
        if done == overtaken:
            fast.take_all(Signal(), lambda _done, _newest: None)

    slow.take_all(Signal(), overtake)

    found = slow.report(), fast.report()
    assert [each.version for each in found] == [3, 3]
    assert [each.versions for each in found] == [overtaken + 1, 3 - overtaken]
    assert [each.rebased for each in found] == [0, 1]
    assert [each.disagreed for each in found] == [(), ()]


class Overtaken(StateReads):
    """Reads during which somebody else commits, once: before the question it was told."""

    def __init__(self, log: Log, question: str, commit: Callable[[], object]) -> None:
        super().__init__(log)
        self._question = question
        self._commits = [commit]

    def position(self) -> int:
        self._meet("position")
        return super().position()

    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table."""
        self._meet("apps")
        return super().apps(table)

    def _meet(self, question: str) -> None:
        if question == self._question and self._commits:
            self._commits.pop()()


@pytest.mark.parametrize("question", ["position", "apps"])
def test_overtaken_while_looking(memory: InMemoryLedger, tmp_path: Path, question: str) -> None:
    """What is read of the table is of one version, also while another import goes on."""
    other = memory.connect()
    import_delta(other, write_log(tmp_path, begin(), [info(), add("a")]), NAME)
    deletion = info("DELETE", blind=False, readVersion=2)
    write_log(tmp_path, begin(), *[[info(), add(each)] for each in "ab"], [deletion, remove("b")])
    stop = Signal()

    def take_one() -> object:
        return import_delta(other, tmp_path, NAME, stop=stop, progress=lambda *_: stop.set())

    reads = Overtaken(memory.log, question, take_one)
    with Ledger.connect(log=memory.log, reads=reads) as ledger:
        found = import_delta(ledger, tmp_path, NAME)

    assert (found.version, found.versions, found.disagreed) == (3, 1, ())
