"""The way back of a ledger whose log lost its end: look what is lost, then cut the log."""
