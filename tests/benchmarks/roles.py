"""Roles that are measured, each in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ledger.machine.kafka.broker import Broker
from tests.benchmarks.topics import create_topics


@contextmanager
def role(name: str, broker: Broker, ledger: str) -> Iterator[None]:
    """Run a role of a ledger while the block runs."""
    where = ("--bootstrap", broker.bootstrap, "--ledger", ledger)
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger", "serve", name, *where, "--with-parent"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def sequencer(broker: Broker, ledger: str) -> Iterator[None]:
    """Create a ledger, and run its sequencer while the block runs."""
    create_topics(broker.bootstrap, ledger)
    with role("sequencer", broker, ledger):
        yield
