"""Streams that write tables of the ledger exactly once, and read them commit by commit."""
