"""A ledger's tables as an Iceberg REST catalog serves and changes them."""
