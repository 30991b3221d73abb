"""`lakeledger up` with a policy of trims: it trims by itself, and ends whole also within a trim."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

import psutil
import pytest

from ledger.machine.process import ExitCode
from tests.integration.commands import PROGRAM, Command, answer_of, environment, up

pytestmark = pytest.mark.kafka

PATIENCE_S: Final = 90.0
TXNS: Final = 8
# Where a trim is interrupted: while it starts, reads, and decides or removes.
INTERRUPTED_S: Final = (0.0, 0.7, 1.2, 1.6)
WORK: Final = f"""
from ledger import Ledger
with Ledger.connect() as ledger:
    for _ in range({TXNS}):
        ledger.begin().commit()
"""
OFTEN: Final = {
    "LAKELEDGER_SEQUENCER__CHECKPOINT_POSITIONS": "3",
    "LAKELEDGER_FOLLOWER__CHECKPOINT_S": "1",
}


class Host:
    """The home of a ledger, the policy of its trims, and the backup that they rely on."""

    def __init__(self, home: Path) -> None:
        self.home, self.archive = home, home / "archive"
        self.policy = {
            "LAKELEDGER_LOG__KEEP_DAYS": "0.00002",
            "LAKELEDGER_LOG__TRIM_EVERY_S": "0.5",
            "LAKELEDGER_LOG__ARCHIVE": str(self.archive),
        }

    def work(self) -> None:
        """Let the ledger have some more txns."""
        subprocess.run([sys.executable, "-c", WORK], env=environment(self.home), check=True)

    def back_up(self) -> None:
        """Take events and an image that needs none of them, and let no trim wait for a beat."""
        until_s = monotonic() + PATIENCE_S
        while self.image_at() < answer_of(self.home, "status")["position"]:
            assert monotonic() < until_s, "no image of the end came"
        (follower,) = answer_of(self.home, "consumers", "list")
        forget = ("consumers", "forget", "follower", follower["name"])
        subprocess.run([*PROGRAM, *forget], env=self.environ(), check=True)

    def environ(self) -> Mapping[str, str]:
        """Return the variables of one who may trim."""
        login = self.home / "lake" / "secure" / "trim.properties"
        found = environment(self.home)
        return {**found, "LAKELEDGER_CLIENT_CONFIG": str(login)} if login.exists() else found

    def image_at(self) -> int:
        """Return where a reader of a new image begins."""
        return answer_of(self.home, "backup", str(self.archive))["image_checkpoint"] or 0

    def begins_at(self) -> int:
        status = answer_of(self.home, "status")
        assert status["healthy"], status["reason"]
        return int(status["first_position"])

    def verify(self) -> None:
        """Read all that is in log and backup."""
        answer_of(self.home, "log", "verify", "--archive", str(self.archive))


def assert_ends(command: Command) -> None:
    """Ctrl-C ends everything that was started, a trim too."""
    children = command.children()
    assert command.end(signal.SIGINT) == ExitCode.DONE
    assert psutil.wait_procs(children, timeout=PATIENCE_S)[1] == []


def trim_under(command: Command) -> Any:
    """Return the process of a trim as soon as one runs, of psutil."""
    until_s = monotonic() + PATIENCE_S
    while monotonic() < until_s:
        for child in command.children():
            with suppress(psutil.Error):
                if "trim" in child.cmdline():
                    return child
    raise AssertionError("no trim was tried")


@pytest.mark.parametrize(
    "options", [(), pytest.param(("--secure",), marks=pytest.mark.slow)], ids=["plain", "secured"]
)
def test_a_ledger_that_is_up_trims_by_itself_and_ends_at_ctrl_c(
    tmp_path: Path, options: Sequence[str]
) -> None:
    if options:
        pytest.importorskip("cryptography", reason="it is not installed; it is in [secure]")
    host = Host(tmp_path / "home")
    with up(host.home, *options, **OFTEN, **host.policy) as command:
        host.work()
        host.back_up()
        told = json.loads(command.wait_for("trimmed the log"))
        assert host.begins_at() == told["below"] > 1
        host.work()
        host.verify()
        assert_ends(command)


@pytest.mark.slow
def test_a_trim_that_ctrl_c_ends_is_made_by_a_later_run(tmp_path: Path) -> None:
    host = Host(tmp_path / "home")
    with up(host.home, **OFTEN) as command:
        host.work()
        host.back_up()
        assert_ends(command)
    for seconds in INTERRUPTED_S:
        with up(host.home, **host.policy) as command:
            psutil.wait_procs([trim_under(command)], timeout=seconds)
            assert_ends(command)
    with up(host.home, **OFTEN, **host.policy) as command:
        until_s = monotonic() + PATIENCE_S
        while host.begins_at() == 1:
            assert monotonic() < until_s, "nothing was trimmed"
            # Each start has added events: once they are old enough, the archive must have them.
            host.image_at()
        host.work()
        host.verify()
        assert_ends(command)
