"""Rows as the grain: sets of row numbers, and where a rewrite puts them."""
