"""Evolve: one event in, the state it makes out."""
