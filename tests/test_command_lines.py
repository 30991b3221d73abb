"""A command has one name in the logs of the client, the sequencer and the follower."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.log_lines import DEBUG

PROGRAM: Final = """
import structlog
from ledger.machine.process import set_up_logging
from ledger.testing import InMemoryLedger

set_up_logging(debug=True)
with InMemoryLedger() as lake:
    client = lake.connect(application="loader")
    with structlog.contextvars.bound_contextvars(trace="4bf92f35"):
        client.create_table("lake.flights", [("day", "int")])
    client.table("lake.flights")
"""


def lines(env: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Return the lines about commands that the program logs."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=env
    )
    found = [json.loads(line) for line in done.stderr.splitlines()]
    return [each for each in found if "kind" in each]


def test_one_name_from_the_caller_to_the_rows() -> None:
    found = lines({**os.environ, DEBUG: "1"})
    sent = next(each for each in found if each["kind"] == "CreateTable")
    said = [each for each in found if each["command"] == sent["command"]]
    made = {each["event"]: each for each in said}
    assert sorted(made) == ["answered", "decided", "rows made", "sent"]
    assert {made[name]["kind"] for name in made if name != "sent"} == {"TableCreated"}
    assert len({made[name]["position"] for name in made if name != "sent"}) == 1
    assert [made[name].get("trace") for name in ("sent", "answered")] == ["4bf92f35"] * 2
    assert "trace" not in made["decided"]


def test_work_that_goes_well_costs_no_lines() -> None:
    assert lines({key: each for key, each in os.environ.items() if key != DEBUG}) == []
