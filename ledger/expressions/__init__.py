"""Conditions and values: from text or builders, their columns, and what bounds say of them."""
