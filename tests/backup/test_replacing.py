"""The way back on one machine: a restore in the place of a damaged log, without a moved folder."""

import re
import signal
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.errors import BrokerError
from ledger.machine.folder import set_broker_aside
from ledger.machine.kafka.broker_folder import BrokerFolder
from ledger.machine.process import ExitCode
from tests.backup.benches import backed_up
from tests.integration.commands import answer_of, lakeledger, up
from tests.lost_end import domain

APPENDS = 60
CUT_AT = 9_000


def appended(home: Path) -> int:
    """Fill a table; return the position of the last commit."""
    address = answer_of(home, "status")
    with Ledger.connect(address["bootstrap"], "lake") as ledger:
        ledger.create_table("t", [("a", "INT")])
        return max(ledger.append("t", [f"f{name}"]).position for name in range(APPENDS))


def cut(home: Path) -> None:
    """Cut the events as a power loss does, and let the broker look at them again."""
    log = home / "lake" / "broker" / "log"
    with (log / "lake.events-0" / "00000000000000000000.log").open("r+b") as file:
        file.truncate(CUT_AT)
    (log / ".kafka_cleanshutdown").unlink()


@pytest.mark.slow
@pytest.mark.kafka
def test_a_restore_in_the_place_of_a_cut_log_brings_all_commits_back(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", str(tmp_path / "backup")
    with up(home) as command:
        last = appended(home)
        answer_of(home, "backup", backup)
        told = answer_of(home, "status")
        assert (told["last_backup"]["path"], told["last_backup"]["position"] >= last) == (
            backup,
            True,
        )
        assert {disk["what"] for disk in told["disks"]} == {"rows", "broker", "warehouse"}
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    cut(home)

    refused = lakeledger(home, "up")
    assert refused.returncode == ExitCode.UNHEALTHY
    advised = lakeledger(home, "recover", "--backup", backup).stderr
    assert re.search(rf"lakeledger restore {backup} \S* ?\S* ?--replace, which says", advised)
    refused = lakeledger(home, "restore", backup)
    assert (refused.returncode, "--replace" in refused.stderr) == (ExitCode.FAILED, True)

    restored = answer_of(home, "restore", backup, "--replace")
    assert (restored["restored"], restored["position"] >= last) == (True, True)
    (kept,) = (home / "lake").glob("broker.aside-*")
    assert (kept / "log" / "lake.events-0").is_dir()
    with up(home, "--rebuild"):
        assert len(answer_of(home, "table", "files", "t")) == APPENDS
    again = lakeledger(home, "restore", backup, "--replace", "--dry-run")
    assert again.returncode == ExitCode.DONE
    assert list((home / "lake").glob("broker.aside-*")) == [kept]


def test_the_data_of_a_broker_that_runs_stay_where_they_are(tmp_path: Path) -> None:
    data = BrokerFolder(tmp_path / "broker")
    with data.lock(), pytest.raises(BrokerError, match="is in use by another broker"):
        set_broker_aside(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["broker"]


def test_only_the_embedded_kafka_is_replaced(tmp_path: Path) -> None:
    backed_up(domain().log, tmp_path / "backup", 200)
    done = lakeledger(
        tmp_path, "restore", str(tmp_path / "backup"), "--replace", "--bootstrap", "kafka:9092"
    )
    assert done.returncode == ExitCode.USAGE
    assert "--replace is for the embedded Kafka of this machine" in done.stderr
