"""The read model over HTTP: answers of `ledger.reads.port` as JSON, health, and metrics.

Nothing here writes. The server listens on loopback by default; beyond it, it starts with tokens and
TLS, or where a setting asks for an open door. `ledger.reads.remote.http` is its client, and
`ledger.reads.remote.http_form` the form of the answers.

A request passes, in this order: `connection` with its deadlines, the `gate` with its `doors`, the
routes of `app`, `bodies`, the `slots` of long answers, and `readers`; `listing` sends a long answer
in chunks.
"""
