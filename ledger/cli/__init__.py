"""The command line: its root, the commands of this package, and what the commands of all share."""
