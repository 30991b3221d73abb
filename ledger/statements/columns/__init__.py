"""Columns whose values a writer computes or checks, as their definitions say."""
