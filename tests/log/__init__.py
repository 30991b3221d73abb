"""Tests of the log: its port, its two adapters, and its bytes."""
