"""The command line as `python -m ledger`, which is how a supervisor starts its roles."""

from ledger.cli import main

main()
