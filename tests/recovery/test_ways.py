"""What each way on gives up, and which one `lakeledger recover` names first."""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from ledger.backup.place import FolderPlace
from ledger.cli.log.recover import compared_ways, fields_of, next_steps
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.recovery.survey import Survey
from ledger.recovery.ways import ways
from tests.backup.benches import backed_up, commit
from tests.driver import Driver
from tests.recovery.logs import followed, led, surveyed

ALL = 40


class Lost(NamedTuple):
    """How many events backup, rows and log hold, and how many commits came behind the loss.

    `gives_up` are the ways with the events that they give up, the first one is the best.
    """

    backup: int
    rows: int
    log: int
    on: int
    gives_up: dict[str, int]


CASES = {
    "whole backup": Lost(ALL, ALL, 20, 0, {"restore": 0, "cut": 20}),
    "only the backup tells": Lost(ALL, 0, 20, 0, {"restore": 0, "cut": 20}),
    "backup behind the rows": Lost(30, ALL, 20, 0, {"restore": 10, "cut": 20}),
    "backup no longer than the log": Lost(20, ALL, 20, 0, {"cut": 20}),
    "old backup": Lost(10, ALL, 20, 0, {"cut": 20}),
    "no backup": Lost(0, ALL, 20, 0, {"cut": 20}),
    "nothing is lost": Lost(ALL, ALL, ALL, 0, {}),
}


def history() -> MemoryLog:
    driver = Driver()
    while driver.head.position < ALL:
        commit(driver)
    return driver.log


def survey_of(case: Lost, folder: Path) -> Survey:
    """Survey a log that lost its end, beside rows and a backup of longer ones."""
    parts = {name: MemoryLog() for name in ("backup", "rows", "log")}
    records = history().topics[Topic.EVENTS].records
    for name, log in parts.items():
        with closing(log.writer(Topic.EVENTS)) as writer:
            for record in records[: getattr(case, name)]:
                writer.append(record.key, record.value)
    if case.rows:
        followed(parts["rows"], folder / "rows")
    if case.backup:
        backed_up(parts["backup"], folder / "backup")
    if case.on:
        with led(parts["log"]) as ledger:
            for _ in range(case.on):
                ledger.begin().commit()
    place = FolderPlace(folder / "backup") if case.backup else None
    return surveyed(parts["log"], folder / "rows", backup=place)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_way_says_what_it_gives_up_least_first(case: Lost, tmp_path: Path) -> None:
    found = survey_of(case, tmp_path)
    assert found.is_ahead is bool(case.gives_up)
    assert fields_of(found)["gives_up"] == case.gives_up
    path = None if not case.backup else str(tmp_path / "backup")
    said = list(compared_ways(found, path, " --home h", tmp_path / "broker"))
    for (name, events), line in zip(case.gives_up.items(), said, strict=False):
        assert line.startswith(f"a {name} keeps the ledger up to position ")
        assert f"gives up {events} known events" in line
    steps = "\n".join((*said, *next_steps(found, {}, "")))
    is_best = next(iter(case.gives_up), None) == "restore"
    assert (f"lakeledger restore {path} --home h --replace" in steps) is is_best
    assert (f"The folder {tmp_path / 'broker'} is moved aside" in steps) is is_best
    assert ("Next: lakeledger recover --cut" in steps) is (bool(case.gives_up) and not is_best)
    assert ("with --backup PATH" in steps) is (not case.backup)


@pytest.mark.parametrize(("on", "best"), [(1, "restore"), (20, "cut")])
def test_a_restore_gives_up_what_came_since_the_loss(on: int, best: str, tmp_path: Path) -> None:
    found = survey_of(Lost(ALL, 0, 20, on, {}), tmp_path)
    first, second = ways(found)
    assert (first.name, first.events < second.events) == (best, True)
    restore = first if best == "restore" else second
    assert restore.events == found.head.position - 20
