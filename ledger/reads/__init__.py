"""Reads: the questions to a ledger, their rows and errors, and how they travel over HTTP."""
