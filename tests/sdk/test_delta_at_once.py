"""Two imports of one Delta table at once: they make one table, whichever is faster."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.delta_import import DeltaImport, import_delta
from ledger.settings import ClientSettings
from ledger.testing import InMemoryLedger
from tests.sdk.delta_logs import Action, add, begin, info, metadata, remove, write_log

NAME = "flights"


def test_two_imports(memory: InMemoryLedger, tmp_path: Path) -> None:
    """Two imports of one log at the same time make one table, each version once."""
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
