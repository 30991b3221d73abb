"""Commands over transactions, conflicts and streams."""
