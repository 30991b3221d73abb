"""The rows of the read model: one module a projection, and the keys they are found by."""
