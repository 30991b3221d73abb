"""Appends of rows, and vacuums."""
