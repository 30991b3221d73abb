"""Pages for a browser, made by the server from the reads of the follower.

A page shows the lake as of one position. It works without a script: links and forms alone. Each
page has a bounded cost, and lists have pages of rows.
"""
