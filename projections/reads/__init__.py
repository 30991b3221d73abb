"""Rows put together to answers: what `projections.queries` is made of."""
