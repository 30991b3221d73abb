"""Decide: each command is answered by exactly one event."""
