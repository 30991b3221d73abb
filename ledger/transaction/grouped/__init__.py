"""Appends of many threads to one table, grouped into few commits."""
