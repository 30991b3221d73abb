"""Delta tables as `ledger.delta_import` reads them: their logs, and what each version did."""
