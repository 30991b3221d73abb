"""The soak: a whole lake whose processes are killed one after the other while tables change.

    python -m tests.integration.soak [--minutes 5 --every-s 10 --seed 1 --no-spark]

`roles` are its processes, `strikes` kills them, `observer` reads the log for itself, `questions`
asks the caches, `ends` compares what everybody holds at the end, `run` does it all.
"""
