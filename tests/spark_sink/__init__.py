"""Tests of what Spark does with a ledger."""
