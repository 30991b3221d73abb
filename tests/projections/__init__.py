"""Tests of the projections and of the stores that keep their rows."""
