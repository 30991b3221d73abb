"""Properties and ids of tables, Delta's and the ledger's own: what each means, and what is refused."""
