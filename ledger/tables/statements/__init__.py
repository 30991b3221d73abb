"""Statements over rows: what each of them reads, which files it replaces, and what it writes.

A file that holds a matching row is written anew without the old rows and with the new ones. Other
files stay. Each statement notes its reads and its files in the txn at its end, so a statement that
raises has changed nothing.
"""
