"""The session that a catalog serves: its ledger, its transactions, its callbacks."""
