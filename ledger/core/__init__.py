"""The pure core: what a ledger decides and what its events mean. No I/O, clock or randomness."""
