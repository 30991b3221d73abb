"""The process of a role: its log, its signals, the end of its parent, and its exit code.

Every long-running role, sequencer, follower or feeder, runs inside `role_process`. Its exit code is
one of the CLI's: a supervisor restarts a role that failed, but not a role that would fail again in
the same way.
"""

import faulthandler
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from threading import Event as Signal
from typing import Any

from ledger.errors import LedgerError, RoleEndedError
from ledger.log_lines import ROLE, LogLines, set_up_at_first
from ledger.machine.exit_codes import FINAL, ExitCode, exit_code

__all__ = [
    "FINAL",
    "TELL_STACKS",
    "ExitCode",
    "exit_code",
    "final",
    "freeze_recovered",
    "heed_signals",
    "interruptible",
    "role_process",
    "set_up_logging",
]

# Long-lived state is frozen after recovery; the objects of a decision die young.
GC_THRESHOLDS = (50_000, 100, 1_000)

# How long a role may take to end when its parent is gone: the broker may be gone as well, and a
# kill costs a role nothing.
ORPHAN_S = 5.0

STOPPING = frozenset({signal.SIGTERM, signal.SIGINT})
TELL_STACKS = signal.SIGUSR1

log_lines = LogLines("lakeledger.process")


def set_up_logging(*, debug: bool = False) -> None:
    """Log one line per event to stderr: for people on a terminal, as JSON elsewhere."""
    set_up_at_first(partial(_set_up_logging, debug=debug))


def _set_up_logging(*, debug: bool) -> None:
    import structlog  # noqa: PLC0415 - loaded at the first line

    renderers: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if sys.stderr.isatty()
        else [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            add_role,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if debug else logging.INFO
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def add_role(
    _logger: object, _level: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Add the name of the role to a line of its process, if the line has no role."""
    if role := os.environ.get(ROLE):
        line.setdefault("role", role)
    return line


def role_process(
    role: str,
    run: Callable[[Signal], None],
    *,
    with_parent: bool,
    report: Callable[[LedgerError], object] | None = None,
) -> int:
    """Run a role until SIGTERM, Ctrl-C or the end of its parent, and return its exit code.

    With `with_parent` standard input is a pipe without data: its end means that the parent is gone,
    even if it was killed. At SIGUSR1 the stacks of all threads go to standard error. The error that
    ends a role is logged, or passed to `report` instead. Each line has the role, by the name that a
    supervisor gave it.
    """
    role = os.environ.setdefault(ROLE, role)
    stop = Signal()
    heed_signals(stop)
    if with_parent:
        threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        run(stop)
    except KeyboardInterrupt:
        pass  # Stopped while it was `interruptible`.
    except LedgerError as error:
        # The error says what happened and what to do; a traceback does not help operators.
        if report is not None:
            report(error)
        else:
            log_lines.error("ended", role=role, error=type(error).__name__, why=str(error))  # noqa: TRY400
        return exit_code(error)
    except Exception:
        log_lines.exception("ended by a fault of the program; report it", role=role)
        return ExitCode.FAILED
    log_lines.info("stopped", role=role)
    return ExitCode.DONE


@contextmanager
def final(*kinds: type[LedgerError]) -> Iterator[None]:
    """Let these errors end a role as unhealthy: it would end so again."""
    try:
        yield
    except kinds as error:
        raise RoleEndedError(str(error), code=ExitCode.UNHEALTHY) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Let KeyboardInterrupt end a role while it waits in code that does not check `stop`."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in STOPPING}
    try:
        yield
    finally:
        for number, call in before.items():
            signal.signal(number, call)


def heed_signals(stop: Signal) -> None:
    """Set `stop` at SIGTERM and at Ctrl-C, write all stacks at SIGUSR1, in whichever thread.

    Python runs a signal's handler in the main thread, once that continues: never, if the main
    thread waits without end and another thread got the signal. A handler might also wait for a lock
    that the interrupted code holds. So a thread reads the signal numbers that Python writes at
    once.
    """
    numbers_end, written_end = os.pipe()
    os.set_blocking(written_end, False)
    signal.set_wakeup_fd(written_end, warn_on_full_buffer=False)
    for number in (*STOPPING, TELL_STACKS):
        # Python writes the number only of a signal that has a handler.
        signal.signal(number, lambda *_: None)
    threading.Thread(target=_heed_signals, args=(stop, numbers_end), daemon=True).start()


def _heed_signals(stop: Signal, numbers_end: int) -> None:
    while True:
        numbers = os.read(numbers_end, 64)
        if not STOPPING.isdisjoint(numbers):
            stop.set()
        if TELL_STACKS in numbers:
            # No other thread runs meanwhile. Dumping stacks inside the signal handler can crash a
            # process that is entering a call.
            faulthandler.dump_traceback()


def freeze_recovered() -> None:
    """Exclude the objects of recovery from every later garbage collection."""
    gc.collect()
    gc.freeze()


def _stop_at_end_of_input(stop: Signal) -> None:
    # Past Python's own buffer: its lock would be held by this thread when the interpreter ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()
    time.sleep(ORPHAN_S)
    os._exit(ExitCode.FAILED)
