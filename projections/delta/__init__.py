"""Publishes tables as Delta: the commits of a ledger become the versions of Delta logs."""
