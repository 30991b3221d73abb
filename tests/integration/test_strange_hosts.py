"""A ledger comes up and works on hosts whose variables, locales and bounds are odd."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from ledger.machine.kafka.java import cache_folder
from ledger.machine.process import ExitCode
from tests.integration.commands import PROGRAM, Command, environment

pytestmark = pytest.mark.kafka

NOWHERE: Final = "http://127.0.0.1:9"
# Java reads some of these by itself, and Kafka's own scripts the others.
JAVA: Final = {
    "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR",
    "_JAVA_OPTIONS": "-Xmx1k",
    "JDK_JAVA_OPTIONS": "--no-such-flag",
    "KAFKA_OPTS": "-javaagent:/nowhere.jar",
    "KAFKA_HEAP_OPTS": "-Xmx1k",
    "CLASSPATH": "/nowhere",
    "LOG_DIR": "/nowhere",
    "JMX_PORT": "1",
}
PROXIES: Final = {
    each: NOWHERE
    for name in ("http_proxy", "https_proxy", "all_proxy")
    for each in (name, name.upper())
}
# What an assert holds must hold without asserts, too.
PLAIN: Final = {
    **JAVA,
    **PROXIES,
    "LC_ALL": "POSIX",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONOPTIMIZE": "1",
    "PYTHONHASHSEED": "7",
    "TMPDIR": "/nowhere",
    "HOME": "/nowhere",
    "TZ": "Asia/Kathmandu",
}
LATIN: Final = {
    **JAVA,
    "LC_ALL": "tr_TR.ISO-8859-9",
    "LANG": "tr_TR.ISO-8859-9",
    "PYTHONUTF8": "0",
    "PYTHONOPTIMIZE": "2",
    "TZ": "Nowhere/Land",
    "HOME": "",
}
WORK: Final = """
import json, ledger
with ledger.Ledger.connect() as lake:
    lake.create_table("db.t", [("\\u00e4", "string")])
    lake.append("db.t", [{"\\u00e4": "\\u0130stanbul"}])
    print(json.dumps(lake.scan("db.t").to_arrow().to_pylist()))
"""


def with_bounds(umask: int, files: int) -> tuple[str, ...]:
    """Return the program behind a shell that sets its umask and its bound of open files."""
    return ("/bin/sh", "-c", f'umask {umask:03o}; ulimit -Sn {files}; exec "$@"', "sh", *PROGRAM)


@pytest.mark.parametrize(
    ("environ", "umask", "files"),
    [
        pytest.param(PLAIN, 0o000, 256, id="plain"),
        pytest.param(LATIN, 0o077, 1024, id="latin", marks=pytest.mark.slow),
    ],
)
def test_up(environ: Mapping[str, str], umask: int, files: int, tmp_path: Path) -> None:
    """Broker, roles, SDK and commands take nothing from the host but their settings."""
    home = tmp_path / "a lake, 100 % ours"
    kept = {"LAKELEDGER_CACHE": str(cache_folder()), "PYTHONPATH": os.pathsep.join(sys.path)}
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= files
    program = with_bounds(umask, files)
    everything = {**environment(home), **kept, **environ}
    with Command(home, "up", "--sequencers", "1", program=program, **kept, **environ) as up:
        up.wait_for("Ctrl-C stops it all")
        done = subprocess.run(
            [sys.executable, "-c", WORK], env=everything, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [{"\u00e4": "\u0130stanbul"}]
        status = subprocess.run(
            [*PROGRAM, "status", "-ojson"], env=everything, capture_output=True, check=False
        )
        assert json.loads(status.stdout)["healthy"] is True
        assert up.end(signal.SIGTERM) == ExitCode.DONE
    ours = [each for each in (home / "lake").rglob("*") if "warehouse" not in each.parts]
    assert [each.name for each in ours if each.stat().st_mode & 0o077] == []
