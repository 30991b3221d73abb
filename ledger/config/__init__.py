"""Configuration: settings, where they come from, and where a ledger of this machine is reached."""
