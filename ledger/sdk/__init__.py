"""Streams that record their batches."""
