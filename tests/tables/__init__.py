"""Tests of tables as rows."""
