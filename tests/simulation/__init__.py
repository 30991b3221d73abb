"""The simulation: the real sequencers over a log that breaks every promise Kafka might break.

One integer seed decides everything: who runs when, what clients ask, which faults strike. One
thread, virtual time, no randomness but the seed's. Where a log loses its end, or takes a record
that no sequencer wrote, an operator leads the ledger back with the product's own means, and all
goes on. Tables with marks are changed row by row, and a model by
row ids judges each commit. Run as `python -m tests.simulation`.
"""
