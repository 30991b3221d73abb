"""Tests of the way back of a ledger whose log lost its end."""
