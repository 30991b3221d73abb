"""Programs that measure peers, each in their environment; only these import their packages.

A program gets its job as JSON in its one argument and tells what it did in lines of JSON. Nothing
here may import the ledger: it is not installed there.
"""
