"""Erasure: takes rows out of a table for good, and says what still knows their values."""
