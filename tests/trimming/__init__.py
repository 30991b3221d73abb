"""Trims of the log: refusals, the policy, and what shows them."""
