"""All clients at once on a few tables, while processes are killed; then every version is judged.

`python -m tests.iceberg.clients.stress --seconds 300` prints a report. Exit status 1 if a version
is not as a serial run of the operations makes it, or readers disagree.
"""
