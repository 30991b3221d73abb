"""Commands over the log: what it holds, its copies, and its repair."""
