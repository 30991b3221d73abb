"""Statements over rows: what each of them reads, which files it replaces, and what it writes."""
