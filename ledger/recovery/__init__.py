"""Repairs a ledger whose log lost its end: a survey of what is lost, then a cut of the log."""
