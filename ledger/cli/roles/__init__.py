"""Roles as commands: each runs until it is stopped, and ends with an exit code."""
