"""Consistency, measured: random histories of clients in processes, under faults, and their judge.

    python -m tests.consistency --help

The judge knows nothing of the ledger: it reads a history of typed operations and their results.
What a system must do to be judged is in `subjects`. Modules that run in the environment of a peer
import nothing of the ledger.
"""
