"""Read models of the ledger: pure folds of its events, the stores that keep them, their queries."""
