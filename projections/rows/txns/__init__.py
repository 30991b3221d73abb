"""Rows of transactions: their parts, ids, sessions, history and conflicts."""
