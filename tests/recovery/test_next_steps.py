"""What `lakeledger recover` says to do next, as it is typed, for each state of a log."""

from pathlib import Path

import pytest

from ledger.cli.log.recover import next_steps
from ledger.config.address import option_text
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.up_settings import UpSettings
from ledger.properties.column_mapping import PUBLISH
from ledger.recovery.survey import Survey
from tests.recovery.logs import commits, copied, followed, led, surveyed

NAMED = " --ledger sales"
CUT = "lakeledger recover --cut --ledger sales"
ADOPT = "lakeledger recover --adopt --ledger sales"
ADOPT_AND_CUT = "lakeledger recover --adopt --cut --ledger sales"


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Survey]:
    """Return surveys of a whole log, of one that lost its end, and of copies of both."""
    whole, rows = MemoryLog(), tmp_path / "rows"
    with led(whole) as ledger:
        ledger.create_table("planes", layout="directories")
        ledger.create_table("trips", [("id", "int")], properties={PUBLISH: "delta"})
        commits(ledger)
    followed(whole, rows)
    half = len(whole.topics[Topic.EVENTS].records) // 2
    logs = {"whole": whole, "copy": copied(whole), "short copy": copied(whole, half)}
    surveys = {name: surveyed(log, rows) for name, log in logs.items()}
    whole.cut(Topic.EVENTS, half)
    return {**surveys, "short": surveyed(whole, rows)}


def said(survey: Survey, more: str = "", **changed: object) -> str:
    return "\n".join(next_steps(survey, changed, NAMED, more))


@pytest.mark.parametrize(
    ("log", "following"), [("short", CUT), ("copy", ADOPT), ("short copy", ADOPT_AND_CUT)]
)
def test_nothing_was_changed(found: dict[str, Survey], log: str, following: str) -> None:
    """The next command has the options that were given, and changes what has to be."""
    assert "nothing was changed" in said(found[log])
    assert ("published tables: trips" in said(found[log])) is found[log].is_ahead
    assert f"Next: {following}" in said(found[log])
    assert f"Next: {following} --store rows" in said(found[log], " --store rows")


def test_a_log_that_lacks_nothing_is_not_to_be_cut(found: dict[str, Survey]) -> None:
    assert "Cut it only if you know" in said(found["whole"])
    assert "Next" not in said(found["whole"])
    assert f"Next: {CUT} --pass-over 7" in said(found["whole"], " --pass-over 7")


def test_behind_a_cut_the_same_options_bring_it_up(found: dict[str, Survey]) -> None:
    text = said(found["short"], cut=2_000)
    assert "goes on from position 2000." in text
    assert "published tables: trips" in text
    assert "_delta_log/_lost_by_cut_2000" in text
    assert f"Receipts from behind position {found['short'].head.position} are void" in text
    assert text.endswith("Next: lakeledger up --rebuild --ledger sales")


def test_what_up_names_leads_to_its_own_ledger() -> None:
    home = Path("/data/my lake")
    assert UpSettings().options == ""
    assert UpSettings("sales", home).options == " --home '/data/my lake' --ledger sales"
    assert UpSettings(bootstrap="kafka:9092").options == " --bootstrap kafka:9092"
    assert option_text({"--store": None, "--margin": 0}) == " --margin 0"
