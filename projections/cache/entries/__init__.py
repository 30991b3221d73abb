"""Entries of a metadata cache, and the ways in which they are made."""
