"""Reads from a state in memory, for tests and for ledgers that live in one process."""
