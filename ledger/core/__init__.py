"""The pure core: the decisions of a ledger and the effect of its events.

No module here does I/O, reads a clock or draws random numbers.
"""
