"""Conformance: expected behaviour as data, replayed against the product.

A suite translates each operation of a case into one call of the product and compares the answers;
it decides nothing itself and knows no case by name. Run as
`python -m tests.conformance SUITE FILE`.
"""
