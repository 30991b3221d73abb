"""The command line as `python -m ledger`; a supervisor starts its roles so."""

import sys

from ledger.cli.loading import INTERRUPTED, ended_at_once


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is still loading."""
    try:
        with ended_at_once():
            from ledger.cli.root import main as run  # noqa: PLC0415 - takes most of the start

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
