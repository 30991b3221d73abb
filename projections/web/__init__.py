"""The read model over HTTP: answers of `ledger.reads.port` as JSON, health, and metrics.

Nothing here writes, and nothing asks for a login: the server listens on loopback by default, and
needs a proxy with a login at any other address. `ledger.reads.http` is its client;
`ledger.reads.http_form` is the form of the answers.

A request passes, in this order: `connection` with its deadlines, the `gate`, the routes of `app`,
`bodies`, the `slots` of long answers, and `readers`; `listing` sends a long answer in chunks.
"""
