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


def test_first_lines_of_two_threads() -> None:
    """No line comes before the set-up is done."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert sorted(line.count('"level": "info"') for line in done.stderr.splitlines()) == [1, 1]
