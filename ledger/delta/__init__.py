"""Delta tables as `ledger.delta.importer` reads them: their logs, and what each version did."""
