"""Reads from a state in memory: a second way to every answer, to compare the rows with."""
