"""Evolve: apply an event to the state."""
