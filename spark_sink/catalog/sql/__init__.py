"""Statements that Spark's own parser does not know: which procedure does each."""
