"""The read model and a metadata cache over HTTP, as a client on any host asks them."""
