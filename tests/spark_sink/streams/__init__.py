"""Streams through a real Spark."""
