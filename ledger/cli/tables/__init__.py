"""Commands over tables: what they are, what changed, and what may be cleaned."""
