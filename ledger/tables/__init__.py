"""Tables as rows: what a client reads, writes and changes, over the files that the ledger lists.

No rule of the ledger lives here. The modules plan with the client's own reads, write files, and
commit them with the client's own calls. They need the extra `arrow`.
"""
