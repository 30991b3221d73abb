"""Subjects: the systems that are judged, one adapter each.

An adapter is a module with `LACKS` (what its system cannot do, by name), `UNTRIED` (what it can and
the adapter does not ask for), `version()`, `create(job)` and `session(job)`. Adapters of peers
import nothing of the ledger.
"""
