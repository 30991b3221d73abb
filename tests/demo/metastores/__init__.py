"""Two metastores, and the caches that they keep of one ledger."""
