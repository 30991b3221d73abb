"""Decide: one command in, exactly one event out."""
