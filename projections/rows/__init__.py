"""The rows of the read model: one module for each projection, and the keys."""
