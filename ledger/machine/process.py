"""A role's process: how it logs, is told to stop, notices that its parent is gone, and exits.

Every long-running role, sequencer, follower or feeder, runs inside `role_process`. Its exit code
says what happened in the words of the CLI: a supervisor restarts a role that failed, and leaves
alone one that would fail again in the same way.
"""

import faulthandler
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event as Signal

import structlog

from ledger.errors import LedgerError, RoleEndedError
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

# Long-lived state is frozen after recovery; what a decision allocates dies young.
GC_THRESHOLDS = (50_000, 100, 1_000)

# How long a role may take to end when its parent is gone: the broker it would like to tell may be
# gone as well, and to be killed costs a role nothing.
ORPHAN_S = 5.0

STOPPING = frozenset({signal.SIGTERM, signal.SIGINT})
TELL_STACKS = signal.SIGUSR1

log_lines = structlog.get_logger("lakeledger.process")


def set_up_logging(*, debug: bool = False) -> None:
    """Write one line an event to stderr: for people on a terminal, JSON elsewhere."""
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
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if debug else logging.INFO
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def role_process(
    role: str,
    run: Callable[[Signal], None],
    *,
    with_parent: bool,
    told: Callable[[LedgerError], object] | None = None,
) -> int:
    """Run a role until SIGTERM, Ctrl-C or the end of its parent, and return its exit code.

    With `with_parent` standard input is a pipe that nobody writes to: its end means that the parent
    is gone, however it went. At SIGUSR1 the stacks of all threads go to standard error. The error
    that ends a role is logged, or `told` instead.
    """
    stop = Signal()
    heed_signals(stop)
    if with_parent:
        threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        run(stop)
    except KeyboardInterrupt:
        pass  # Told to stop where it was `interruptible`.
    except LedgerError as error:
        # The error says what happened and what to do; where in the code is of no use to operators.
        if told is not None:
            told(error)
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
    """Let a role that ends by such an error count as unhealthy: it would end so again."""
    try:
        yield
    except kinds as error:
        raise RoleEndedError(str(error), code=ExitCode.UNHEALTHY) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a role end by KeyboardInterrupt while it waits for what looks at no `stop`."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in STOPPING}
    try:
        yield
    finally:
        for number, call in before.items():
            signal.signal(number, call)


def heed_signals(stop: Signal) -> None:
    """Set `stop` at SIGTERM and at Ctrl-C, tell all stacks at SIGUSR1, whichever thread is hit.

    What Python calls at a signal it calls in the main thread, once that goes on: never, where it
    waits without end and another thread was interrupted. And there it might wait for a lock that
    the interrupted code holds. So a thread of its own reads what Python writes of signals at once.
    """
    told, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
    for number in (*STOPPING, TELL_STACKS):
        # Python writes of those signals only for which there is something to call.
        signal.signal(number, lambda *_: None)
    threading.Thread(target=_heed_signals, args=(stop, told), daemon=True).start()


def _heed_signals(stop: Signal, told: int) -> None:
    while True:
        numbers = os.read(told, 64)
        if not STOPPING.isdisjoint(numbers):
            stop.set()
        if TELL_STACKS in numbers:
            # No other thread moves meanwhile. Told from within a signal, whose interrupted code may
            # be about to make a call, stacks can end the process.
            faulthandler.dump_traceback()


def freeze_recovered() -> None:
    """Keep what recovery built out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def _stop_at_end_of_input(stop: Signal) -> None:
    # Past Python's own buffer: its lock would be held by this thread when the interpreter ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()
    time.sleep(ORPHAN_S)
    os._exit(ExitCode.FAILED)
