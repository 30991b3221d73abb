"""Tests of forgetting: rows leave files, and a report names what still knows their values."""
