"""The read model over HTTP: answers of `ledger.reads.port` as JSON, health, and metrics.

Nothing here writes, and nothing asks who reads: it listens on loopback unless told otherwise, and
belongs behind a proxy that logs in wherever it is told otherwise. `ledger.reads.http` is its
client; the form of the answers stands in `ledger.reads.http_form`.

A request passes, in this order: `connection` with its deadlines, the `gate`, the routes of `app`,
`bodies`, the `slots` of long answers, and `readers`; a long answer leaves as `listing` makes it.
"""
