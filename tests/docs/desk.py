"""Where a reader of a page works, and the quick starts of the README as they stand there."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from ledger.config.address import Address
from ledger.machine.kafka.java import find_java
from tests.docs.pages import ROOT, all_blocks
from tests.quick_java import QUICK_SPARK

README: Final = "README.md"
SPARK: Final = "Quick start: Spark"
PYTHON: Final = "Quick start: Python"
OPERATOR: Final = "Quick start: operator"
SCHEMAS: Final = ROOT / "ledger" / "log" / "schemas"


class Desk:
    """Where a reader of a page works: a folder, a ledger that is up, and a quick Java."""

    def __init__(self, address: Address, folder: Path) -> None:
        assert address.store is not None
        assert address.reads_url is not None
        self.folder = folder
        self._hosts = {
            "kafka:9092": address.bootstrap,
            "http://host:8181": address.reads_url,
            "127.0.0.1:9092": address.bootstrap,
        }
        (folder / "store").symlink_to(address.store)
        (folder / "schemas").symlink_to(SCHEMAS)
        java = find_java().home
        self._environ = {
            "HOME": str(Path.home()),
            "JAVA_HOME": str(java),
            "LAKELEDGER_HOME": str(address.store.parent.parent),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
            **QUICK_SPARK,
        }

    def run(self, *command: str) -> str:
        """Return what a command says; it must end well."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, program: str) -> str:
        """Return what a program says, with the hosts that it names."""
        for named, host in self._hosts.items():
            program = program.replace(named, host)
        return self.run(sys.executable, "-c", program)


def block_of(heading: str, language: str) -> str:
    """Return the one block of the README below a heading."""
    found = [each for each in all_blocks(language) if each[0] == README and each.heading == heading]
    (block,) = found
    return block.text
