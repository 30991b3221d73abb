"""The state of a domain: txns, tables, sessions and the watermark."""
