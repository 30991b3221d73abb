"""The simulation: the real sequencers over a log that breaks every promise Kafka might break.

One integer seed decides everything: who runs when, what clients ask, which faults strike. One
thread, virtual time, no randomness but the seed's. Run as `python -m tests.simulation`.
"""
