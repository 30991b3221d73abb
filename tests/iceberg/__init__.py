"""Tables of a ledger as Iceberg tables."""
