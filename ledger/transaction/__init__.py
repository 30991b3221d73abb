"""Transactions and the verbs of a client: by tables, files and rows."""
