"""Time zones as Java's clock has them, by the rules of the pinned package and of no machine."""

import os
import subprocess
import sys
from datetime import date, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.predicates.time_zones import (
    canonical_zone,
    start_of_day,
    to_local,
    to_utc,
    zone_names,
)
from ledger.core.predicates.types import UndecidableError

BERLIN, APIA, TORONTO = "Europe/Berlin", "Pacific/Apia", "America/Toronto"


@pytest.mark.parametrize(
    ("zone", "local", "instant"),
    [
        ("", "2024-03-31 02:30:00", "2024-03-31 02:30:00"),
        ("+05:30", "2024-01-01 00:00:00", "2023-12-31 18:30:00"),
        ("-00:45", "2024-01-01 00:00:00", "2024-01-01 00:45:00"),
        (BERLIN, "2024-07-01 00:00:00", "2024-06-30 22:00:00"),
        # Skipped: as much later. Twice: the earlier.
        (BERLIN, "2024-03-31 02:30:00", "2024-03-31 01:30:00"),
        (BERLIN, "2024-10-27 02:30:00.5", "2024-10-27 00:30:00.5"),
        (BERLIN, "2100-07-01 00:00:00", "2100-06-30 22:00:00"),
        (BERLIN, "1890-01-01 00:00:00", "1889-12-31 23:06:32"),
        (APIA, "2011-12-30 12:00:00", "2011-12-30 22:00:00"),
        (TORONTO, "1919-03-31 00:10:00", "1919-03-31 05:10:00"),
    ],
)
def test_instants_of_times_of_day(zone: str, local: str, instant: str) -> None:
    assert to_utc(datetime.fromisoformat(local), zone) == datetime.fromisoformat(instant)


@pytest.mark.parametrize(
    ("zone", "day", "instant"),
    [
        ("", "2024-03-31", "2024-03-31 00:00:00"),
        (BERLIN, "2024-03-31", "2024-03-30 23:00:00"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04 03:00:00"),
        ("America/Havana", "2024-11-03", "2024-11-03 04:00:00"),
        # The day begins where the clock goes on, not as much later as it was put forward.
        (TORONTO, "1919-03-31", "1919-03-31 04:30:00"),
        (APIA, "2011-12-30", "2011-12-30 10:00:00"),
        (APIA, "2011-12-31", "2011-12-30 10:00:00"),
    ],
)
def test_a_day_begins_at_its_first_instant_in_the_zone(zone: str, day: str, instant: str) -> None:
    assert start_of_day(date.fromisoformat(day), zone) == datetime.fromisoformat(instant)


@given(
    st.sampled_from(["", "+14:00", "-18:00", BERLIN, APIA, TORONTO, "Australia/Lord_Howe"]),
    st.datetimes(datetime(1850, 1, 1), datetime(2150, 1, 1)),  # noqa: DTZ001 - as values are
)
def test_law_there_and_back(zone: str, moment: datetime) -> None:
    """The time of day of an instant stands for that instant, or for an earlier one of two."""
    again = to_utc(to_local(moment, zone), zone)
    assert again <= moment
    assert to_local(again, zone) == to_local(moment, zone)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        *((each, "") for each in ("UTC", "Z", "GMT", "Etc/UTC", "+00:00", "UTC+0", "GMT-00:00")),
        *((each, "+02:00") for each in ("+2", "+02", "+0200", "+02:00", "UTC+2", "GMT+02:00")),
        ("-03:30", "-03:30"),
        ("+00:53:28", "+00:53:28"),
        (BERLIN, BERLIN),
    ],
)
def test_however_a_zone_is_written_it_has_one_name(written: str, name: str) -> None:
    assert canonical_zone(written) == name


@pytest.mark.parametrize(
    "name",
    ["Europe/Berln", "europe/berlin", "+19", "+18:01", "+02:60", "2", "../../etc/passwd", "zones"],
)
def test_what_is_no_zone_is_not_judged_and_no_file_of_that_name_is_looked_for(name: str) -> None:
    with pytest.raises(UndecidableError):
        canonical_zone(name)


def test_every_zone_has_rules() -> None:
    moment = datetime(2024, 7, 1)  # noqa: DTZ001 - as values are
    assert {to_local(moment, name).year for name in zone_names()} == {2024}


def test_rules_of_the_machine_are_not_asked(tmp_path: Path) -> None:
    (tmp_path / "Europe").mkdir()
    other = files("tzdata") / "zoneinfo" / "Asia" / "Tokyo"
    (tmp_path / "Europe" / "Berlin").write_bytes(other.read_bytes())
    script = (
        "from datetime import datetime; from zoneinfo import ZoneInfo;"
        "from ledger.core.predicates.time_zones import to_utc; day = datetime(2024, 1, 1);"
        "print(to_utc(day, 'Europe/Berlin').hour, ZoneInfo('Europe/Berlin').utcoffset(day))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONTZPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["23", "9:00:00"]


def test_rules_are_loaded_when_they_are_needed() -> None:
    script = "import ledger.core.decide.decide, sys; print('zoneinfo' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
