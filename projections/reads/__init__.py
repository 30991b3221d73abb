"""Rows put together to answers, for `projections.queries`."""
