"""Commits of Iceberg's clients: each becomes one txn of the ledger, or is refused by name."""
