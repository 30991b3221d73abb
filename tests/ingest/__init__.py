"""Tests of topics that become rows of tables."""
