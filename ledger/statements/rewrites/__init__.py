"""Statements that put the same rows into other files."""
