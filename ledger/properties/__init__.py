"""Properties and ids of tables, Delta's and the ledger's: what each means, what is refused."""
