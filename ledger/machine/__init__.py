"""One machine: `up` starts every process of a ledger, the supervisor keeps them running."""
