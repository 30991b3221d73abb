"""The parts of the SDK behind `ledger.client`: sessions, txns, files, tables, answers."""
