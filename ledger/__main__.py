"""The command line as `python -m ledger`, which is how a supervisor starts its roles."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is still loading."""
    try:
        from ledger.cli.root import main as run  # noqa: PLC0415 - takes most of the start

        run()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
