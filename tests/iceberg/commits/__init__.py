"""Tests of commits that come from Iceberg's clients."""
