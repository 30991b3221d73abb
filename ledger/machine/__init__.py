"""What a ledger is on one machine: its processes, its addresses, its broker's folder and Java."""
