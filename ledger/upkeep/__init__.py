"""Upkeep: what a ledger does with its tables by itself, now and then."""
