"""The first lines of a process go where the process decided, whichever thread logs them."""

import subprocess
import sys
from typing import Final

PROGRAM: Final = """
from threading import Event, Thread
from ledger.log_lines import LogLines, set_up_at_first
from ledger.machine.process import _set_up_logging

begun, logged = Event(), Event()

def set_up():
    begun.set()
    logged.wait(0.5)  # A thread that does not wait for the set-up logs its line meanwhile.
    _set_up_logging(debug=False)

def second():
    begun.wait()
    LogLines("second").info("second line")
    logged.set()

set_up_at_first(set_up)
thread = Thread(target=second)
thread.start()
LogLines("first").info("first line")
thread.join()
"""

OUTPUT: Final = """
import io, json, logging, sys, structlog
from ledger.testing import InMemoryLedger

loud = structlog.make_filtering_bound_logger(logging.INFO)
kept = io.StringIO()
for factory in (
    None,
    structlog.PrintLoggerFactory(),
    structlog.PrintLoggerFactory(sys.stdout),
    structlog.WriteLoggerFactory(),
    structlog.stdlib.LoggerFactory(),
    structlog.PrintLoggerFactory(kept),
):
    if factory is not None:
        structlog.configure(logger_factory=factory, wrapper_class=loud)
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("t", [("a", "INT")])
        ledger.append("t", ["f1"], app=("stream", 5))
        ledger.append("t", ["f2"], app=("stream", 1))
    if factory is None:
        logging.basicConfig(level=logging.INFO, format="by logging %(message)s")
print(json.dumps({"kept": kept.getvalue().count("warning")}))
"""

QUIET: Final = """
from ledger.testing import InMemoryLedger
with InMemoryLedger() as memory:
    ledger = memory.connect()
    ledger.create_table("t", [("a", "INT")])
    ledger.append("t", ["f1"], app=("stream", 5))
    ledger.append("t", ["f2"], app=("stream", 1))
"""


def test_standard_output_belongs_to_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTPUT], capture_output=True, text=True, check=True
    )
    assert done.stdout == '{"kept": 1}\n'
    warned = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(warned) == 5
    assert len([line for line in warned if line.startswith("by logging")]) == 1


def test_no_line_comes_before_the_set_up_is_done() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert sorted(line.count('"level": "info"') for line in done.stderr.splitlines()) == [1, 1]


def test_a_program_that_configured_nothing_hears_warnings_alone() -> None:
    """The lines about the work of a leader are for programs that say where lines go."""
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert (done.stdout, ["warning" in line for line in done.stderr.splitlines()]) == ("", [True])
